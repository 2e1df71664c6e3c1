/* SPDX-License-Identifier: Apache-2.0 */
/* 36 ulysses_gather_seq_scatter_heads: before attention, shards of the sequence with all heads become whole sequences of some heads.
 *
 * Parameters   B: batch. S: positions on one rank. nh: heads, a multiple of W; nl = nh / W. hd: size of a head. U: length of the whole
 *              sequence without padding; 0: nothing is cut off.
 * Input        x (B, S, nh, hd) of T, positions r*S to (r+1)*S - 1 of the sequence; different on every rank.
 * Output       y (B, W*S, nl, hd) of T, heads r*nl to (r+1)*nl - 1:
 *                  y[b, s*S + t, h, c] = x_s[b, t, r*nl + h, c]     for every rank s.
 *              If U is not 0 and not a multiple of W, only the first U positions are kept: y (B, U, nl, hd).
 * One rank     y is a copy of x.
 * Arithmetic   none; data only move.
 * Check        exact.
 * Inputs       N(0,1), in both profiles.
 */
#include "problems/context_parallel/ulysses.h"

static const struct problem_param params[] = {ULYSSES_PARAMS};

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t b = problem_int(s, "B"), positions = problem_int(s, "S");
    kit_tensor(&t[0], "x", s->dtype, RT_SHAPE(b, positions, problem_int(s, "nh"), problem_int(s, "hd")));
    return 1;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t b = problem_int(s, "B"), positions = ulysses_positions_kept(s);
    kit_tensor(&t[0], "y", s->dtype, RT_SHAPE(b, positions, problem_int(s, "nh") / s->world, problem_int(s, "hd")));
    return 1;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    kit_fill_normal(s, set, 0);
}

static void reference(const struct problem_call *c)
{
    ulysses_exchange_and_cut(c->rt, c->world, &c->out[0], &c->in[0], 2, 1);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double elements = problem_real(s, "B") * problem_real(s, "S") * problem_real(s, "nh") * problem_real(s, "hd");
    ulysses_cost(s, elements, cost);
}

const struct problem problem_36 = {
    .id = 36,
    .name = "36_ulysses_gather_seq_scatter_heads",
    .family = "context_parallel",
    .origin = "DeepSpeed-Ulysses; gather_seq_scatter_heads of VeOmni (ByteDance Seed)",
    .summary =
        "All-to-all before attention: shards of the sequence with all heads become whole sequences with a shard of the heads.",
    .source = "problems/context_parallel/36_ulysses_gather_seq_scatter_heads.c",
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
