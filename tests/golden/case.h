/* SPDX-License-Identifier: Apache-2.0 */
/* A golden case: a folder with the inputs and the expected outputs of every rank for one problem. */
#ifndef PKB_TESTS_GOLDEN_CASE_H
#define PKB_TESTS_GOLDEN_CASE_H

#include <jansson.h>

#include "problems/problem.h"

struct golden_case {
    char *folder;
    json_t *meta; /* its meta.json */
    const struct problem *problem;
    struct problem_setting setting; /* sizes and scalars as in the case, rank 0 */
};

enum golden_verdict { GOLDEN_PASSED, GOLDEN_FAILED, GOLDEN_NOT_IMPLEMENTED };

/* Reads the description in a folder; c->problem is NULL when the problem is not in the registry, and c->setting is unset then.
 * 0, or -1 with the error set. Destroy it in either case. */
int golden_case_load(struct golden_case *c, const char *folder, struct pkb_error *err);
void golden_case_destroy(struct golden_case *c);

/* Runs the reference on the case's inputs and compares all outputs of all ranks. When it fails the error says why. */
enum golden_verdict golden_case_run(const struct golden_case *c, struct pkb_error *err);

/* Finds values of the integer parameters with which the problem's inputs have the shapes that meta.json gives; parameters that
 * are set in `fixed` stay. Starts from the values in *s. */
int golden_infer_sizes(struct problem_setting *s, const json_t *inputs, const bool fixed[PROBLEM_MAX_PARAMS],
                       struct pkb_error *err);

/* The entry of a list of arrays ("inputs", "outputs") with that name, or NULL. */
const json_t *golden_find_array(const json_t *list, const char *name);

/* Shape of an entry on a rank: number of dimensions, or -1 with the error set. */
int golden_shape(const json_t *entry, int rank, int64_t shape[PKB_MAX_DIMS], struct pkb_error *err);

#endif
