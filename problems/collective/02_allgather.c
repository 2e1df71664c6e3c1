/* SPDX-License-Identifier: Apache-2.0 */
/* 02 allgather: every rank's matrix on every rank, stacked in rank order.
 *
 * Parameters   M, N: rows and columns of one matrix.
 * Input        x (M, N) of T, different on every rank.
 * Output       y (W, M, N) of T, the same on every rank:
 *                  y[q] = x_q, the own matrix included.
 * One rank     y is x with a leading dimension of 1.
 * Arithmetic   none; data only move.
 * Check        exact.
 */
#include "problems/collective/matrix.h"

static const struct problem_param params[] = {MATRIX_SIZES};

static void reference(const struct problem_call *c)
{
    rt_all_gather(c->rt, c->world, &c->out[0], &c->in[0]);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    cost->flops = 0;
    cost->hbm_bytes = (1.0 + s->world) * matrix_bytes(s);
    cost->link_bytes = (s->world - 1.0) * matrix_bytes(s);
}

const struct problem problem_02 = {
    .id = 2,
    .name = "02_allgather",
    .family = "collective",
    .origin = "basic collective; the parameter gather of FSDP and ZeRO-3 and of Megatron-LM sequence parallelism",
    .summary = "Collect every rank's matrix on every rank, stacked in rank order along a new leading dimension.",
    .source = "problems/collective/02_allgather.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .inputs = matrix_one_x,
    .outputs = matrix_stack_y,
    .init = matrix_init,
    .reference = reference,
    .check = kit_check_exact,
    .cost = cost,
};
