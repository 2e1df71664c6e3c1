/* SPDX-License-Identifier: Apache-2.0 */
/* 17 rope_allgather: rotary position embedding of the own shard of queries and keys, then all shards on every rank.
 *
 * Parameters   B: batch. L: positions of the whole sequence; each rank has S = max(1, floor(L / W)). nh: heads. D: size of a head, even.
 * Inputs       q, k (B, S, nh, D) of T; cos, sin (B, S, D) of T, for all heads of a position. All differ on every rank.
 * Outputs      q_out, k_out (B, W*S, nh, D) of T, the same on every rank. With
 *                  rot(x)[j] = -x[j + D/2] for j < D/2, else x[j - D/2],
 *                  e(x) = (x*cos rounded to T) + (rot(x)*sin rounded to T), rounded to T,
 *              position p*S + t of an output is e of rank p's position t, for x = q and k.
 * One rank     q_out = e(q), k_out = e(k).
 * Arithmetic   three roundings to T per element; one rounding of all in f32 is right, too.
 * Check        |y - e| <= 2 u (|x*cos| + |rot(x)*sin|) + 2 u |e|, which covers both; u is the unit roundoff of T. f16 has two
 *              steps of its smallest numbers in addition.
 * Inputs       N(0,1), in both profiles. That cos and sin are no cosines and sines makes a swapped half, a wrong sign or a missing batch
 *              index visible.
 */
#include "problems/axes.h"

static const struct problem_param params[] = {
    {"B", 16, 2, true, "batch"},
    {"L", 16, 16, true, "positions over all ranks"},
    {"nh", 8, 8, true, "heads"},
    {"D", 64, 8, true, "size of a head"},
};

enum { Q, K, COS, SIN };

static int64_t positions_per_rank(const struct problem_setting *s)
{
    int64_t positions = problem_int(s, "L") / s->world;
    return positions > 1 ? positions : 1;
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (problem_int(s, "D") % 2 != 0)
        return pkb_error_set(err, "D = %lld is not even", (long long)problem_int(s, "D"));
    return 0;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t b = problem_int(s, "B"), positions = positions_per_rank(s), heads = problem_int(s, "nh"), d = problem_int(s, "D");
    kit_tensor(&t[Q], "q", s->dtype, RT_SHAPE(b, positions, heads, d));
    kit_tensor(&t[K], "k", s->dtype, RT_SHAPE(b, positions, heads, d));
    kit_tensor(&t[COS], "cos", s->dtype, RT_SHAPE(b, positions, d));
    kit_tensor(&t[SIN], "sin", s->dtype, RT_SHAPE(b, positions, d));
    return 4;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t b = problem_int(s, "B"), positions = s->world * positions_per_rank(s);
    kit_tensor(&t[Q], "q_out", s->dtype, RT_SHAPE(b, positions, problem_int(s, "nh"), problem_int(s, "D")));
    kit_tensor(&t[K], "k_out", s->dtype, RT_SHAPE(b, positions, problem_int(s, "nh"), problem_int(s, "D")));
    return 2;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    for (int i = Q; i <= SIN; i++)
        kit_fill_normal(s, set, i);
}

/* The halves of the last axis change places, the one that comes first with its sign changed. */
static pkb_tensor *rotated_half(const struct problem_call *c, const pkb_tensor *x)
{
    int64_t half = x->shape[3] / 2;
    pkb_tensor form = *x;
    form.shape[3] = half;
    pkb_tensor *first = rt_new_like(c->rt, x->dtype, &form);
    pkb_tensor *second = rt_new_like(c->rt, x->dtype, &form);
    pkb_tensor *rotated = rt_new_like(c->rt, x->dtype, x);
    rt_slice(c->rt, first, x, -1, 0);
    rt_slice(c->rt, second, x, -1, half);
    rt_unary(c->rt, RT_NEG, second, second);
    rt_concat(c->rt, rotated, 2, (const pkb_tensor *const[]){second, first}, -1);
    return rotated;
}

/* The two products of every element, x*cos and rot(x)*sin, in `dtype`. */
struct products {
    pkb_tensor *cosine, *sine;
};

static struct products multiply(const struct problem_call *c, int tensor, int dtype)
{
    const pkb_tensor *x = &c->in[tensor], *angles = &c->in[COS];
    int64_t b = angles->shape[0], positions = angles->shape[1], d = angles->shape[2];
    struct products p = {rt_new_like(c->rt, dtype, x), rt_new_like(c->rt, dtype, x)};
    rt_binary(c->rt, RT_MUL, p.cosine, x, rt_view(c->rt, &c->in[COS], RT_SHAPE(b, positions, 1, d)));
    rt_binary(c->rt, RT_MUL, p.sine, rotated_half(c, x), rt_view(c->rt, &c->in[SIN], RT_SHAPE(b, positions, 1, d)));
    return p;
}

static void reference(const struct problem_call *c)
{
    for (int i = Q; i <= K; i++) {
        struct products p = multiply(c, i, c->setting->dtype);
        rt_binary(c->rt, RT_ADD, p.cosine, p.cosine, p.sine);
        axes_all_gather(c->rt, c->world, &c->out[i], p.cosine, 1);
    }
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    double roundoff = dtype_roundoff(c->setting->dtype);
    for (int i = Q; i <= K; i++) {
        struct products p = multiply(c, i, PKB_F32);
        pkb_tensor *result = rt_new_like(c->rt, PKB_F32, &c->out[i]);
        rt_unary(c->rt, RT_ABS, p.cosine, p.cosine);
        rt_unary(c->rt, RT_ABS, p.sine, p.sine);
        rt_binary(c->rt, RT_ADD, p.cosine, p.cosine, p.sine);
        axes_all_gather(c->rt, c->world, tol[i], p.cosine, 1);
        rt_unary(c->rt, RT_ABS, result, &c->out[i]);
        rt_binary(c->rt, RT_ADD, tol[i], tol[i], result);
        rt_binary_scalar(c->rt, RT_MUL, tol[i], tol[i], 2 * roundoff);
        rt_binary_scalar(c->rt, RT_ADD, tol[i], tol[i], 2 * kit_least_step(c->setting));
    }
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)s;
    (void)output;
    *check = (struct problem_check){.kind = CHECK_BOUND};
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double positions = problem_real(s, "B") * (double)positions_per_rank(s);
    double elements = positions * problem_real(s, "nh") * problem_real(s, "D"), size = kit_element(s);
    cost->flops = 6 * elements;
    cost->hbm_bytes = 2 * size * (elements + positions * problem_real(s, "D") + s->world * elements);
    cost->link_bytes = 2 * size * (s->world - 1.0) * elements;
}

const struct problem problem_17 = {
    .id = 17,
    .name = "17_rope_allgather",
    .family = "context_parallel",
    .origin = "rotary embedding as in Llama (Hugging Face's rotate_half) on shards of the sequence",
    .summary = "Apply rotary position embedding to the own shard of queries and keys, and gather both along the sequence.",
    .source = "problems/context_parallel/17_rope_allgather.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .bound = bound,
    .check = check,
    .cost = cost,
};
