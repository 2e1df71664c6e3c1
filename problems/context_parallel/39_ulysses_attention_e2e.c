/* SPDX-License-Identifier: Apache-2.0 */
/* 39 ulysses_attention_e2e: projection of shards of the sequence, exchange to shards of the heads, attention, exchange back, projection.
 *
 * Parameters   B: batch. S: positions of the whole sequence; each rank has Sl = max(1, floor(S / W)), and W*Sl are there. nh: heads, a
 *              multiple of W; nl = nh / W. hd: size of a head; H = nh * hd. causal: 1: what comes later is not seen. variant: 0: attention
 *              over the heads of a position, as published; 1: over positions, as intended.
 * Inputs       x (B, Sl, H), w_qkv (3*H, H), w_o (H, H) of T. All differ on every rank, weights too: a rank's are applied to its own
 *              positions.
 * Output       out (B, Sl, H) of T, different on every rank:
 *              1. p = x w_qkv^T, in a row H numbers of q, then of k, then of v.
 *              2. q' (B, W*Sl, nl, hd): heads r*nl to (r+1)*nl - 1 of all positions, from all ranks (problem 36). k' and v' likewise, in
 *                 one exchange in which each head's k and v lie side by side.
 *              3. Attention over the nl heads h of every position (causal: over those up to the query's own):
 *                     A = <q'[h1], k'[h2]>, then A * hd^-1/2;   P = softmax of A over h2;   o[h1] = sum over h2 of P * v'[h2].
 *                 With variant 1 it is instead over the W*Sl positions g of every head, g in the place of h.
 *              4. o' (B, Sl, nh, hd): the own positions of all heads (problem 37);   out = o' w_o^T.
 * One rank     the exchanges are copies.
 * Arithmetic   p, both stages of A, P, o and out are rounded to T; sums in f32 (f64 for f64). Keeping A and P in f32 is right, too.
 * Check        rows of H elements: largest error 0.06, root mean square 0.02 times the row's (bf16), 1e-4 (f32), in proportion to
 *              the unit roundoff for f16 (from bf16) and f64 (from f32). The norm of the whole: half of the latter. (Single rows
 *              computed in f64 are up to 0.0104 off.)
 * Inputs       x N(0,1), weights N(0,1) / sqrt(H); the pkb profile has weights N(0,1), with which the softmax picks a maximum that
 *              roundings move.
 * Variant 0    As every position stays for itself there, no communication is needed: the
 *              heads of a rank's own positions attend to each other in W blocks of nl. That is its ideal cost here.
 */
#include <math.h>

#include "problems/axes.h"
#include "problems/context_parallel/attention.h"

static const struct problem_param params[] = {
    {"B", 16, 2, true, "batch"},
    {"S", 16, 16, true, "positions over all ranks"},
    {"nh", 8, 8, true, "heads"},
    {"hd", 64, 8, true, "size of a head"},
    {"causal", 0, 0, true, "1: what comes later is not seen"},
    {"variant", 0, 0, true, "0: attention over the heads of a position, as published; 1: over positions, as intended"},
};

enum { X, W_QKV, W_O };

static int64_t positions_per_rank(const struct problem_setting *s)
{
    int64_t positions = problem_int(s, "S") / s->world;
    return positions > 1 ? positions : 1;
}

static int64_t width(const struct problem_setting *s)
{
    return problem_int(s, "nh") * problem_int(s, "hd");
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    int64_t variant = problem_int(s, "variant");
    if (variant > 1)
        return pkb_error_set(err, "variant = %lld is neither 0 nor 1", (long long)variant);
    return kit_require_divisible(s, "nh", err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t h = width(s);
    kit_tensor(&t[X], "x", s->dtype, RT_SHAPE(problem_int(s, "B"), positions_per_rank(s), h));
    kit_tensor(&t[W_QKV], "w_qkv", s->dtype, RT_SHAPE(3 * h, h));
    kit_tensor(&t[W_O], "w_o", s->dtype, RT_SHAPE(h, h));
    return 3;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "out", s->dtype, RT_SHAPE(problem_int(s, "B"), positions_per_rank(s), width(s)));
    return 1;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    double scale = s->inputs == PROFILE_PKB ? 1 : 1 / sqrt((double)width(s));
    kit_fill_normal(s, set, X);
    kit_fill_scaled_normal(s, set, W_QKV, scale);
    kit_fill_scaled_normal(s, set, W_O, scale);
}

/* Sizes of a call. */
struct sizes {
    int64_t b, local, all, heads, local_heads, d; /* B, Sl, W*Sl, nh, nl, hd */
};

static struct sizes sizes_of(const struct problem_call *c)
{
    struct sizes n = {.b = problem_call_int(c, "B"), .heads = problem_call_int(c, "nh"), .d = problem_call_int(c, "hd")};
    n.local = positions_per_rank(c->setting);
    n.all = n.local * c->world->size;
    n.local_heads = n.heads / c->world->size;
    return n;
}

/* q', k' and v', (B, W*Sl, nl, hd) each. */
struct heads {
    pkb_tensor *q, *k, *v;
};

/* Every second head of (B, W*Sl, nl, 2, hd). */
static pkb_tensor *separate(const struct problem_call *c, const struct sizes *n, const pkb_tensor *pairs, int which)
{
    pkb_tensor *part = rt_new(c->rt, c->setting->dtype, RT_SHAPE(n->b, n->all, n->local_heads, 1, n->d));
    rt_slice(c->rt, part, pairs, 3, which);
    return rt_view(c->rt, part, RT_SHAPE(n->b, n->all, n->local_heads, n->d));
}

/* Projects the own positions and exchanges them: q, then k and v side by side. */
static struct heads to_heads(const struct problem_call *c, const struct sizes *n)
{
    int64_t rows = n->b * n->local, h = n->heads * n->d;
    int dtype = c->setting->dtype;
    pkb_tensor *p = rt_new(c->rt, dtype, RT_SHAPE(rows, 3 * h));
    pkb_tensor *q = rt_new(c->rt, dtype, RT_SHAPE(rows, 1, n->heads, n->d));
    pkb_tensor *kv = rt_new(c->rt, dtype, RT_SHAPE(rows, 2, n->heads, n->d));
    pkb_tensor *pairs = rt_new(c->rt, dtype, RT_SHAPE(rows, n->heads, 2, n->d));
    rt_matmul(c->rt, p, rt_view(c->rt, &c->in[X], RT_SHAPE(rows, h)), false, &c->in[W_QKV], true);
    const pkb_tensor *parts = rt_view(c->rt, p, RT_SHAPE(rows, 3, n->heads, n->d));
    rt_slice(c->rt, q, parts, 1, 0);
    rt_slice(c->rt, kv, parts, 1, 1);
    rt_permute(c->rt, pairs, kv, (const int[]){0, 2, 1, 3});
    q = axes_exchanged(c->rt, c->world, rt_view(c->rt, q, RT_SHAPE(n->b, n->local, n->heads, n->d)), 2, 1);
    pairs = axes_exchanged(c->rt, c->world, rt_view(c->rt, pairs, RT_SHAPE(n->b, n->local, 2 * n->heads, n->d)), 2, 1);
    pairs = rt_view(c->rt, pairs, RT_SHAPE(n->b, n->all, n->local_heads, 2, n->d));
    return (struct heads){q, separate(c, n, pairs, 0), separate(c, n, pairs, 1)};
}

/* o = softmax(q k^T hd^-1/2) v over the next to last axis, every step rounded to T. */
static pkb_tensor *attend(const struct problem_call *c, const struct heads *of)
{
    if (rt_status(c->rt, NULL) < 0)
        return NULL;
    int64_t n = of->q->shape[2], d = of->q->shape[3];
    pkb_tensor *scores = rt_new(c->rt, c->setting->dtype, RT_SHAPE(of->q->shape[0], of->q->shape[1], n, n));
    pkb_tensor *o = rt_new_like(c->rt, c->setting->dtype, of->q);
    rt_matmul(c->rt, scores, of->q, false, of->k, true);
    rt_binary_scalar(c->rt, RT_MUL, scores, scores, 1 / sqrt((double)d));
    if (problem_call_int(c, "causal"))
        attention_hide_later_keys(c->rt, scores);
    rt_softmax(c->rt, scores, scores);
    rt_matmul(c->rt, o, scores, false, of->v, false);
    return o;
}

/* Swaps positions and heads. */
static pkb_tensor *swapped(const struct problem_call *c, const pkb_tensor *t)
{
    if (rt_status(c->rt, NULL) < 0)
        return NULL;
    pkb_tensor *other = rt_new(c->rt, t->dtype, RT_SHAPE(t->shape[0], t->shape[2], t->shape[1], t->shape[3]));
    rt_permute(c->rt, other, t, (const int[]){0, 2, 1, 3});
    return other;
}

static pkb_tensor *attend_over_positions(const struct problem_call *c, const struct heads *of)
{
    struct heads first = {swapped(c, of->q), swapped(c, of->k), swapped(c, of->v)};
    return swapped(c, attend(c, &first));
}

static void reference(const struct problem_call *c)
{
    struct sizes n = sizes_of(c);
    struct heads of = to_heads(c, &n);
    pkb_tensor *o = problem_call_int(c, "variant") ? attend_over_positions(c, &of) : attend(c, &of);
    pkb_tensor *mixed = axes_exchanged(c->rt, c->world, o, 1, 2);
    int64_t rows = n.b * n.local, h = n.heads * n.d;
    rt_matmul(c->rt, rt_view(c->rt, &c->out[0], RT_SHAPE(rows, h)), rt_view(c->rt, mixed, RT_SHAPE(rows, h)), false, &c->in[W_O],
              true);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    attention_check_limits(s, width(s), 0.06, 0.02, check);
    check->frobenius = check->row_rms / 2;
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    bool over_positions = problem_int(s, "variant");
    double positions = (double)positions_per_rank(s), h = (double)width(s), all = positions * s->world;
    double rows = problem_real(s, "B") * positions, local_heads = problem_real(s, "nh") / s->world;
    cost->flops = 8 * rows * h * h + 4 * rows * h * (over_positions ? all : local_heads);
    cost->hbm_bytes = (2 * rows * h + 4 * h * h) * kit_element(s);
    cost->link_bytes = over_positions ? 4 * rows * h * kit_element(s) * (s->world - 1.0) / s->world : 0;
}

const struct problem problem_39 = {
    .id = 39,
    .name = "39_ulysses_attention_e2e",
    .family = "context_parallel",
    .origin = "DeepSpeed-Ulysses and the sequence-parallel attention layer of VeOmni (ByteDance Seed)",
    .summary =
        "Attention layer on shards of the sequence: projection, all-to-all to shards of the heads, softmax attention, all-to-all "
        "back, output projection.",
    .source = "problems/context_parallel/39_ulysses_attention_e2e.c",
    .worlds = "nh % W == 0",
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
