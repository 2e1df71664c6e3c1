/* SPDX-License-Identifier: Apache-2.0 */
/* 57 ring_attention_backward_dp: gradients of ring attention; those of keys and values travel with them back to their owners, and all
 * are averaged over data-parallel replicas.
 *
 * Parameters   B: batch of a replica. Tg: positions of the whole sequence. H: heads. D: size of a head. scale: of the scores; 0: D^-1/2.
 *              causal: 1: a query saw the keys up to its own position.
 * Grid         dp = min(2, W) replicas, C = W / dp, S = max(1, floor(Tg / C)). Rank r is member cp = r mod C of the context-parallel group
 *              {floor(r / C)*C + j, j < C} and belongs to the data-parallel group {cp + i*C, i < dp}.
 * Inputs       dout, q, k, v, out (B, S, H, D) of T; lse (B, H, S) of f32 (for every T). All differ on every rank.
 * Outputs      dq, dk, dv (B, S, H, D) of T, the same within a data-parallel group. Per batch and head, with the keys j of all shards of
 *              the group (causal: up to the query's position) and queries i,
 *                  delta[i] = <dout[i], out[i]>,    P[i, j] = exp(scale * <q[i], k[j]> - lse[i]),
 *                  dS[i, j] = P[i, j] * (<dout[i], v[j]> - delta[i]),
 *                  dq[i] = scale * sum over j of dS[i, j] * k[j],
 *                  dk[j] = scale * sum over i of dS[i, j] * q[i],    dv[j] = sum over i of P[i, j] * dout[i],
 *              rounded to T, summed over the data-parallel group in T, divided by dp. out and lse are used as they are given.
 * Ring         C steps; after each the f32 sums of dk and dv go one member to the right, and after all but the last the keys and values.
 * One rank     the own block alone. Two ranks: no ring.
 * Arithmetic   f32 for every T up to the first rounding; any order.
 * Check        rows of D elements, problems/context_parallel/attention.h, and u/4 absolute: where causal the first position's dq is a
 *              difference of equal numbers.
 * Inputs       dout, q, k, v N(0,1); out and lse are the forward pass over the keys of the whole group, so that the result is the
 *              gradient of attention. The pkb profile takes the own keys alone, without a mask.
 */
#include <math.h>

#include "problems/context_parallel/attention.h"
#include "problems/context_parallel/forward.h"
#include "problems/context_parallel/ring.h"

static const struct problem_param params[] = {
    {"B", 16, 2, true, "batch of a replica"},
    {"Tg", 16, 16, true, "positions of the whole sequence"},
    {"H", 8, 2, true, "heads"},
    {"D", 64, 16, true, "size of a head"},
    {"scale", 0, 0, false, "of the scores; 0: 1/sqrt(D)"},
    {"causal", 0, 0, true, "1: no key behind the query was seen"},
};

enum { DOUT, Q, K, V, OUT, LSE };
enum { DQ, DK, DV };

static int replicas(const struct problem_setting *s)
{
    return s->world > 1 ? 2 : 1;
}

static int context_ranks(const struct problem_setting *s)
{
    return s->world / replicas(s);
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    return kit_require_pairs(s, err);
}

static void describe(const struct problem_setting *s, struct problem_tensor *t, const char *name)
{
    int64_t positions = ring_shard(s, context_ranks(s));
    kit_tensor(t, name, s->dtype, RT_SHAPE(problem_int(s, "B"), positions, problem_int(s, "H"), problem_int(s, "D")));
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    static const char *const names[] = {"dout", "q", "k", "v", "out"};
    for (int i = DOUT; i <= OUT; i++)
        describe(s, &t[i], names[i]);
    int64_t positions = ring_shard(s, context_ranks(s));
    kit_tensor(&t[LSE], "lse", PKB_F32, RT_SHAPE(problem_int(s, "B"), problem_int(s, "H"), positions));
    return 6;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    static const char *const names[] = {"dq", "dk", "dv"};
    for (int i = DQ; i <= DV; i++)
        describe(s, &t[i], names[i]);
    return 3;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    int members = context_ranks(s), place = s->rank % members, ranks[PROBLEM_MAX_WORLD];
    int64_t positions = ring_shard(s, members), everything = members * positions;
    double scale = problem_real(s, "scale");
    struct forward f = {.n = members, .ranks = ranks, .q = Q, .k = K, .v = V, .out = OUT, .lse = LSE};
    f.scale = scale != 0 ? scale : 1 / sqrt(problem_real(s, "D"));
    f.visible = problem_int(s, "causal") ? place * positions + 1 : everything;
    for (int j = 0; j < members; j++)
        ranks[j] = s->rank - place + j;
    if (s->inputs == PROFILE_PKB) {
        f.n = 1;
        f.visible = everything;
        ranks[0] = s->rank;
    }
    kit_fill_normal(s, set, DOUT);
    kit_fill_normal(s, set, Q);
    forward_fill(s, set, &f);
}

/* What all blocks take, in f32 and heads first: (B, H, S, D), delta and lse (B, H, S, 1). */
struct queries {
    pkb_tensor *q, *dout, *delta, *lse;
    double scale;
};

static struct queries prepare(const struct problem_call *c)
{
    const pkb_tensor *lse = &c->in[LSE];
    int64_t b = lse->shape[0], h = lse->shape[1], s = lse->shape[2];
    struct queries of = {
        .q = attention_heads_first(c->rt, &c->in[Q]),
        .dout = attention_heads_first(c->rt, &c->in[DOUT]),
        .delta = rt_new(c->rt, PKB_F32, RT_SHAPE(b, h, s, 1)),
        .lse = rt_view(c->rt, lse, RT_SHAPE(b, h, s, 1)),
        .scale = attention_scale(c, c->in[Q].shape[3]),
    };
    pkb_tensor *products = rt_new_like(c->rt, PKB_F32, of.q);
    rt_binary(c->rt, RT_MUL, products, of.dout, attention_heads_first(c->rt, &c->in[OUT]));
    rt_reduce_axis(c->rt, RT_SUM, of.delta, products, -1);
    return of;
}

/* sum += factor * op(a) b, op the transpose or nothing. */
static void add_product(struct rt *rt, pkb_tensor *sum, double factor, const pkb_tensor *a, bool transposed, const pkb_tensor *b)
{
    pkb_tensor *product = rt_new_like(rt, PKB_F32, sum);
    rt_matmul(rt, product, a, transposed, b, false);
    rt_binary_scalar(rt, RT_MUL, product, product, factor);
    rt_binary(rt, RT_ADD, sum, sum, product);
}

/* Adds the contributions of the own queries and one shard kv (2, B, S, H, D) to dq and to the shard's dkv (2, B, H, S, D). */
static void add_block(struct rt *rt, const struct queries *of, const pkb_tensor *kv, bool masked, pkb_tensor *dq, pkb_tensor *dkv)
{
    pkb_tensor *k = attention_heads_first(rt, rt_entry(rt, kv, 0));
    pkb_tensor *v = attention_heads_first(rt, rt_entry(rt, kv, 1));
    pkb_tensor *p = attention_probabilities(rt, attention_scores(rt, of->q, k, of->scale, masked), of->lse);
    pkb_tensor *ds = rt_new_like(rt, PKB_F32, p);
    rt_matmul(rt, ds, of->dout, false, v, true);
    rt_binary(rt, RT_SUB, ds, ds, of->delta);
    rt_binary(rt, RT_MUL, ds, ds, p);
    add_product(rt, dq, of->scale, ds, false, k);
    add_product(rt, rt_entry(rt, dkv, 0), of->scale, ds, true, of->q);
    add_product(rt, rt_entry(rt, dkv, 1), 1, p, true, of->dout);
}

static pkb_tensor *new_zeros(struct rt *rt, int ndim, const int64_t *shape)
{
    pkb_tensor *t = rt_new(rt, PKB_F32, ndim, shape);
    rt_fill(rt, t, 0);
    return t;
}

/* dq (B, H, S, D) and dkv (2, B, H, S, D) of the own shard, summed over the group. */
static void ring_backward(const struct problem_call *c, const struct rt_group *g, pkb_tensor **dq, pkb_tensor **dkv)
{
    const pkb_tensor *k = &c->in[K], *kv = ring_pack(c->rt, k, &c->in[V]);
    int64_t b = k->shape[0], s = k->shape[1], h = k->shape[2], d = k->shape[3];
    bool causal = problem_call_int(c, "causal");
    struct queries of = prepare(c);
    *dq = new_zeros(c->rt, RT_SHAPE(b, h, s, d));
    *dkv = new_zeros(c->rt, RT_SHAPE(2, b, h, s, d));
    for (int t = 0; g && t < g->size; t++) {
        const pkb_tensor *next = t < g->size - 1 ? kit_pass_right(c->rt, g, kv) : NULL;
        if (!causal || t <= g->rank)
            add_block(c->rt, &of, kv, causal && t == 0, *dq, *dkv);
        if (g->size > 1)
            *dkv = kit_pass_right(c->rt, g, *dkv);
        kv = next;
    }
}

/* Rounds a gradient to T, and averages it over the replicas in T. */
static void finish(const struct problem_call *c, const struct rt_group *g, pkb_tensor *out, const pkb_tensor *gradient)
{
    attention_heads_last(c->rt, out, gradient);
    if (!g || g->size == 1)
        return;
    rt_all_reduce(c->rt, g, RT_SUM, out, out);
    rt_binary_scalar(c->rt, RT_DIV, out, out, g->size);
}

static void reference(const struct problem_call *c)
{
    int members = context_ranks(c->setting), place = c->world->rank % members;
    const struct rt_group *sequence = kit_stride_group(c, c->world->rank - place, 1, members);
    const struct rt_group *batch = kit_stride_group(c, place, members, replicas(c->setting));
    pkb_tensor *dq, *dkv;
    ring_backward(c, sequence, &dq, &dkv);
    finish(c, batch, &c->out[DQ], dq);
    finish(c, batch, &c->out[DK], rt_entry(c->rt, dkv, 0));
    finish(c, batch, &c->out[DV], rt_entry(c->rt, dkv, 1));
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    attention_check(s, problem_int(s, "D"), 1, check);
    check->atol = check->row_rms / 8;
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    int members = context_ranks(s), dp = replicas(s);
    double positions = (double)ring_shard(s, members), rows = problem_real(s, "B") * problem_real(s, "H") * positions;
    double elements = rows * problem_real(s, "D"), size = kit_element(s), others = members - 1;
    cost->flops = 10 * elements * positions * ring_blocks(s, s->rank % members, members) + 2 * elements;
    cost->hbm_bytes = 8 * size * elements + 4 * rows + (4 * size + 16) * elements * others;
    cost->link_bytes = (2 * size + 8) * elements * others + 6 * size * elements * (dp - 1) / dp;
}

const struct problem problem_57 = {
    .id = 57,
    .name = "57_ring_attention_backward_dp",
    .family = "context_parallel",
    .origin = "backward pass of ring-flash-attention (zhuzilin) with Megatron-LM's data-parallel averaging (rank order cp-dp)",
    .summary = "Backward pass of ring attention: keys, values and their gradients travel around rings, then all gradients are "
               "averaged over "
               "data-parallel replicas.",
    .source = "problems/context_parallel/57_ring_attention_backward_dp.c",
    .worlds = "W == 1 or W % 2 == 0",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .check = check,
    .cost = cost,
};
