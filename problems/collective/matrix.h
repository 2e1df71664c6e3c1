/* SPDX-License-Identifier: Apache-2.0 */
/* What the collective problems share: every rank holds an M x N matrix x, or W of them stacked, and receives y likewise. */
#ifndef PKB_PROBLEMS_COLLECTIVE_MATRIX_H
#define PKB_PROBLEMS_COLLECTIVE_MATRIX_H

#include "problems/kit.h"

#define MATRIX_SIZES                                                                                                             \
    {"M", 1024, 24, true, "rows of a matrix"},                                                                                   \
    {                                                                                                                            \
        "N", 1024, 72, true, "columns of a matrix"                                                                               \
    }

/* One tensor of T: (M, N), the stack (W, M, N), or the tall matrix (W*M, N). Each returns 1. */
int matrix_one_x(const struct problem_setting *s, struct problem_tensor *t);
int matrix_one_y(const struct problem_setting *s, struct problem_tensor *t);
int matrix_stack_x(const struct problem_setting *s, struct problem_tensor *t);
int matrix_stack_y(const struct problem_setting *s, struct problem_tensor *t);
int matrix_tall_x(const struct problem_setting *s, struct problem_tensor *t);

/* x is N(0,1), different on every rank (hardened), or r + 1 everywhere (pkb). */
void matrix_init(const struct problem_setting *s, struct problem_inputs *set);

/* M*N, and its bytes in T. */
double matrix_elements(const struct problem_setting *s);
double matrix_bytes(const struct problem_setting *s);

#endif
