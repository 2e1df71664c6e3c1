/* SPDX-License-Identifier: Apache-2.0 */
/* What 11 and 12 share: A is sharded by columns and gathered, B is the rank's own. The functions serve as the members of struct problem
 * with these names. */
#ifndef PKB_PROBLEMS_TENSOR_PARALLEL_GATHERED_H
#define PKB_PROBLEMS_TENSOR_PARALLEL_GATHERED_H

#include "problems/tensor_parallel/gemm.h"

#define GATHERED_PARAMS                                                                                                          \
    {"M", 1024, 24, true, "rows of A and C"}, {"N", 1024, 72, true, "columns of B and C"},                                       \
    {                                                                                                                            \
        "K", 512, 48, true, "inner dimension over all ranks"                                                                     \
    }

enum { GATHERED_A, GATHERED_B };

/* W divides K. */
int gathered_supports(const struct problem_setting *s, struct pkb_error *err);

/* A_local (M, K/W), B (K, N) of T. */
int gathered_inputs(const struct problem_setting *s, struct problem_tensor *t);

/* The product, A_local and B once, the result; the others' columns written and read. */
void gathered_cost(const struct problem_setting *s, struct problem_cost *cost);

#endif
