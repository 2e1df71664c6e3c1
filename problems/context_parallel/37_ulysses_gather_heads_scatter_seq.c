/* SPDX-License-Identifier: Apache-2.0 */
/* 37 ulysses_gather_heads_scatter_seq: after attention, whole sequences of some heads become shards of the sequence with all heads; the
 * sequence is padded with zeros to a multiple of W first.
 *
 * Parameters   B: batch. S: positions before the exchange; Sp = W * ceil(S / W), sl = Sp / W. nh: heads on one rank before it. hd: size of
 *              a head.
 * Input        x (B, S, nh, hd) of T, different on every rank. Let xp be x with Sp - S positions of zeros behind.
 * Output       y (B, sl, W*nh, hd) of T:
 *                  y[b, t, s*nh + h, c] = xp_s[b, r*sl + t, h, c]     for every rank s.
 * One rank     y is a copy of x.
 * Arithmetic   none; data only move, and +0 where the padding went.
 * Check        exact.
 * Inputs       N(0,1), in both profiles. The tiny S = 10 is padded for 4 and 8 ranks.
 */
#include "problems/axes.h"

static const struct problem_param params[] = {
    {"B", 16, 2, true, "batch"},
    {"S", 16, 10, true, "positions before the exchange"},
    {"nh", 8, 8, true, "heads per rank before the exchange"},
    {"hd", 64, 8, true, "size of a head"},
};

static int64_t positions_per_rank(const struct problem_setting *s)
{
    return kit_divide_up(problem_int(s, "S"), s->world);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t b = problem_int(s, "B"), positions = problem_int(s, "S");
    kit_tensor(&t[0], "x", s->dtype, RT_SHAPE(b, positions, problem_int(s, "nh"), problem_int(s, "hd")));
    return 1;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t heads = s->world * problem_int(s, "nh");
    kit_tensor(&t[0], "y", s->dtype, RT_SHAPE(problem_int(s, "B"), positions_per_rank(s), heads, problem_int(s, "hd")));
    return 1;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    kit_fill_normal(s, set, 0);
}

/* x with zeros behind its positions, so that they divide evenly. */
static const pkb_tensor *padded(const struct problem_call *c)
{
    const pkb_tensor *x = &c->in[0];
    pkb_tensor form = *x;
    form.shape[1] = c->world->size * positions_per_rank(c->setting);
    if (form.shape[1] == x->shape[1])
        return x;
    pkb_tensor *longer = rt_new_like(c->rt, x->dtype, &form);
    rt_fill(c->rt, longer, 0);
    rt_paste(c->rt, longer, 1, 0, x);
    return longer;
}

static void reference(const struct problem_call *c)
{
    axes_exchange(c->rt, c->world, &c->out[0], padded(c), 1, 2);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double position = problem_real(s, "B") * problem_real(s, "nh") * problem_real(s, "hd") * kit_element(s);
    double all = position * (double)(s->world * positions_per_rank(s));
    cost->flops = 0;
    cost->hbm_bytes = position * problem_real(s, "S") + all;
    cost->link_bytes = all * (s->world - 1.0) / s->world;
}

const struct problem problem_37 = {
    .id = 37,
    .name = "37_ulysses_gather_heads_scatter_seq",
    .family = "context_parallel",
    .origin = "DeepSpeed-Ulysses; gather_heads_scatter_seq of VeOmni (ByteDance Seed)",
    .summary = "All-to-all after attention: whole sequences with a shard of the heads become shards of the zero-padded sequence "
               "with all "
               "heads.",
    .source = "problems/context_parallel/37_ulysses_gather_heads_scatter_seq.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .check = kit_check_exact,
    .cost = cost,
};
