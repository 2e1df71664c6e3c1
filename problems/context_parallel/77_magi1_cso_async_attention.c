/* SPDX-License-Identifier: Apache-2.0 */
/* 77 magi1_cso_async_attention: attention of ranges of tokens to ranges of keys; queries go from shards of tokens to shards of heads range by
 * range, so that exchanges and attention may overlap.
 *
 * Parameters   cp_shuffle_num (R): ranges. clip_token_nums (Ct): tokens of a range; 0: 12150 for up to 4 ranks, else 21600. Hq0, Hkv0: query
 *              and key-value heads, before they are fitted to the ranks; Hq0 = 0: 24 for up to 4 ranks, else 48. D: size of a head.
 * Sizes        spb = ceil(Ct / W) tokens of a range on one rank, N = R * spb. Hq = Hq0 if a multiple of W, else W * max(1, floor(Hq0 / W)).
 *              Hkv = Hkv0 if one of Hkv0 and W is a multiple of the other, else W. E = max(Hkv, W); lq = Hq / W, lk = E / W.
 * Inputs       query (N, Hq, D), key_value (N, Hkv, 2*D) of T, first the key, then the value; different on every rank.
 *              k_ranges (R, 2) of i64, the same on every rank: the keys start <= x < end that range i attends to.
 *              Token i*spb + s of rank r is position r*spb + s of range i; positions from Ct on are padding.
 * Output       out (N, Hq, D) of T, different on every rank:
 *              1. If Hkv < W every key-value head is repeated W / Hkv times: E heads.
 *              2. Heads r*lk to (r+1)*lk - 1 of all keys and values, from all ranks; without the padding, range after range, they are keys
 *                 x = i*Ct + position.
 *              3. Per range i, heads r*lq to (r+1)*lq - 1 of the queries of all positions, padding too; each attends to the keys of
 *                 k_ranges[i] of key-value head floor(h / (lq / lk)):  O = softmax(<q, k> / sqrt(D)) v, rounded to T; no mask.
 *              4. O goes back to the ranks of its positions. Padding has a result like any other query.
 * One rank     the exchanges are copies.
 * Arithmetic   f32 (f64 for f64) up to O; probabilities rounded to T are right, too.
 * Check        rows of D elements: largest error 0.04, root mean square 0.01 times the row's (bf16), 1e-4 (f32), in proportion to the
 *              unit roundoff for f16 and f64.
 * Inputs       query 3 * N(0,1), so that the softmax has peaks, key_value N(0,1), padding too; range i attends to itself, and in every
 *              second case, drawn per set and range, to the range before it as well. In the pkb profile query is N(0,1) and every range
 *              attends to itself alone.
 * Ideal cost   in expectation over k_ranges.
 */
#include <math.h>

#include "problems/axes.h"
#include "problems/context_parallel/attention.h"

static const struct problem_param params[] = {
    {"cp_shuffle_num", 4, 4, true, "ranges of tokens"},
    {"clip_token_nums", 0, 13, true, "tokens of a range; 0: 12150 for up to 4 ranks, else 21600"},
    {"Hq0", 0, 16, true, "query heads; 0: 24 for up to 4 ranks, else 48"},
    {"Hkv0", 8, 8, true, "key-value heads"},
    {"D", 128, 16, true, "size of a head"},
};

enum { QUERY, KEY_VALUE, K_RANGES };

/* The sizes of the head comment. */
struct sizes {
    int64_t ranges, clip, per_rank, tokens;  /* R, Ct, spb, N */
    int64_t query_heads, kv_heads, expanded; /* Hq, Hkv, E */
    int64_t local_queries, local_kv, d;      /* lq, lk, D */
};

static int64_t fitted_query_heads(const struct problem_setting *s)
{
    int64_t heads = problem_int(s, "Hq0");
    if (heads == 0)
        heads = s->world > 4 ? 48 : 24;
    if (heads % s->world == 0)
        return heads;
    return heads > s->world ? heads / s->world * s->world : s->world;
}

static int64_t fitted_kv_heads(const struct problem_setting *s)
{
    int64_t heads = problem_int(s, "Hkv0");
    bool fits = heads > 0 && (heads % s->world == 0 || s->world % heads == 0);
    return fits ? heads : s->world;
}

static struct sizes sizes_of(const struct problem_setting *s)
{
    struct sizes n = {.ranges = problem_int(s, "cp_shuffle_num"), .clip = problem_int(s, "clip_token_nums")};
    if (n.clip == 0)
        n.clip = s->world > 4 ? 21600 : 12150;
    n.per_rank = kit_divide_up(n.clip, s->world);
    n.tokens = n.ranges * n.per_rank;
    n.query_heads = fitted_query_heads(s);
    n.kv_heads = fitted_kv_heads(s);
    n.expanded = n.kv_heads > s->world ? n.kv_heads : s->world;
    n.local_queries = n.query_heads / s->world;
    n.local_kv = n.expanded / s->world;
    n.d = problem_int(s, "D");
    return n;
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    struct sizes n = sizes_of(s);
    if (n.local_queries % n.local_kv != 0)
        return pkb_error_set(err, "a rank's %lld query heads are not divisible by its %lld key-value heads",
                             (long long)n.local_queries, (long long)n.local_kv);
    return 0;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    struct sizes n = sizes_of(s);
    kit_tensor(&t[QUERY], "query", s->dtype, RT_SHAPE(n.tokens, n.query_heads, n.d));
    kit_tensor(&t[KEY_VALUE], "key_value", s->dtype, RT_SHAPE(n.tokens, n.kv_heads, 2 * n.d));
    kit_tensor(&t[K_RANGES], "k_ranges", PKB_I64, RT_SHAPE(n.ranges, 2));
    kit_host(&t[K_RANGES]);
    return 3;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    struct sizes n = sizes_of(s);
    kit_tensor(&t[0], "out", s->dtype, RT_SHAPE(n.tokens, n.query_heads, n.d));
    return 1;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

struct key_ranges {
    struct rng rng;
    int64_t clip;
    bool draw;
};

/* Start or end of range i / 2. */
static double range_value(const void *arg, size_t i)
{
    const struct key_ranges *k = arg;
    int64_t range = (int64_t)(i / 2);
    if (i % 2 == 1)
        return (double)((range + 1) * k->clip);
    bool longer = k->draw && range > 0 && rng_integer(&k->rng, i, 0, 2) == 1;
    return (double)((longer ? range - 1 : range) * k->clip);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    bool hardened = s->inputs == PROFILE_HARDENED;
    struct key_ranges ranges = {problem_rng_shared(s, set, K_RANGES), sizes_of(s).clip, hardened};
    kit_fill_scaled_normal(s, set, QUERY, hardened ? 3 : 1);
    kit_fill_normal(s, set, KEY_VALUE);
    kit_fill_with(&set->in[K_RANGES], range_value, &ranges);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* Every key-value head W / Hkv times: head e is head floor(e / (W / Hkv)). */
static const pkb_tensor *expanded(const struct problem_call *c, const struct sizes *n)
{
    const pkb_tensor *kv = &c->in[KEY_VALUE];
    if (n->expanded == n->kv_heads)
        return kv;
    pkb_tensor *index = rt_new(c->rt, PKB_I64, RT_SHAPE(n->expanded));
    pkb_tensor *all = rt_new(c->rt, kv->dtype, RT_SHAPE(n->tokens, n->expanded, 2 * n->d));
    rt_iota(c->rt, index, 0, 1);
    rt_binary_scalar(c->rt, RT_FLOORDIV, index, index, (double)(n->expanded / n->kv_heads));
    rt_take(c->rt, all, kv, index, 1);
    return all;
}

/* Keys or values (lk, R * Ct, D) of the own heads. */
struct keys {
    pkb_tensor *key, *value; /* of T; of the accumulation's type */
};

/* Tokens (R * Ct, lk, 2D) of all ranks, without padding. */
static pkb_tensor *gather_tokens(const struct problem_call *c, const struct sizes *n)
{
    int64_t world = c->world->size, row = n->local_kv * 2 * n->d;
    int dtype = c->setting->dtype;
    pkb_tensor *by_rank = axes_exchanged(c->rt, c->world, expanded(c, n), 1, 0);
    pkb_tensor *by_range = rt_new(c->rt, dtype, RT_SHAPE(n->ranges, world, n->per_rank, row));
    pkb_tensor *kept = rt_new(c->rt, dtype, RT_SHAPE(n->ranges, n->clip, row));
    rt_permute(c->rt, by_range, rt_view(c->rt, by_rank, RT_SHAPE(world, n->ranges, n->per_rank, row)), (const int[]){1, 0, 2, 3});
    rt_slice(c->rt, kept, rt_view(c->rt, by_range, RT_SHAPE(n->ranges, world * n->per_rank, row)), 1, 0);
    return rt_view(c->rt, kept, RT_SHAPE(n->ranges * n->clip, n->local_kv, 2 * n->d));
}

static struct keys to_heads(const struct problem_call *c, const struct sizes *n)
{
    int64_t tokens = n->ranges * n->clip;
    int dtype = c->setting->dtype;
    pkb_tensor *by_head = rt_new(c->rt, dtype, RT_SHAPE(n->local_kv, tokens, 2 * n->d));
    pkb_tensor *value = rt_new(c->rt, dtype, RT_SHAPE(n->local_kv, tokens, n->d));
    struct keys of = {.key = rt_new_like(c->rt, dtype, value),
                      .value = rt_new_like(c->rt, kit_accumulate_dtype(c->setting), value)};
    rt_permute(c->rt, by_head, gather_tokens(c, n), (const int[]){1, 0, 2});
    rt_slice(c->rt, of.key, by_head, 2, 0);
    rt_slice(c->rt, value, by_head, 2, n->d);
    rt_copy(c->rt, of.value, value);
    return of;
}

/* o = softmax(q k^T / sqrt(D)) v for the queries of one head (rows, D); no keys give 0. */
static void attend(const struct problem_call *c, pkb_tensor *o, const pkb_tensor *q, const pkb_tensor *k, const pkb_tensor *v,
                   pkb_tensor *scores)
{
    if (!scores) {
        rt_fill(c->rt, o, 0);
        return;
    }
    rt_matmul(c->rt, scores, q, false, k, true);
    rt_binary_scalar(c->rt, RT_MUL, scores, scores, 1 / sqrt((double)c->in[QUERY].shape[2]));
    rt_softmax(c->rt, scores, scores);
    rt_matmul(c->rt, o, scores, false, v, false);
}

/* Attention of all positions of a range, (lq, W * spb, D), to keys start <= x < end. Head after head, as the scores of one alone are large. */
static pkb_tensor *attend_range(const struct problem_call *c, const struct sizes *n, const pkb_tensor *q, const struct keys *of,
                                int64_t start, int64_t end)
{
    int64_t rows = c->world->size * n->per_rank, count = end - start, group = n->local_queries / n->local_kv;
    pkb_tensor *o = rt_new_like(c->rt, c->setting->dtype, q);
    pkb_tensor *scores = count > 0 ? rt_new(c->rt, kit_accumulate_dtype(c->setting), RT_SHAPE(rows, count)) : NULL;
    for (int64_t h = 0; h < n->local_queries; h++) {
        pkb_tensor *key = rt_rows(c->rt, rt_entry(c->rt, of->key, h / group), start, count > 0 ? count : 0);
        pkb_tensor *value = rt_rows(c->rt, rt_entry(c->rt, of->value, h / group), start, count > 0 ? count : 0);
        attend(c, rt_entry(c->rt, o, h), rt_entry(c->rt, q, h), key, value, scores);
    }
    return o;
}

/* Swaps the two leading axes. */
static pkb_tensor *swapped(const struct problem_call *c, const pkb_tensor *t)
{
    if (rt_status(c->rt, NULL) < 0)
        return NULL;
    pkb_tensor *other = rt_new(c->rt, t->dtype, RT_SHAPE(t->shape[1], t->shape[0], t->shape[2]));
    rt_permute(c->rt, other, t, (const int[]){1, 0, 2});
    return other;
}

static void reference(const struct problem_call *c)
{
    struct sizes n = sizes_of(c->setting);
    struct keys of = to_heads(c, &n);
    const int64_t *k_ranges = c->in[K_RANGES].data;
    for (int64_t i = 0; i < n.ranges; i++) {
        pkb_tensor *query = rt_rows(c->rt, &c->in[QUERY], i * n.per_rank, n.per_rank);
        pkb_tensor *q = swapped(c, axes_exchanged(c->rt, c->world, query, 1, 0));
        pkb_tensor *o = swapped(c, attend_range(c, &n, q, &of, k_ranges[2 * i], k_ranges[2 * i + 1]));
        axes_exchange(c->rt, c->world, rt_rows(c->rt, &c->out[0], i * n.per_rank, n.per_rank), o, 0, 1);
    }
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    attention_check_limits(s, problem_int(s, "D"), 0.04, 0.01, check);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    struct sizes n = sizes_of(s);
    double size = kit_element(s), row = (double)(n.tokens * n.d), others = s->world - 1;
    double q = (double)n.query_heads, kv = (double)n.kv_heads, e = (double)n.expanded;
    double earlier = s->inputs == PROFILE_HARDENED ? (double)(n.ranges - 1) / 2 : 0;
    double keys = ((double)n.ranges + earlier) * (double)n.clip;
    cost->flops = 4 * (double)(n.d * n.local_queries * n.per_rank) * s->world * keys;
    cost->hbm_bytes = size * row * (2 * q + 2 * kv) + 4 * size * row * e;
    cost->link_bytes = others * size * row * fmin((2 * q + 2 * e) / s->world, 2 * kv);
}

const struct problem problem_77 = {
    .id = 77,
    .name = "77_magi1_cso_async_attention",
    .family = "context_parallel",
    .origin = "context-shuffle-overlap attention of MAGI-1's inference (Sand AI)",
    .summary = "Attention of ranges of tokens to ranges of keys with grouped heads: all-to-all from tokens to heads range by "
               "range, attention, "
               "all-to-all back, all of which may overlap.",
    .source = "problems/context_parallel/77_magi1_cso_async_attention.c",
    .worlds = "a rank's query heads divide over its key-value heads",
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
