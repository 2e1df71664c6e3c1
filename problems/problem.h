/* SPDX-License-Identifier: Apache-2.0 */
/* A problem is a constant struct of functions. The engine owns processes, memory, warm-up, timing and judging; a problem says
 * what its tensors are, how inputs are made, what the reference computes, what it costs, and how results are compared.
 *
 * To add one: problems/<family>/NN_name.c defines `const struct problem problem_NN`, and problems/registry.c lists it.
 */
#ifndef PKB_PROBLEMS_PROBLEM_H
#define PKB_PROBLEMS_PROBLEM_H

#include "runtime/random.h"
#include "runtime/runtime.h"

#define PROBLEM_MAX_PARAMS 16
#define PROBLEM_MAX_TENSORS 24
#define PROBLEM_MAX_WORLD 1024 /* ranks; a reference may hold one number per rank on its stack */

struct problem;

/* Which of the two variants of inputs and of tolerances. */
enum problem_profile {
    PROFILE_HARDENED, /* inputs that a constant, zero, copied input or missing communication fails; bounds that accept every
                         correct evaluation order */
    PROFILE_PKB,      /* the published benchmark's own distributions; plain allclose */
};

/* Everything that determines a problem instance on one rank, apart from the trial. Made by problem_setting_init. */
struct problem_setting {
    const struct problem *problem;
    int dtype; /* T, the sweep's dtype */
    int rank, world;
    enum problem_profile inputs;
    enum problem_profile tolerance;
    double atol, rtol; /* of the pkb tolerance profile; 0.01 each unless the sweep says otherwise */
    uint64_t seed;
    double params[PROBLEM_MAX_PARAMS]; /* values in the order of problem->params */
};

/* A named number: a size, or a scalar argument of the reference. */
struct problem_param {
    const char *name;
    double paper, tiny;
    bool integer;
    const char *meaning;
};

#define ROWS_ELSEWHERE (-1)

/* A tensor of one rank. The last three are 0 for most; kit_host, kit_in_place, kit_counted_rows and kit_partial_rows
 * set them. */
struct problem_tensor {
    const char *name;
    pkb_tensor form; /* dtype, ndim, shape; data unused */
    bool host;       /* an input that the host may read too (split sizes and the like): its data is a host address as well */
    int in_place; /* an output: 1 + the input whose values its buffer holds before every call, which is how a program that works
                        in place is stated; 0: the buffer holds poison */
    int rows_in;  /* a tensor whose number of rows depends on the data: 1 + the i64 scalar (an output's among the outputs, an
                        input's among the inputs) that says how many entries of the leading dimension count. The form has room for
                        the most; what follows is not looked at. ROWS_ELSEWHERE: an input of which other inputs say it (split
                        sizes and the like). 0: all */
};

/* One set of inputs on the host (one trial, or one of the sets that timed iterations rotate over). */
struct problem_inputs {
    uint32_t trial;                     /* number of the set: 0, 1, ... */
    double params[PROBLEM_MAX_PARAMS];  /* starts as the setting's; init may draw scalar arguments anew */
    pkb_tensor in[PROBLEM_MAX_TENSORS]; /* host storage, to be filled by init */
};

/* A call of the reference on one rank. */
struct problem_call {
    struct rt *rt;
    const struct rt_group *world;
    const struct problem_setting *setting;
    const double *params; /* of this set of inputs */
    const pkb_tensor *in; /* device tensors in the order of inputs() */
    pkb_tensor *out;      /* device tensors in the order of outputs() */
};

/* How one output is compared with the reference's. */
enum problem_check_kind {
    CHECK_EXACT, /* every bit (NaN equals NaN, -0 differs from 0) */
    CHECK_CLOSE, /* |expected - actual| <= atol + rtol * |expected|; with the pkb profile: ... + rtol * |actual|, as published */
    CHECK_BOUND, /* |expected - actual| <= tol[i], a tensor that bound() computes from the inputs */
    CHECK_ROWS,  /* relative to the size of its row: |expected - actual| <= row_max * rms(expected row) + rtol * |expected| + atol
                    for every element, and rms(expected - actual) <= row_rms * rms(expected row) + atol for every row */
    CHECK_OWN,   /* what the problem's own verify() says */
};

struct problem_check {
    enum problem_check_kind kind;
    double atol, rtol;
    double frobenius; /* in addition ||expected - actual|| <= frobenius * ||expected||; 0: not checked */
    int64_t row;      /* CHECK_ROWS: elements of a row, consecutive ones; 0: the whole tensor */
    double row_max, row_rms;
};

/* What an own check sees, on the host. Of outputs whose rows are counted it sees the rows that the reference counts (the leading
 * dimension says how many). The values under judgement may be anything: an index among them is looked at before it is used. */
struct problem_evidence {
    const struct problem_setting *setting;
    const pkb_tensor *expected; /* outputs of the reference */
    const pkb_tensor *actual;   /* outputs under judgement, of the same forms */
    const pkb_tensor *evidence; /* in the order of evidence() */
};
struct problem_difference;

/* Ideal cost of one call on one rank, from the specification. */
struct problem_cost {
    double flops;
    double hbm_bytes;
    double link_bytes; /* sent by this rank */
};

struct problem {
    int id;              /* 1..87 */
    const char *name;    /* "01_allreduce" */
    const char *family;  /* "collective" */
    const char *origin;  /* where the pattern comes from */
    const char *summary; /* one sentence */
    const char *source;  /* this file, relative to the source tree: "problems/collective/01_allreduce.c" */
    const char *worlds;  /* constraint in words: "any", "K % W == 0" */
    const struct problem_param *params;
    int n_params;

    /* 0 when the setting can run, else -1 and why not ("K = 512 is not divisible by 3 ranks"). NULL: any. */
    int (*supports)(const struct problem_setting *s, struct pkb_error *err);

    /* Describe the tensors of rank s->rank; return how many. */
    int (*inputs)(const struct problem_setting *s, struct problem_tensor *t);
    int (*outputs)(const struct problem_setting *s, struct problem_tensor *t);

    /* Fills one set on the host: a function of the setting and the set's number alone (problem_rng). */
    void (*init)(const struct problem_setting *s, struct problem_inputs *set);

    /* Writes c->out. Eager and unfused: what a straightforward program of library calls does. */
    void (*reference)(const struct problem_call *c);

    /* For outputs with CHECK_BOUND (others NULL in tol): with c->out holding the reference's outputs, computes the allowed
     * absolute difference of every element into tol[k], f32, same shape. Collective, as the reference is. NULL when no output
     * needs it. */
    void (*bound)(const struct problem_call *c, pkb_tensor *const *tol);

    /* Describes further tensors that an own check needs (the exact values behind a rounded ranking, say); return how many. bound()
     * writes them, as tol[number of outputs], tol[number of outputs + 1], ..., which are NULL where the tolerance profile has no own
     * check. Of outputs and these together there may be PROBLEM_MAX_TENSORS. NULL: none. */
    int (*evidence)(const struct problem_setting *s, struct problem_tensor *t);

    /* Compares an output with CHECK_OWN and fills *d, which comes as zeros with first -1. NULL when no output needs it. */
    void (*verify)(const struct problem_evidence *e, int output, struct problem_difference *d);

    /* The comparison of an output under the hardened tolerance profile. Its kind does not depend on the rank. */
    void (*check)(const struct problem_setting *s, int output, struct problem_check *check);

    void (*cost)(const struct problem_setting *s, struct problem_cost *cost);
};

/* ---- registry (problems/registry.c) -------------------------------------------------------------------------------- */

/* All problems, by id, NULL-terminated. */
extern const struct problem *const problem_registry[];

/* By id (1..87), or by name: "13", "13_gemm_allreduce" or "gemm_allreduce". NULL when there is none. */
const struct problem *problem_by_id(int id);
const struct problem *problem_by_name(const char *name);

/* ---- settings (problems/setting.c) --------------------------------------------------------------------------------- */

/* Named parameter values. */
enum problem_shape { SHAPE_PAPER, SHAPE_TINY };

/* Fills *s with the shape's values, hardened profiles, seed 0. */
void problem_setting_init(struct problem_setting *s, const struct problem *p, enum problem_shape shape, int dtype, int rank,
                          int world);

/* Overrides one parameter by name. An unknown name (with a suggestion) or a fraction for an integer is an error. */
int problem_setting_override(struct problem_setting *s, const char *name, double value, struct pkb_error *err);

/* Checks the setting as a whole (ranges, dtype, world size, the problem's own constraint): 0 or -1 with the reason. */
int problem_setting_check(const struct problem_setting *s, struct pkb_error *err);

/* Value of a parameter by name; the name must exist (a programming error otherwise). */
double problem_real(const struct problem_setting *s, const char *name);
int64_t problem_int(const struct problem_setting *s, const char *name);
double problem_call_real(const struct problem_call *c, const char *name); /* of the call's set of inputs */
int64_t problem_call_int(const struct problem_call *c, const char *name);

/* The random stream of a tensor in a set, for this rank or (RNG_ALL_RANKS) for all. */
struct rng problem_rng(const struct problem_setting *s, const struct problem_inputs *set, uint32_t tensor);
struct rng problem_rng_shared(const struct problem_setting *s, const struct problem_inputs *set, uint32_t tensor);

/* The comparison that applies under the setting's tolerance profile; exact for an output that counts rows. */
void problem_check_for(const struct problem_setting *s, int output, struct problem_check *check);

/* ---- comparison (problems/compare.c), on the host ------------------------------------------------------------------ */

struct problem_difference {
    int64_t elements;                  /* compared */
    int64_t wrong;                     /* outside the tolerance */
    int64_t first;                     /* linear index of the first wrong element, -1: none */
    int64_t first_index[PKB_MAX_DIMS]; /* the same as an index per dimension */
    double expected, actual;           /* values there */
    double max_abs, max_rel;           /* largest differences over all elements; NaN or infinity where one is missing */
    double frobenius;                  /* ||expected - actual|| / ||expected|| (0 when both are 0) */
    double frobenius_limit;            /* the check's; 0: none */
    int64_t row;                       /* CHECK_ROWS: elements of a row, 0: another check */
    int64_t rows_wrong, first_row;     /* CHECK_ROWS: rows that differ too much as a whole, and the first of them, -1: none */
    double row_rms, row_allowed;       /* root of the mean square of the difference in that row, and the most allowed */
    bool ok;                           /* no wrong element or row, and the Frobenius limit holds */
};

/* Compares two host tensors of the same form. `tol` is f32 of the same shape for CHECK_BOUND, else NULL. */
void problem_compare(const struct problem_check *check, enum problem_profile tolerance, const pkb_tensor *expected,
                     const pkb_tensor *actual, const float *tol, struct problem_difference *d);

/* For own checks: counts an element as compared, and as wrong unless it is `ok`. */
void problem_difference_add(struct problem_difference *d, const pkb_tensor *expected, const pkb_tensor *actual, size_t index,
                            bool ok);

/* "3 of 1728 elements differ, first at [0, 5]: expected 1.5, got 0 (max abs 2, max rel 1)" */
void problem_difference_describe(const struct problem_difference *d, int ndim, char *text, size_t size);

/* ---- outputs (problems/outputs.c), on the host ---------------------------------------------------------------------- */

/* That the marks of inputs and outputs refer to what they can: 0 or -1 with the reason. Part of problem_setting_check. */
int problem_check_marks(const struct problem_tensor *in, int n_in, const struct problem_tensor *out, int n_out,
                        struct pkb_error *err);

/* Whether output k says how many rows of another count. */
bool problem_counts_rows(const struct problem_tensor *out, int n_out, int k);

/* Entries of the leading dimension of output k that count, from the outputs' values; 1 for a scalar. -1 with the error set when the
 * values say nonsense. */
int problem_rows(const struct problem_tensor *out, const pkb_tensor *values, int k, int64_t *rows, struct pkb_error *err);

/* Evidence tensors that the setting needs (none unless an output has CHECK_OWN): describes them and returns how many. */
int problem_evidence_of(const struct problem_setting *s, struct problem_tensor *t);

/* All outputs of one call on one rank, the reference's and those under judgement, in the forms of `out`. */
struct problem_results {
    const struct problem_setting *setting;
    int n_out;
    const struct problem_tensor *out;
    const pkb_tensor *expected, *actual;
    const float *const *tol;    /* per output: of CHECK_BOUND, else NULL */
    const pkb_tensor *evidence; /* as problem_evidence_of describes them */
};

/* Compares output k as the setting says, as far as its rows count. -1 with the error set when the reference's outputs make no
 * sense. */
int problem_judge(const struct problem_results *r, int k, struct problem_difference *d, struct pkb_error *err);

#endif
