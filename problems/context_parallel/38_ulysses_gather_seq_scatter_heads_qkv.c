/* SPDX-License-Identifier: Apache-2.0 */
/* 38 ulysses_gather_seq_scatter_heads_qkv: the exchange before attention on queries, keys and values in one tensor, each of which is
 * divided over the ranks for itself.
 *
 * Parameters   B: batch. S: positions on one rank. nh: heads, a multiple of W. hd: size of a head; D = nh * hd is the width of each of the
 *              three, Dl = D / W. U: length of the whole sequence without padding; 0: nothing is cut off.
 * Input        qkv (B, S, 3*D) of T, in a row D numbers of q, then of k, then of v; different on every rank.
 * Output       y (B, W*S, 3*Dl) of T:
 *                  y[b, s*S + t, j*Dl + c] = qkv_s[b, t, j*D + r*Dl + c]     for every rank s, j in 0, 1, 2, c < Dl:
 *              heads r*nh/W to (r+1)*nh/W - 1 of q, of k and of v. (Cutting the axis of 3*D into W pieces is not that.)
 *              If U is not 0 and not a multiple of W, only the first U positions are kept.
 * One rank     y is a copy of qkv.
 * Arithmetic   none; data only move.
 * Check        exact.
 * Inputs       N(0,1), in both profiles.
 */
#include "problems/context_parallel/ulysses.h"

static const struct problem_param params[] = {ULYSSES_PARAMS};

static int64_t width(const struct problem_setting *s)
{
    return problem_int(s, "nh") * problem_int(s, "hd");
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "qkv", s->dtype, RT_SHAPE(problem_int(s, "B"), problem_int(s, "S"), 3 * width(s)));
    return 1;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "y", s->dtype, RT_SHAPE(problem_int(s, "B"), ulysses_positions_kept(s), 3 * (width(s) / s->world)));
    return 1;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    kit_fill_normal(s, set, 0);
}

/* With q, k and v as an axis of its own, the axis that is scattered is that of the D numbers of each. */
static void reference(const struct problem_call *c)
{
    const pkb_tensor *qkv = &c->in[0], *y = &c->out[0];
    int64_t d = width(c->setting), world = c->world->size;
    pkb_tensor *parts = rt_view(c->rt, qkv, RT_SHAPE(qkv->shape[0], qkv->shape[1], 3, d));
    pkb_tensor *out = rt_view(c->rt, y, RT_SHAPE(y->shape[0], y->shape[1], 3, d / world));
    ulysses_exchange_and_cut(c->rt, c->world, out, parts, 3, 1);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    ulysses_cost(s, 3 * problem_real(s, "B") * problem_real(s, "S") * (double)width(s), cost);
}

const struct problem problem_38 = {
    .id = 38,
    .name = "38_ulysses_gather_seq_scatter_heads_qkv",
    .family = "context_parallel",
    .origin = "gather_seq_scatter_heads_qkv of VeOmni (ByteDance Seed): DeepSpeed-Ulysses on the fused projection",
    .summary = "All-to-all on a fused tensor of queries, keys and values that gathers the sequence and scatters the heads of "
               "each of the "
               "three.",
    .source = "problems/context_parallel/38_ulysses_gather_seq_scatter_heads_qkv.c",
    .worlds = "nh % W == 0",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = ulysses_supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .check = kit_check_exact,
    .cost = cost,
};
