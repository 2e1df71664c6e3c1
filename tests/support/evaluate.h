/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluations of references: one run of a problem's reference on all ranks of a world, each a process of its own, on the host
 * backend. Inputs, outputs and bounds are in memory that the ranks share with the test.
 */
#ifndef PKB_TESTS_SUPPORT_EVALUATE_H
#define PKB_TESTS_SUPPORT_EVALUATE_H

#include "problems/problem.h"

/* What belongs to one rank. All host memory. */
struct evaluation_rank {
    struct problem_setting setting;
    struct problem_inputs set;
    int n_in, n_out, n_evidence;
    struct problem_tensor inputs[PROBLEM_MAX_TENSORS], outputs[PROBLEM_MAX_TENSORS]; /* as the problem describes them */
    pkb_tensor out[PROBLEM_MAX_TENSORS];
    const float *tol[PROBLEM_MAX_TENSORS]; /* of outputs with CHECK_BOUND, else NULL */
    pkb_tensor evidence[PROBLEM_MAX_TENSORS];
};

struct evaluation {
    int world;
    struct evaluation_rank *ranks;
    void *memory; /* of all tensors */
    size_t memory_size;
};

/* Makes room for all ranks of the setting's world (its rank does not matter): zero inputs, the setting's parameters. NULL with the
 * error set when the setting cannot run or memory runs out. */
struct evaluation *evaluation_create(const struct problem_setting *setting, struct pkb_error *err);
void evaluation_destroy(struct evaluation *e);

/* Fills every rank's inputs as set number `trial`. */
void evaluation_init(struct evaluation *e, uint32_t trial);

/* Runs n evaluations of the same world, one after the other in the same W processes. 0, or -1 with the rank's error (a reference
 * that fails, changes its inputs or counts more rows than there is room for, a rank that ends early or exceeds the time limit). */
int evaluation_run(struct evaluation *const *list, int n, struct pkb_error *err);

/* Compares output k of rank r with that of `actual`, all outputs in the rank's forms, under the rank's tolerance profile. */
void evaluation_compare(const struct evaluation *e, int r, const pkb_tensor *actual, int k, struct problem_difference *d);

size_t evaluation_bytes(const pkb_tensor *t);

#endif
