/* SPDX-License-Identifier: Apache-2.0 */
/* 06 gather: every rank's matrix on one rank, stacked in rank order; the others return their own.
 *
 * Parameters   M, N: rows and columns of one matrix. dst: the destination rank.
 * Input        x (M, N) of T, different on every rank.
 * Output       on dst        y (W, M, N) of T with y[q] = x_q,
 *              elsewhere     y (M, N) of T, a copy of x.
 * One rank     y is x with a leading dimension of 1.
 * Arithmetic   none; data only move.
 * Check        exact.
 */
#include "problems/collective/matrix.h"

static const struct problem_param params[] = {
    MATRIX_SIZES,
    {"dst", 0, 0, true, "destination rank"},
};

static bool is_destination(const struct problem_setting *s)
{
    return s->rank == problem_int(s, "dst");
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    return kit_require_rank(s, "dst", err);
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    return is_destination(s) ? matrix_stack_y(s, t) : matrix_one_y(s, t);
}

static void reference(const struct problem_call *c)
{
    pkb_tensor *gathered = is_destination(c->setting) ? &c->out[0] : NULL;
    rt_gather(c->rt, c->world, gathered, &c->in[0], (int)problem_call_int(c, "dst"));
    if (!gathered)
        rt_copy(c->rt, &c->out[0], &c->in[0]);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    bool destination = is_destination(s);
    cost->flops = 0;
    cost->hbm_bytes = destination ? (s->world + 1.0) * matrix_bytes(s) : 2 * matrix_bytes(s);
    cost->link_bytes = destination ? 0 : matrix_bytes(s);
}

const struct problem problem_06 = {
    .id = 6,
    .name = "06_gather",
    .family = "collective",
    .origin = "basic collective; the collection of results or shards on one rank",
    .summary = "Collect every rank's matrix on one rank, stacked in rank order; the other ranks return their own.",
    .source = "problems/collective/06_gather.c",
    .worlds = "dst < W",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = matrix_one_x,
    .outputs = outputs,
    .init = matrix_init,
    .reference = reference,
    .check = kit_check_exact,
    .cost = cost,
};
