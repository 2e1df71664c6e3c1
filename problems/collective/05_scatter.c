/* SPDX-License-Identifier: Apache-2.0 */
/* 05 scatter: the source rank holds one matrix for every rank; each gets its own.
 *
 * Parameters   M, N: rows and columns of one matrix. src: the source rank.
 * Input        on src        x (W, M, N) of T,
 *              elsewhere     x (M, N) of T, a placeholder whose contents mean nothing.
 * Output       y (M, N) of T: y on rank r is x_src[r] (src keeps its own).
 * One rank     y = x[0].
 * Arithmetic   none; data only move.
 * Check        exact. The placeholders hold random numbers of their own.
 */
#include "problems/collective/matrix.h"

static const struct problem_param params[] = {
    MATRIX_SIZES,
    {"src", 0, 0, true, "source rank"},
};

static bool is_source(const struct problem_setting *s)
{
    return s->rank == problem_int(s, "src");
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    return kit_require_rank(s, "src", err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    return is_source(s) ? matrix_stack_x(s, t) : matrix_one_x(s, t);
}

/* pkb profile: chunk i of the source is filled with i + 1, placeholders with 0. */
static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    if (s->inputs == PROFILE_HARDENED) {
        kit_fill_normal(s, set, 0);
        return;
    }
    kit_fill_constant(&set->in[0], 0);
    for (int i = 0; is_source(s) && i < s->world; i++)
        kit_fill_rows(&set->in[0], i, 1, i + 1);
}

static void reference(const struct problem_call *c)
{
    rt_scatter(c->rt, c->world, &c->out[0], &c->in[0], (int)problem_call_int(c, "src"));
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    bool source = is_source(s);
    cost->flops = 0;
    cost->hbm_bytes = source ? (s->world + 1.0) * matrix_bytes(s) : matrix_bytes(s);
    cost->link_bytes = source ? (s->world - 1.0) * matrix_bytes(s) : 0;
}

const struct problem problem_05 = {
    .id = 5,
    .name = "05_scatter",
    .family = "collective",
    .origin = "basic collective; the distribution of input shards from the rank that loads them",
    .summary = "Deliver matrix r of the stack that the source rank holds to rank r.",
    .source = "problems/collective/05_scatter.c",
    .worlds = "src < W",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = matrix_one_y,
    .init = init,
    .reference = reference,
    .check = kit_check_exact,
    .cost = cost,
};
