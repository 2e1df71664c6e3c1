/* SPDX-License-Identifier: Apache-2.0 */
/* A golden case: a folder with the inputs and the expected outputs of every rank for one problem.
 *
 * A problem's tensor and the case's arrays belong together by name. An output that is updated in place may be "out_<name>" in the
 * case, or missing where the input stays as it is. A tensor may be a stack of the arrays <name>_0, <name>_1, ..., with a leading
 * dimension more or one behind the other.
 * An array may have fewer rows than a tensor whose rows are counted (problem.h); the count is the array's number of rows.
 * A matrix <name>t is the transpose of the array <name>, where the case has no array <name>t.
 */
#ifndef PKB_TESTS_GOLDEN_CASE_H
#define PKB_TESTS_GOLDEN_CASE_H

#include <jansson.h>

#include "tests/support/evaluate.h"

#define GOLDEN_MAX_ARRAYS 64

/* An array of the case; borrows from the description. */
struct golden_array {
    const char *name;
    const json_t *entry;
    bool sparse; /* indices or values of a sparse tensor: of a tensor with room for more, the first ones */
    int ndim[PROBLEM_MAX_WORLD];
    int64_t shape[PROBLEM_MAX_WORLD][PKB_MAX_DIMS];
};

struct golden_arrays {
    int n;
    struct golden_array *list;
};

struct golden_case {
    char *folder;
    json_t *meta; /* its meta.json */
    const struct problem *problem;
    struct problem_setting setting; /* sizes and scalars as in the case (where ranks differ: the largest), rank 0 */
    struct golden_arrays in, out;
};

enum golden_verdict { GOLDEN_PASSED, GOLDEN_FAILED, GOLDEN_NOT_IMPLEMENTED };

/* Reads the description in a folder; c->problem is NULL when the problem is not in the registry, and c->setting is unset then.
 * 0, or -1 with the error set. Destroy it in either case. */
int golden_case_load(struct golden_case *c, const char *folder, struct pkb_error *err);
void golden_case_destroy(struct golden_case *c);

/* The part of it that reads c->meta for c->problem: the setting and the arrays. */
int golden_case_describe(struct golden_case *c, struct pkb_error *err);

/* Runs the reference on the case's inputs and compares all outputs of all ranks. When it fails the error says why. */
enum golden_verdict golden_case_run(const struct golden_case *c, struct pkb_error *err);

/* ---- scalars (scalars.c) -------------------------------------------------------------------------------------------- */

/* Gives the problem's parameters the values of the case's scalars, and marks those as fixed. */
int golden_scalars(struct golden_case *c, bool fixed[PROBLEM_MAX_PARAMS], struct pkb_error *err);

/* The same for one rank's set of inputs: parameters that differ between ranks. */
int golden_rank_params(const struct golden_case *c, struct evaluation_rank *rank, struct pkb_error *err);

/* The scalar (or list) that a tensor without an array takes its values from, or NULL. */
const json_t *golden_scalar(const struct golden_case *c, const char *name, int rank);

/* ---- arrays (arrays.c) ---------------------------------------------------------------------------------------------- */

/* The shapes of the arrays that the description lists. */
int golden_arrays_read(const struct golden_case *c, const char *key, struct golden_arrays *arrays, struct pkb_error *err);
void golden_arrays_destroy(struct golden_arrays *arrays);

/* The arrays of one tensor. */
struct golden_source {
    int n; /* 0: there is none */
    const struct golden_array *part[GOLDEN_MAX_ARRAYS];
    bool transposed; /* the one array is the transpose of the tensor */
};
void golden_source_find(const struct golden_arrays *arrays, const char *name, struct golden_source *source);

/* How many sizes of the tensor are not the source's on that rank; 0: the tensor can hold it. */
int golden_source_mismatch(const struct golden_source *source, int rank, const struct problem_tensor *t);

/* 0 when that is 0, else -1 with the error set. */
int golden_source_fits(const struct golden_source *source, int rank, const struct problem_tensor *t, struct pkb_error *err);

/* Rows of the source on that rank: entries of its leading dimension. */
int64_t golden_source_rows(const struct golden_source *source, int rank);

/* Reads rank<r>_<direction>_<name>.npy of every part into data, which has the tensor's form; what there is no array for stays as
 * it is. */
int golden_source_load(const struct golden_case *c, const struct golden_source *source, int rank, const char *direction,
                       const struct problem_tensor *t, void *data, struct pkb_error *err);

/* ---- sizes (sizes.c) ------------------------------------------------------------------------------------------------ */

/* Finds values of the integer parameters with which the problem's tensors have the shapes of the case's arrays; parameters that
 * are set in `fixed` stay. Starts from the values in c->setting. */
int golden_infer_sizes(struct golden_case *c, const bool fixed[PROBLEM_MAX_PARAMS], struct pkb_error *err);

#endif
