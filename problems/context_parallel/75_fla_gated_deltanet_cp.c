/* SPDX-License-Identifier: Apache-2.0 */
/* 75 fla_gated_deltanet_cp: the gated delta rule with one decay per head, on heads that are exchanged for tokens and back.
 *
 * Parameters   B: batch. L: tokens on one rank, r*L to r*L + L - 1 of W*L. h0: query heads before they are rounded up to Hq = W * ceil(h0 / W).
 *              rep: value heads per query head; Hv = rep * Hq. K, V: channels of keys and of values.
 * Inputs       q, k (B, L, Hq, K), v (B, L, Hv, V), gate, beta (B, L, Hv) of T, all heads of the own tokens;
 *              a_log, dt_bias (Hv / W) of bf16 (for every T), for the value heads r*Hv/W, ... All differ on every rank.
 * Output       out (B, L, Hv, V) of T, different on every rank. Tokens to heads: the rank gets its W-th of the heads of all tokens.
 *              For its value head h, with queries and keys of query head floor(h / rep),
 *                  decay = exp(-exp(a_log) * log(1 + exp(gate + dt_bias))),
 *                  q / max(||q||, 1e-6) * K^-1/2 and k / max(||k||, 1e-6) in the places of q and k, beta as it is,
 *              o by problems/context_parallel/delta.h, rounded to T. Heads to tokens: back to all heads of the own tokens.
 * One rank     the exchanges are copies.
 * Arithmetic   f32 for every T up to the rounding.
 * Check        rows of a token, see delta.h.
 * Inputs       k N(0,1), q = k + N(0,1), v 4 * N(0,1), gate N(0,1) - 3 (decay about 0.95), beta the sigmoid of N(0,1) in bf16; a_log and
 *              dt_bias uniform in [-1/2, 1/2). In the pkb profile q, v and gate are N(0,1), a_log goes from 0 to 0.2, dt_bias from -0.1 to
 *              0.1 over the heads of all ranks.
 */
#include <math.h>

#include "problems/axes.h"
#include "problems/context_parallel/delta.h"

static const struct problem_param params[] = {
    {"B", 1, 2, true, "batch"},
    {"L", 64, 4, true, "tokens per rank"},
    {"h0", 6, 3, true, "query heads before rounding up to a multiple of W"},
    {"rep", 1, 2, true, "value heads per query head"},
    {"K", 256, 8, true, "channels of queries and keys"},
    {"V", 512, 6, true, "channels of values"},
};

enum { Q, K, V, GATE, BETA, A_LOG, DT_BIAS };

/* Heads of all ranks. */
static int64_t query_heads(const struct problem_setting *s)
{
    return kit_round_up(problem_int(s, "h0"), s->world);
}

static int64_t value_heads(const struct problem_setting *s)
{
    return problem_int(s, "rep") * query_heads(s);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t b = problem_int(s, "B"), l = problem_int(s, "L"), k = problem_int(s, "K");
    int64_t hq = query_heads(s), hv = value_heads(s);
    kit_tensor(&t[Q], "q", s->dtype, RT_SHAPE(b, l, hq, k));
    kit_tensor(&t[K], "k", s->dtype, RT_SHAPE(b, l, hq, k));
    kit_tensor(&t[V], "v", s->dtype, RT_SHAPE(b, l, hv, problem_int(s, "V")));
    kit_tensor(&t[GATE], "gate", s->dtype, RT_SHAPE(b, l, hv));
    kit_tensor(&t[BETA], "beta", s->dtype, RT_SHAPE(b, l, hv));
    kit_tensor(&t[A_LOG], "a_log", PKB_BF16, RT_SHAPE(hv / s->world));
    kit_tensor(&t[DT_BIAS], "dt_bias", PKB_BF16, RT_SHAPE(hv / s->world));
    return 7;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t b = problem_int(s, "B"), l = problem_int(s, "L");
    kit_tensor(&t[0], "out", s->dtype, RT_SHAPE(b, l, value_heads(s), problem_int(s, "V")));
    return 1;
}

static double beta_value(const void *arg, size_t i)
{
    double logit = kit_rounded(PKB_BF16, rng_normal(arg, i));
    return kit_rounded(PKB_BF16, 1 / (1 + exp(-logit)));
}

static double slow_gate_value(const void *arg, size_t i)
{
    return rng_normal(arg, i) - 3;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    int64_t heads = value_heads(s), first = s->rank * (heads / s->world);
    struct rng beta = problem_rng(s, set, BETA), gate = problem_rng(s, set, GATE);
    for (int i = Q; i <= GATE; i++)
        kit_fill_normal(s, set, i);
    kit_fill_with(&set->in[BETA], beta_value, &beta);
    if (s->inputs == PROFILE_PKB) {
        delta_fill_ramp(set, A_LOG, 0, first, heads);
        delta_fill_ramp(set, DT_BIAS, -0.1, first, heads);
        return;
    }
    delta_fill_query(s, set, Q, K);
    kit_fill_scaled_normal(s, set, V, 4);
    kit_fill_with(&set->in[GATE], slow_gate_value, &gate);
    delta_fill_shared(s, set, A_LOG, first);
    delta_fill_shared(s, set, DT_BIAS, first);
}

/* An input at all tokens of the own heads, (W * L, B, heads / W, ..) of f32. */
static pkb_tensor *to_heads(const struct problem_call *c, int input)
{
    return delta_widened(c->rt, axes_exchanged(c->rt, c->world, delta_swapped(c->rt, &c->in[input]), 2, 0));
}

/* Queries or keys, normalised, once per value head. */
static pkb_tensor *to_value_heads(const struct problem_call *c, pkb_tensor *t, double factor)
{
    int64_t rep = problem_call_int(c, "rep");
    delta_normalise(c->rt, t, 1e-6, factor);
    if (rep == 1 || rt_status(c->rt, NULL) < 0)
        return t;
    pkb_tensor *index = rt_new(c->rt, PKB_I64, RT_SHAPE(rep * t->shape[2]));
    pkb_tensor *repeated = rt_new(c->rt, PKB_F32, RT_SHAPE(t->shape[0], t->shape[1], rep * t->shape[2], t->shape[3]));
    rt_iota(c->rt, index, 0, 1);
    rt_binary_scalar(c->rt, RT_FLOORDIV, index, index, (double)rep);
    rt_take(c->rt, repeated, t, index, 2);
    return repeated;
}

/* gate becomes the decay. */
static void to_decay(const struct problem_call *c, pkb_tensor *gate)
{
    pkb_tensor *slope = rt_new_like(c->rt, PKB_F32, &c->in[A_LOG]);
    rt_unary(c->rt, RT_EXP, slope, &c->in[A_LOG]);
    rt_binary(c->rt, RT_ADD, gate, gate, delta_widened(c->rt, &c->in[DT_BIAS]));
    rt_unary(c->rt, RT_SOFTPLUS, gate, gate);
    rt_binary(c->rt, RT_MUL, gate, gate, slope);
    rt_unary(c->rt, RT_NEG, gate, gate);
    rt_unary(c->rt, RT_EXP, gate, gate);
}

static void reference(const struct problem_call *c)
{
    pkb_tensor *q = to_heads(c, Q), *k = to_heads(c, K), *v = to_heads(c, V);
    pkb_tensor *gate = to_heads(c, GATE), *beta = to_heads(c, BETA);
    to_decay(c, gate);
    const struct delta d = {
        .q = to_value_heads(c, q, 1 / sqrt(problem_call_real(c, "K"))),
        .k = to_value_heads(c, k, 1),
        .v = v,
        .beta = beta,
        .decay = gate,
    };
    pkb_tensor *o = rt_new_like(c->rt, c->setting->dtype, v);
    rt_copy(c->rt, o, delta_rule(c->rt, &d));
    rt_permute(c->rt, &c->out[0], axes_exchanged(c->rt, c->world, o, 0, 2), (const int[]){1, 0, 2, 3});
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    delta_check(s, value_heads(s) * problem_int(s, "V"), check);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double hq = (double)query_heads(s), hv = (double)value_heads(s), k = problem_real(s, "K"), v = problem_real(s, "V");
    double tokens = problem_real(s, "B") * problem_real(s, "L"), size = kit_element(s);
    double in = size * tokens * (2 * hq * k + hv * v + 2 * hv), out = size * tokens * hv * v;
    cost->flops = 7 * tokens * hv * k * v + 10 * tokens * hq * k;
    cost->hbm_bytes = in + out + 4 * hv / s->world;
    cost->link_bytes = (in + out) * (s->world - 1.0) / s->world;
}

const struct problem problem_75 = {
    .id = 75,
    .name = "75_fla_gated_deltanet_cp",
    .family = "context_parallel",
    .origin =
        "Gated DeltaNet of flash-linear-attention with all-to-all context parallelism as in Megatron-LM and Qwen3-Next training",
    .summary = "Gated delta rule on a split sequence: all-to-all from tokens to heads, recurrence over all tokens per head, "
               "all-to-all back.",
    .source = "problems/context_parallel/75_fla_gated_deltanet_cp.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .check = check,
    .cost = cost,
};
