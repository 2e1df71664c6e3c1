/* SPDX-License-Identifier: Apache-2.0 */
/* 03 broadcast: the source rank's matrix on every rank.
 *
 * Parameters   M, N: rows and columns. src: the source rank.
 * Input        x (M, N) of T, different on every rank; only that of src matters, and none may be changed.
 * Output       y (M, N) of T, the same on every rank: y = x_src.
 * One rank     y is a copy of x.
 * Arithmetic   none; data only move.
 * Check        exact. The other ranks' inputs are unlike the source's, so returning one's own input is wrong there.
 * Ideal cost   src cuts x into W - 1 pieces, sends one to each peer, and the peers exchange them.
 */
#include "problems/collective/matrix.h"

static const struct problem_param params[] = {
    MATRIX_SIZES,
    {"src", 0, 0, true, "source rank"},
};

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    return kit_require_rank(s, "src", err);
}

static void reference(const struct problem_call *c)
{
    pkb_tensor *y = &c->out[0];
    rt_copy(c->rt, y, &c->in[0]);
    rt_broadcast(c->rt, c->world, y, (int)problem_call_int(c, "src"));
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    bool source = s->rank == problem_int(s, "src");
    double bytes = matrix_bytes(s);
    cost->flops = 0;
    cost->hbm_bytes = source ? 2 * bytes : bytes;
    cost->link_bytes = source ? bytes : (s->world - 2.0) / (s->world - 1.0) * bytes;
    if (s->world == 1)
        cost->link_bytes = 0;
}

const struct problem problem_03 = {
    .id = 3,
    .name = "03_broadcast",
    .family = "collective",
    .origin = "basic collective; the first synchronisation of parameters in data-parallel training",
    .summary = "Copy the source rank's matrix to every rank.",
    .source = "problems/collective/03_broadcast.c",
    .worlds = "src < W",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = matrix_one_x,
    .outputs = matrix_one_y,
    .init = matrix_init,
    .reference = reference,
    .check = kit_check_exact,
    .cost = cost,
};
