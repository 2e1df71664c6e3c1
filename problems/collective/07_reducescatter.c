/* SPDX-License-Identifier: Apache-2.0 */
/* 07 reducescatter: the sum of all ranks' tall matrices, row block r of it on rank r.
 *
 * Parameters   M, N: rows and columns of the result of one rank.
 * Input        x (W*M, N) of T, different on every rank; it must not be changed.
 * Output       y (M, N) of T:
 *                  on rank r   y[i, j] = sum over the ranks q of x_q[r*M + i, j].
 * One rank     y is a copy of x.
 * Arithmetic   as in 01: f32 accumulation (f64 for T = f64) in rank order, rounded once; any order and rounding after each
 *              addition are correct too.
 * Check        problems/collective/sum.h. The row blocks differ, so a wrong offset shows.
 */
#include "problems/collective/sum.h"

static const struct problem_param params[] = {MATRIX_SIZES};

static void reference(const struct problem_call *c)
{
    rt_reduce_scatter(c->rt, c->world, RT_SUM, &c->out[0], &c->in[0]);
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    rt_reduce_scatter(c->rt, c->world, RT_SUM, tol[0], sum_bound_term(c, &c->in[0]));
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    cost->flops = (s->world - 1.0) * matrix_elements(s);
    cost->hbm_bytes = (s->world + 1.0) * matrix_bytes(s);
    cost->link_bytes = (s->world - 1.0) * matrix_bytes(s);
}

const struct problem problem_07 = {
    .id = 7,
    .name = "07_reducescatter",
    .family = "collective",
    .origin = "basic collective; the gradient step of FSDP and ZeRO-2 and of Megatron-LM sequence parallelism",
    .summary = "Sum a tall matrix element by element over all ranks and leave row block r of the sum on rank r.",
    .source = "problems/collective/07_reducescatter.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .inputs = matrix_tall_x,
    .outputs = matrix_one_y,
    .init = sum_init,
    .reference = reference,
    .bound = bound,
    .check = sum_check,
    .cost = cost,
};
