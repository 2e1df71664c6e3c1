/* SPDX-License-Identifier: Apache-2.0 */
/* 01 allreduce: the sum of all ranks' matrices, on every rank.
 *
 * Parameters   M, N: rows and columns.
 * Input        x (M, N) of T, different on every rank; it must not be changed.
 * Output       y (M, N) of T, the same on every rank:
 *                  y[i, j] = sum over the ranks q of x_q[i, j].
 * One rank     y is a copy of x.
 * Arithmetic   The reference accumulates in f32 (f64 for T = f64) in rank order and rounds once to T; a result may add in any
 *              order and round to T after each addition.
 * Check        problems/collective/sum.h: exact, on integers, as long as every partial sum is exact in T; beyond, a bound per
 *              element and one on the norm.
 * Ideal cost   reduce-scatter, then all-gather.
 */
#include "problems/collective/sum.h"

static const struct problem_param params[] = {MATRIX_SIZES};

static void reference(const struct problem_call *c)
{
    pkb_tensor *y = &c->out[0];
    rt_copy(c->rt, y, &c->in[0]);
    rt_all_reduce(c->rt, c->world, RT_SUM, y, y);
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    rt_all_reduce(c->rt, c->world, RT_SUM, tol[0], sum_bound_term(c, &c->in[0]));
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double others = (s->world - 1.0) / s->world;
    cost->flops = others * matrix_elements(s);
    cost->hbm_bytes = 2 * matrix_bytes(s);
    cost->link_bytes = 2 * others * matrix_bytes(s);
}

const struct problem problem_01 = {
    .id = 1,
    .name = "01_allreduce",
    .family = "collective",
    .origin = "basic collective; the building block of data-parallel gradients and of Megatron-LM tensor parallelism",
    .summary = "Sum one matrix element by element over all ranks and leave the full sum on every rank.",
    .source = "problems/collective/01_allreduce.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .inputs = matrix_one_x,
    .outputs = matrix_one_y,
    .init = sum_init,
    .reference = reference,
    .bound = bound,
    .check = sum_check,
    .cost = cost,
};
