/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/vision/planes.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A plane for a result of a and b. */
static pkb_tensor *new_plane(const struct problem_call *c, const pkb_tensor *a, const pkb_tensor *b)
{
    return rt_new(c->rt, a->dtype, RT_SHAPE(larger(a->shape[0], b->shape[0]), larger(a->shape[1], b->shape[1])));
}

pkb_tensor *plane_of(const struct problem_call *c, enum rt_binary op, const pkb_tensor *a, const pkb_tensor *b)
{
    if (!a || !b)
        return NULL;
    pkb_tensor *result = new_plane(c, a, b);
    rt_binary(c->rt, op, result, a, b);
    return result;
}

pkb_tensor *plane_number(const struct problem_call *c, enum rt_binary op, const pkb_tensor *a, double b)
{
    if (!a)
        return NULL;
    pkb_tensor *result = new_plane(c, a, a);
    rt_binary_scalar(c->rt, op, result, a, b);
    return result;
}

pkb_tensor *plane_unary(const struct problem_call *c, enum rt_unary op, const pkb_tensor *a)
{
    if (!a)
        return NULL;
    pkb_tensor *result = new_plane(c, a, a);
    rt_unary(c->rt, op, result, a);
    return result;
}

pkb_tensor *plane_multiply_add(const struct problem_call *c, const pkb_tensor *a, const pkb_tensor *b, const pkb_tensor *d)
{
    return plane_of(c, RT_ADD, plane_of(c, RT_MUL, a, b), d);
}

pkb_tensor *plane_where(const struct problem_call *c, const pkb_tensor *condition, const pkb_tensor *a)
{
    if (!condition || !a)
        return NULL;
    pkb_tensor *result = new_plane(c, a, condition);
    rt_where(c->rt, result, condition, a, plane_constant(c, a->dtype, 0));
    return result;
}

pkb_tensor *plane_constant(const struct problem_call *c, int dtype, double value)
{
    pkb_tensor *constant = rt_new(c->rt, dtype, RT_SHAPE(1, 1));
    rt_fill(c->rt, constant, value);
    return constant;
}

struct plane_matrix plane_product(const struct problem_call *c, const struct plane_matrix *a, const struct plane_matrix *b)
{
    struct plane_matrix product = {.rows = a->rows, .columns = b->columns};
    for (int i = 0; i < a->rows; i++) {
        for (int j = 0; j < b->columns; j++) {
            pkb_tensor *sum = plane_of(c, RT_MUL, a->at[i][0], b->at[0][j]);
            for (int k = 1; k < a->columns; k++)
                sum = plane_multiply_add(c, a->at[i][k], b->at[k][j], sum);
            product.at[i][j] = sum;
        }
    }
    return product;
}

struct plane_matrix plane_transpose(const struct plane_matrix *a)
{
    struct plane_matrix transpose = {.rows = a->columns, .columns = a->rows};
    for (int i = 0; i < a->rows; i++) {
        for (int j = 0; j < a->columns; j++)
            transpose.at[j][i] = a->at[i][j];
    }
    return transpose;
}

struct plane_matrix plane_conjugate(const struct problem_call *c, const struct plane_matrix *a, const struct plane_matrix *b)
{
    struct plane_matrix left = plane_product(c, a, b), right = plane_transpose(a);
    return plane_product(c, &left, &right);
}
