/* SPDX-License-Identifier: Apache-2.0 */
/* 04 reduce: the sum of all ranks' matrices on one rank; the others return their own.
 *
 * Parameters   M, N: rows and columns. dst: the destination rank.
 * Input        x (M, N) of T, different on every rank; it must not be changed.
 * Output       y (M, N) of T:
 *                  on dst        y[i, j] = sum over the ranks q of x_q[i, j],
 *                  elsewhere     y = x, the rank's own input (so an all-reduce is wrong there).
 * One rank     y is a copy of x.
 * Arithmetic   as in 01: f32 accumulation (f64 for T = f64) in rank order, rounded once; any order and rounding after each
 *              addition are correct too.
 * Check        problems/collective/sum.h; elsewhere than on dst the bound is 0.
 * Ideal cost   peer j of the W - 1 peers of dst sums piece j of the matrix for the others and sends it to dst.
 */
#include "problems/collective/sum.h"

static const struct problem_param params[] = {
    MATRIX_SIZES,
    {"dst", 0, 0, true, "destination rank"},
};

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    return kit_require_rank(s, "dst", err);
}

static void reference(const struct problem_call *c)
{
    pkb_tensor *y = &c->out[0];
    rt_copy(c->rt, y, &c->in[0]);
    rt_reduce(c->rt, c->world, RT_SUM, y, y, (int)problem_call_int(c, "dst"));
}

/* What the ranks other than dst return is a copy: nothing may differ. */
static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    int dst = (int)problem_call_int(c, "dst");
    rt_reduce(c->rt, c->world, RT_SUM, tol[0], sum_bound_term(c, &c->in[0]), dst);
    if (c->world->rank != dst)
        rt_fill(c->rt, tol[0], 0);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    bool destination = s->rank == problem_int(s, "dst");
    cost->flops = destination ? matrix_elements(s) : (s->world - 2.0) / (s->world - 1.0) * matrix_elements(s);
    if (s->world == 1)
        cost->flops = 0;
    cost->hbm_bytes = 2 * matrix_bytes(s);
    cost->link_bytes = destination ? 0 : matrix_bytes(s);
}

const struct problem problem_04 = {
    .id = 4,
    .name = "04_reduce",
    .family = "collective",
    .origin = "basic collective; the reduction of a gradient bucket to its owner in ZeRO",
    .summary = "Sum one matrix element by element over all ranks onto one rank; every other rank returns its own input.",
    .source = "problems/collective/04_reduce.c",
    .worlds = "dst < W",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = matrix_one_x,
    .outputs = matrix_one_y,
    .init = sum_init,
    .reference = reference,
    .bound = bound,
    .check = sum_check,
    .cost = cost,
};
