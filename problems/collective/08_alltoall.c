/* SPDX-License-Identifier: Apache-2.0 */
/* 08 alltoall: every rank holds one matrix for each rank; slot q of the result came from rank q.
 *
 * Parameters   M, N: rows and columns of one matrix.
 * Input        x (W, M, N) of T, different on every rank; x[d] is meant for rank d.
 * Output       y (W, M, N) of T:
 *                  on rank r   y[q] = x_q[r].
 * One rank     y is a copy of x.
 * Arithmetic   none; data only move.
 * Check        exact.
 */
#include "problems/collective/matrix.h"

static const struct problem_param params[] = {MATRIX_SIZES};

/* pkb profile: chunk d of rank r is filled with 10 r + d. */
static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    if (s->inputs == PROFILE_HARDENED) {
        kit_fill_normal(s, set, 0);
        return;
    }
    for (int d = 0; d < s->world; d++)
        kit_fill_rows(&set->in[0], d, 1, 10 * s->rank + d);
}

static void reference(const struct problem_call *c)
{
    rt_all_to_all(c->rt, c->world, &c->out[0], &c->in[0]);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    cost->flops = 0;
    cost->hbm_bytes = 2.0 * s->world * matrix_bytes(s);
    cost->link_bytes = (s->world - 1.0) * matrix_bytes(s);
}

const struct problem problem_08 = {
    .id = 8,
    .name = "08_alltoall",
    .family = "collective",
    .origin = "basic collective; the core of expert dispatch (DeepEP) and of DeepSpeed-Ulysses",
    .summary = "Exchange one matrix per pair of ranks, so that slot q of the result came from rank q.",
    .source = "problems/collective/08_alltoall.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .inputs = matrix_stack_x,
    .outputs = matrix_stack_y,
    .init = init,
    .reference = reference,
    .check = kit_check_exact,
    .cost = cost,
};
