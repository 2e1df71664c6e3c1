/* SPDX-License-Identifier: Apache-2.0 */
/* 74 fla_kimi_delta_attention_cp_tp: the gated delta rule with a decay per channel over a sequence that is split over the ranks; pairs of
 * ranks add their results.
 *
 * Parameters   B: batch. L: tokens on one rank. H: heads, all on every rank. K, V: channels of keys and of values. lb: lower bound of the log
 *              of the decay.
 * Grid         P = 2 and C = W / 2 for an even W from 4 on, else P = 1 and C = W. Rank r is member c = floor(r / P) of the
 *              context-parallel group {r mod P + j*P, j < C}, with tokens c*L to c*L + L - 1, and belongs to the tensor-parallel group
 *              {c*P, .., c*P + P - 1}.
 * Inputs       q, k, g (B, L, H, K), v (B, L, H, V), beta (B, L, H) of T, different on every rank, also in a pair;
 *              a_log (H), dt_bias (H*K) of bf16 (for every T), the same on every rank.
 * Output       out (B, L, H, V) of T, the same in a pair: with all C*L tokens of the context-parallel group,
 *                  decay = exp(lb * sigmoid(exp(a_log) * (g + dt_bias))),
 *                  q / max(||q||, 1e-12) * K^-1/2 and k / max(||k||, 1e-12) in the places of q and k, sigmoid(beta) in that of beta,
 *              o by problems/context_parallel/delta.h, rounded to T, and summed in T over the pair; of that the own tokens.
 * One rank     the rule on the own tokens.
 * Arithmetic   f32 for every T up to the roundings.
 * Check        rows of a token, see delta.h: the first tokens of a rank depend on all before.
 * Inputs       k N(0,1), q = k + N(0,1), v 4 * N(0,1), g N(0,1), for odd channels N(0,1) - 4 (decay about 0.91), beta N(0,1); a_log and
 *              dt_bias uniform in [-1/2, 1/2): the state crosses the borders of shards. In the pkb profile q, v and g are N(0,1), a_log and
 *              dt_bias go from -0.1 to 0.1; the state is forgotten within a few tokens.
 */
#include <math.h>

#include "problems/context_parallel/delta.h"

static const struct problem_param params[] = {
    {"B", 1, 2, true, "batch"},
    {"L", 64, 4, true, "tokens per rank"},
    {"H", 16, 8, true, "heads"},
    {"K", 128, 8, true, "channels of queries and keys"},
    {"V", 128, 6, true, "channels of values"},
    {"lb", -5, -5, false, "lower bound of the log of the decay"},
};

enum { Q, K, V, G, BETA, A_LOG, DT_BIAS };

static int tensor_ranks(const struct problem_setting *s)
{
    return s->world >= 4 && s->world % 2 == 0 ? 2 : 1;
}

static int context_ranks(const struct problem_setting *s)
{
    return s->world / tensor_ranks(s);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t b = problem_int(s, "B"), l = problem_int(s, "L"), h = problem_int(s, "H"), k = problem_int(s, "K");
    kit_tensor(&t[Q], "q", s->dtype, RT_SHAPE(b, l, h, k));
    kit_tensor(&t[K], "k", s->dtype, RT_SHAPE(b, l, h, k));
    kit_tensor(&t[V], "v", s->dtype, RT_SHAPE(b, l, h, problem_int(s, "V")));
    kit_tensor(&t[G], "g", s->dtype, RT_SHAPE(b, l, h, k));
    kit_tensor(&t[BETA], "beta", s->dtype, RT_SHAPE(b, l, h));
    kit_tensor(&t[A_LOG], "a_log", PKB_BF16, RT_SHAPE(h));
    kit_tensor(&t[DT_BIAS], "dt_bias", PKB_BF16, RT_SHAPE(h * k));
    return 7;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t b = problem_int(s, "B"), l = problem_int(s, "L");
    kit_tensor(&t[0], "out", s->dtype, RT_SHAPE(b, l, problem_int(s, "H"), problem_int(s, "V")));
    return 1;
}

/* Gates of which every second channel forgets slowly. */
struct gates {
    struct rng rng;
    size_t channels;
};

static double gate_value(const void *arg, size_t i)
{
    const struct gates *g = arg;
    return rng_normal(&g->rng, i) - (i % g->channels % 2 == 1 ? 4 : 0);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    int64_t h = problem_int(s, "H"), k = problem_int(s, "K");
    for (int i = Q; i <= BETA; i++)
        kit_fill_normal(s, set, i);
    if (s->inputs == PROFILE_PKB) {
        delta_fill_ramp(set, A_LOG, -0.1, 0, h);
        delta_fill_ramp(set, DT_BIAS, -0.1, 0, h * k);
        return;
    }
    struct gates gates = {problem_rng(s, set, G), (size_t)k};
    delta_fill_query(s, set, Q, K);
    kit_fill_scaled_normal(s, set, V, 4);
    kit_fill_with(&set->in[G], gate_value, &gates);
    delta_fill_shared(s, set, A_LOG, 0);
    delta_fill_shared(s, set, DT_BIAS, 0);
}

/* An input of all members, (C * L, B, H, ..) of f32. */
static pkb_tensor *all_tokens(const struct problem_call *c, const struct rt_group *g, int input)
{
    pkb_tensor *own = delta_swapped(c->rt, &c->in[input]);
    if (!own || !g)
        return NULL;
    pkb_tensor form = *own;
    form.shape[0] *= g->size;
    pkb_tensor *all = rt_new_like(c->rt, own->dtype, &form);
    rt_all_gather(c->rt, g, all, own);
    return delta_widened(c->rt, all);
}

/* g becomes the decay. */
static void to_decay(const struct problem_call *c, pkb_tensor *g)
{
    int64_t h = c->in[A_LOG].shape[0], k = c->in[DT_BIAS].shape[0] / h;
    pkb_tensor *slope = rt_new(c->rt, PKB_F32, RT_SHAPE(h, 1));
    pkb_tensor *bias = delta_widened(c->rt, &c->in[DT_BIAS]);
    rt_unary(c->rt, RT_EXP, slope, rt_view(c->rt, &c->in[A_LOG], RT_SHAPE(h, 1)));
    rt_binary(c->rt, RT_ADD, g, g, rt_view(c->rt, bias, RT_SHAPE(h, k)));
    rt_binary(c->rt, RT_MUL, g, g, slope);
    rt_unary(c->rt, RT_SIGMOID, g, g);
    rt_binary_scalar(c->rt, RT_MUL, g, g, problem_call_real(c, "lb"));
    rt_unary(c->rt, RT_EXP, g, g);
}

static void reference(const struct problem_call *c)
{
    int pair = tensor_ranks(c->setting), place = c->world->rank / pair, members = context_ranks(c->setting);
    int64_t tokens = c->in[Q].shape[1];
    const struct rt_group *sequence = kit_stride_group(c, c->world->rank % pair, pair, members);
    const struct rt_group *sum = kit_stride_group(c, place * pair, 1, pair);
    pkb_tensor *q = all_tokens(c, sequence, Q), *k = all_tokens(c, sequence, K), *v = all_tokens(c, sequence, V);
    pkb_tensor *g = all_tokens(c, sequence, G), *beta = all_tokens(c, sequence, BETA);
    to_decay(c, g);
    delta_normalise(c->rt, q, 1e-12, 1 / sqrt(problem_call_real(c, "K")));
    delta_normalise(c->rt, k, 1e-12, 1);
    rt_unary(c->rt, RT_SIGMOID, beta, beta);
    const struct delta d = {.q = q, .k = k, .v = v, .beta = beta, .decay = g};
    pkb_tensor *o = rt_new_like(c->rt, c->setting->dtype, v);
    rt_copy(c->rt, o, delta_rule(c->rt, &d));
    rt_all_reduce(c->rt, sum, RT_SUM, o, o);
    rt_permute(c->rt, &c->out[0], rt_rows(c->rt, o, place * tokens, tokens), (const int[]){1, 0, 2, 3});
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    delta_check(s, problem_int(s, "H") * problem_int(s, "V"), check);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double h = problem_real(s, "H"), k = problem_real(s, "K"), v = problem_real(s, "V"), size = kit_element(s);
    double rows = problem_real(s, "B") * problem_real(s, "L") * h, members = context_ranks(s);
    double in = size * rows * (3 * k + v + 1), out = size * rows * v;
    cost->flops = 7 * rows * k * v + 20 * rows * k;
    cost->hbm_bytes = in + out + 2 * (h + h * k);
    cost->link_bytes = (in + out) * (members - 1) / members + (tensor_ranks(s) == 2 ? out : 0);
}

const struct problem problem_74 = {
    .id = 74,
    .name = "74_fla_kimi_delta_attention_cp_tp",
    .family = "context_parallel",
    .origin = "Kimi Delta Attention of flash-linear-attention on a context-parallel by tensor-parallel grid in Megatron-LM's "
              "rank order",
    .summary = "Gated delta rule with a decay per channel over a split sequence, followed by a sum over pairs of ranks.",
    .source = "problems/context_parallel/74_fla_kimi_delta_attention_cp_tp.c",
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
