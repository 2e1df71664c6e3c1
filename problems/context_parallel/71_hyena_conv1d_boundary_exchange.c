/* SPDX-License-Identifier: Apache-2.0 */
/* 71 hyena_conv1d_boundary_exchange: a short causal convolution per channel over a sequence in zigzag order; neighbours exchange what
 * precedes their chunks.
 *
 * Parameters   B: batch. C: channels. L: length of a chunk; a rank has two. k: taps, 2 <= k <= L + 1; h = k - 1.
 * Zigzag       positions 0 to L - 1 of a rank (chunk a) are chunk r of the whole sequence, the others (chunk b) chunk 2W - 1 - r.
 * Inputs       x (B, C, 2*L) of T; weight (C, 1, k) of T. Both differ on every rank, weights too: a rank applies its own ones to what
 *              it receives.
 * Output       y (B, C, 2*L) of T, in the order of x. For either chunk, with xp = the h positions before it and the chunk,
 *                  y[b, c, t] = sum over j < k of weight[c, 0, j] * xp[b, c, t + j].
 *              Before chunk a come the last h positions of rank r - 1's chunk a, zeros if r = 0; before chunk b the last h positions of
 *              rank r + 1's chunk b, or of the own chunk a if r = W - 1.
 * One rank     the convolution of 2*L positions.
 * Arithmetic   sums in f32 (f64 for f64) in any order, rounded once to T.
 * Check        |y - yr| <= 2 u |yr| + 2 k e * (the sum of |weight| |xp|), per element, as few positions depend on communication; u
 *              is the unit roundoff of T, e that of the accumulation.
 * Inputs       N(0,1), in both profiles.
 */
#include "problems/kit.h"

static const struct problem_param params[] = {
    {"B", 1, 2, true, "batch"},
    {"C", 1024, 8, true, "channels"},
    {"L", 1024, 16, true, "length of a chunk; a rank has two"},
    {"k", 7, 7, true, "taps"},
};

enum { X, WEIGHT };

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    int64_t taps = problem_int(s, "k"), length = problem_int(s, "L");
    if (kit_require_least(s, "k", 2, err) < 0)
        return -1;
    if (taps - 1 > length)
        return pkb_error_set(err, "k = %lld needs more than the L = %lld positions of a chunk", (long long)taps,
                             (long long)length);
    return 0;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t channels = problem_int(s, "C");
    kit_tensor(&t[X], "x", s->dtype, RT_SHAPE(problem_int(s, "B"), channels, 2 * problem_int(s, "L")));
    kit_tensor(&t[WEIGHT], "weight", s->dtype, RT_SHAPE(channels, 1, problem_int(s, "k")));
    return 2;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "y", s->dtype, RT_SHAPE(problem_int(s, "B"), problem_int(s, "C"), 2 * problem_int(s, "L")));
    return 1;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    kit_fill_normal(s, set, X);
    kit_fill_normal(s, set, WEIGHT);
}

/* A range of positions of x, (B, C, n). */
static pkb_tensor *positions(const struct problem_call *c, int64_t first, int64_t n)
{
    const pkb_tensor *x = &c->in[X];
    pkb_tensor *range = rt_new(c->rt, x->dtype, RT_SHAPE(x->shape[0], x->shape[1], n));
    rt_slice(c->rt, range, x, 2, first);
    return range;
}

/* What comes before the chunks, (B, C, h). */
struct contexts {
    pkb_tensor *a, *b;
};

static struct contexts exchange_tails(const struct problem_call *c, int64_t length, int64_t h)
{
    const struct rt_group *g = c->world;
    pkb_tensor *tail_a = positions(c, length - h, h), *tail_b = positions(c, 2 * length - h, h);
    struct contexts before = {.a = rt_new_like(c->rt, c->setting->dtype, tail_a), .b = tail_a};
    rt_fill(c->rt, before.a, 0);
    rt_p2p_begin(c->rt);
    if (g->rank > 0) {
        rt_send(c->rt, g, tail_b, g->rank - 1);
        rt_recv(c->rt, g, before.a, g->rank - 1);
    }
    if (g->rank < g->size - 1) {
        before.b = rt_new_like(c->rt, c->setting->dtype, tail_b);
        rt_send(c->rt, g, tail_a, g->rank + 1);
        rt_recv(c->rt, g, before.b, g->rank + 1);
    }
    rt_p2p_end(c->rt);
    return before;
}

/* Both chunks of all entries of the batch with what comes before them, (2 * B, C, h + L): chunks a, then chunks b. */
static pkb_tensor *extended_chunks(const struct problem_call *c)
{
    const pkb_tensor *x = &c->in[X];
    int64_t b = x->shape[0], channels = x->shape[1], length = x->shape[2] / 2, h = c->in[WEIGHT].shape[2] - 1;
    struct contexts before = exchange_tails(c, length, h);
    pkb_tensor *extended = rt_new(c->rt, x->dtype, RT_SHAPE(2 * b, channels, h + length));
    pkb_tensor *a_parts[] = {before.a, positions(c, 0, length)}, *b_parts[] = {before.b, positions(c, length, length)};
    rt_concat(c->rt, rt_rows(c->rt, extended, 0, b), 2, (const pkb_tensor *const *)a_parts, 2);
    rt_concat(c->rt, rt_rows(c->rt, extended, b, b), 2, (const pkb_tensor *const *)b_parts, 2);
    return extended;
}

/* y in the order of x, in y's dtype. Per channel, a product of its taps with the k shifted copies of its positions. */
static void convolve(const struct problem_call *c, pkb_tensor *y, const pkb_tensor *extended, const pkb_tensor *weight)
{
    int64_t b = c->in[X].shape[0], channels = c->in[X].shape[1], length = c->in[X].shape[2] / 2, k = c->in[WEIGHT].shape[2];
    const struct rt_window window = {.kernel = {k}, .stride = {1}, .dilation = {1}};
    pkb_tensor *columns = rt_new(c->rt, c->setting->dtype, RT_SHAPE(2 * b, channels * k, length));
    pkb_tensor *by_channel = rt_new(c->rt, c->setting->dtype, RT_SHAPE(channels, k, 2 * b, length));
    pkb_tensor *sums = rt_new(c->rt, y->dtype, RT_SHAPE(channels, 1, 2 * b * length));
    rt_im2col(c->rt, columns, extended, &window);
    rt_permute(c->rt, by_channel, rt_view(c->rt, columns, RT_SHAPE(2 * b, channels, k, length)), (const int[]){1, 2, 0, 3});
    rt_matmul(c->rt, sums, weight, false, rt_view(c->rt, by_channel, RT_SHAPE(channels, k, 2 * b * length)), false);
    rt_permute(c->rt, rt_view(c->rt, y, RT_SHAPE(b, channels, 2, length)), rt_view(c->rt, sums, RT_SHAPE(channels, 2, b, length)),
               (const int[]){2, 0, 1, 3});
}

static void reference(const struct problem_call *c)
{
    convolve(c, &c->out[0], extended_chunks(c), &c->in[WEIGHT]);
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    const struct problem_setting *s = c->setting;
    pkb_tensor *extended = extended_chunks(c), *result = rt_new_like(c->rt, PKB_F32, &c->out[0]);
    pkb_tensor *weight = rt_new_like(c->rt, s->dtype, &c->in[WEIGHT]);
    rt_unary(c->rt, RT_ABS, extended, extended);
    rt_unary(c->rt, RT_ABS, weight, &c->in[WEIGHT]);
    convolve(c, tol[0], extended, weight);
    rt_binary_scalar(c->rt, RT_MUL, tol[0], tol[0], 2 * problem_real(s, "k") * kit_accumulate_roundoff(s));
    rt_unary(c->rt, RT_ABS, result, &c->out[0]);
    rt_binary_scalar(c->rt, RT_MUL, result, result, 2 * dtype_roundoff(s->dtype));
    rt_binary(c->rt, RT_ADD, tol[0], tol[0], result);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)s;
    (void)output;
    *check = (struct problem_check){.kind = CHECK_BOUND};
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double rows = problem_real(s, "B") * problem_real(s, "C"), length = problem_real(s, "L"), taps = problem_real(s, "k");
    double neighbours = (s->rank > 0) + (s->rank < s->world - 1);
    cost->flops = 4 * rows * length * taps;
    cost->hbm_bytes = (4 * rows * length + problem_real(s, "C") * taps) * kit_element(s);
    cost->link_bytes = rows * (taps - 1) * kit_element(s) * neighbours;
}

const struct problem problem_71 = {
    .id = 71,
    .name = "71_hyena_conv1d_boundary_exchange",
    .family = "context_parallel",
    .origin = "Hyena, StripedHyena, Evo 2 (NVIDIA NeMo, BioNeMo, Savanna): short convolution under zigzag context parallelism",
    .summary = "Causal convolution per channel over a sequence in zigzag order, with an exchange of the positions that precede "
               "each of a "
               "rank's two chunks.",
    .source = "problems/context_parallel/71_hyena_conv1d_boundary_exchange.c",
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
