/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas over pairs (camera, Gaussian), element by element: a plane is a matrix (cameras, Gaussians) with 1 in the place of a
 * dimension on which it does not depend. Steps of references: NULL operands, after a failure of the runtime, give NULL.
 */
#ifndef PKB_PROBLEMS_VISION_PLANES_H
#define PKB_PROBLEMS_VISION_PLANES_H

#include "problems/kit.h"

/* a op b, a op number, op a; of the floating type of a. */
pkb_tensor *plane_of(const struct problem_call *c, enum rt_binary op, const pkb_tensor *a, const pkb_tensor *b);
pkb_tensor *plane_number(const struct problem_call *c, enum rt_binary op, const pkb_tensor *a, double b);
pkb_tensor *plane_unary(const struct problem_call *c, enum rt_unary op, const pkb_tensor *a);

/* a * b + d. */
pkb_tensor *plane_multiply_add(const struct problem_call *c, const pkb_tensor *a, const pkb_tensor *b, const pkb_tensor *d);

/* a where the condition is not 0, else 0. */
pkb_tensor *plane_where(const struct problem_call *c, const pkb_tensor *condition, const pkb_tensor *a);

/* A plane with one value. */
pkb_tensor *plane_constant(const struct problem_call *c, int dtype, double value);

/* A small matrix of planes. */
struct plane_matrix {
    int rows, columns;
    pkb_tensor *at[3][3];
};

struct plane_matrix plane_product(const struct problem_call *c, const struct plane_matrix *a, const struct plane_matrix *b);
struct plane_matrix plane_transpose(const struct plane_matrix *a);

/* a * b * a^T. */
struct plane_matrix plane_conjugate(const struct problem_call *c, const struct plane_matrix *a, const struct plane_matrix *b);

#endif
