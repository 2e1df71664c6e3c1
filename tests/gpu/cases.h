/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of operations that run on both backends and are compared. */
#ifndef PKB_TESTS_GPU_CASES_H
#define PKB_TESTS_GPU_CASES_H

#include "tests/gpu/gpu.h"

#define OPERANDS 3

/* One operation: its operands, its destination, and what else it is told. */
struct op_case {
    const char *name;
    void (*run)(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in);
    int n_in;
    pkb_tensor in[OPERANDS], dst;
    enum gpu_values values;
    struct gpu_tolerance tolerance;
    int op, axis;
    bool trans_a, trans_b, right;
    double scalar, step;
    int order[PKB_MAX_DIMS];
    int64_t first, limit;
    struct rt_window window;
};

#define FORM(type, ...)                                                                                                          \
    (pkb_tensor)                                                                                                                 \
    {                                                                                                                            \
        .dtype = (type), .ndim = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .shape = { __VA_ARGS__ }             \
    }

/* Runs a case on both backends and counts one check. */
void run_case(const struct gpu_pair *pair, const struct op_case *c);

/* Of all cases, run those only whose number is a multiple of this. */
void set_case_stride(int stride);

/* Functions of the mathematics library may differ by a few units in the last place, before the result is rounded. */
struct gpu_tolerance tolerance_of(int dst, bool exact);

/* Sums of `length` terms of magnitude 4 at most, in another order. */
struct gpu_tolerance tolerance_of_sum(int dst, int64_t length);

/* The parts of the group `operations`. */
void cases_of_arithmetic(const struct gpu_pair *pair); /* operations.c */
void cases_of_rows(const struct gpu_pair *pair);       /* operations_rows.c */
void cases_of_lookups(const struct gpu_pair *pair);    /* operations_lookups.c */
void cases_of_transforms(const struct gpu_pair *pair); /* operations_transforms.c */

#endif
