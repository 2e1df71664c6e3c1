/* SPDX-License-Identifier: Apache-2.0 */
/* 72 hyena_forward_cp: a long convolution per channel between two gates, on a sequence that is split over the ranks in zigzag order.
 *
 * Parameters   B: batch. G: groups of channels with one filter each, a multiple of W. gd: channels of a group; C = G * gd, Cl = C / W. S:
 *              positions on one rank, even; L = W * S. FL: length of a filter.
 * Zigzag       positions 0 to S/2 - 1 of a rank are chunk r of the whole sequence, the others chunk 2W - 1 - r.
 * Inputs       x1, x2, v (B, C, S) of T, different on every rank; h (G, FL) and bias (C) of T, the same on every rank.
 * Output       out (B, S, C) of T, channels last, positions in the order of the inputs, different on every rank.
 *              1. Channels r*Cl to (r+1)*Cl - 1 of x1, x2 and v at all positions, in natural order: one exchange each.
 *              2. z = x2 * v, rounded to T.
 *              3. cv[t] = sum over s < L of z[s] * kk[(t - s) mod 2L], with kk the row of h of the channel's group, with zeros behind it or
 *                 cut to length 2L. Where FL > L + 1 (as for one rank) what comes later contributes, too.
 *              4. y = cv + z * bias, rounded to T.   5. o = x1 * y, rounded to T.   6. Back to all channels of the own positions.
 * One rank     the exchanges are copies, the order is natural.
 * Arithmetic   steps 3 and 4 are f32 for every T, by discrete Fourier transforms of length 2L or otherwise.
 * Check        per element |x1| * tol + 2 u |o|, with
 *                  tol = 3 u (|y| + |z * bias| + the square root of sum over s of (z[s] * kk[t - s])^2) + 2^-18 ||z|| ||kk||:
 *              roundings of z (or none) and of y, and transforms, whose error goes with the norms of a channel. u is the unit roundoff of
 *              T, at least that of f32.
 * Inputs       x1, x2, v, bias N(0,1), h = N(0,1) * exp(-4 t / FL) / sqrt(S): everything is of order 1. In the pkb profile h[g, t] is
 *              g*FL + t in bf16, divided by FL, and bias[c] is c in bf16, divided by C.
 * Ideal cost   gates commute with the exchange: z and the convolution are exchanged, not x1, x2 and v.
 */
#include <math.h>

#include "problems/axes.h"

static const struct problem_param params[] = {
    {"B", 1, 2, true, "batch"},
    {"G", 1024, 8, true, "groups of channels with a filter each"},
    {"gd", 1, 1, true, "channels of a group"},
    {"S", 2048, 16, true, "positions per rank, in two chunks"},
    {"FL", 4096, 32, true, "length of a filter"},
};

enum { X1, X2, V, FILTERS, BIAS };

/* 2^-18: about ten times what transforms in f32 lose, relative to the norms. */
static const double transform_error = 1.0 / 262144;

static int64_t channels(const struct problem_setting *s)
{
    return problem_int(s, "G") * problem_int(s, "gd");
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (problem_int(s, "S") % 2 != 0)
        return pkb_error_set(err, "S = %lld is not even", (long long)problem_int(s, "S"));
    if (kit_require_least(s, "FL", 1, err) < 0)
        return -1;
    return kit_require_divisible(s, "G", err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    static const char *const names[] = {"x1", "x2", "v"};
    for (int i = X1; i <= V; i++)
        kit_tensor(&t[i], names[i], s->dtype, RT_SHAPE(problem_int(s, "B"), channels(s), problem_int(s, "S")));
    kit_tensor(&t[FILTERS], "h", s->dtype, RT_SHAPE(problem_int(s, "G"), problem_int(s, "FL")));
    kit_tensor(&t[BIAS], "bias", s->dtype, RT_SHAPE(channels(s)));
    return 5;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "out", s->dtype, RT_SHAPE(problem_int(s, "B"), problem_int(s, "S"), channels(s)));
    return 1;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

struct filters {
    struct rng rng;
    size_t length;
    double scale;
};

static double decaying_value(const void *arg, size_t i)
{
    const struct filters *f = arg;
    return rng_normal(&f->rng, i) * exp(-4 * (double)(i % f->length) / (double)f->length) * f->scale;
}

static double normal_value(const void *arg, size_t i)
{
    return rng_normal(arg, i);
}

/* The published one: the position in the tensor, in bf16, over a length. */
static double position_value(const void *arg, size_t i)
{
    return kit_rounded(PKB_BF16, (double)i) / *(const double *)arg;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    double length = problem_real(s, "FL"), n_channels = (double)channels(s);
    for (int i = X1; i <= V; i++)
        kit_fill_normal(s, set, i);
    if (s->inputs == PROFILE_PKB) {
        kit_fill_with(&set->in[FILTERS], position_value, &length);
        kit_fill_with(&set->in[BIAS], position_value, &n_channels);
        return;
    }
    struct filters f = {problem_rng_shared(s, set, FILTERS), (size_t)length, 1 / sqrt(problem_real(s, "S"))};
    struct rng bias = problem_rng_shared(s, set, BIAS);
    kit_fill_with(&set->in[FILTERS], decaying_value, &f);
    kit_fill_with(&set->in[BIAS], normal_value, &bias);
}

/* ---- order of chunks ----------------------------------------------------------------------------------------------- */

/* Where the chunks of the natural order are in that of the ranks, whose two chunks follow each other: 0, 2, .., 2W - 2, 2W - 1, .., 3, 1. */
static pkb_tensor *natural_order(const struct problem_call *c)
{
    int64_t world = c->world->size;
    pkb_tensor *index = rt_new(c->rt, PKB_I64, RT_SHAPE(2 * world));
    rt_iota(c->rt, rt_rows(c->rt, index, 0, world), 0, 2);
    rt_iota(c->rt, rt_rows(c->rt, index, world, world), (double)(2 * world - 1), -2);
    return index;
}

/* The inverse: chunks 0 and 2W - 1, 1 and 2W - 2, ... */
static pkb_tensor *zigzag_order(const struct problem_call *c)
{
    int64_t world = c->world->size;
    pkb_tensor *first = rt_new(c->rt, PKB_I64, RT_SHAPE(world, 1));
    pkb_tensor *second = rt_new(c->rt, PKB_I64, RT_SHAPE(world, 1));
    pkb_tensor *index = rt_new(c->rt, PKB_I64, RT_SHAPE(world, 2));
    rt_iota(c->rt, first, 0, 1);
    rt_iota(c->rt, second, (double)(2 * world - 1), -1);
    rt_concat(c->rt, index, 2, (const pkb_tensor *const[]){first, second}, 1);
    return rt_view(c->rt, index, RT_SHAPE(2 * world));
}

/* Puts the chunks of the last axis of t (B, Cl, L) in another order. */
static pkb_tensor *reordered(const struct problem_call *c, const pkb_tensor *t, const pkb_tensor *index)
{
    if (rt_status(c->rt, NULL) < 0)
        return NULL;
    int64_t b = t->shape[0], local = t->shape[1], chunks = 2 * c->world->size, length = t->shape[2] / chunks;
    pkb_tensor *other = rt_new_like(c->rt, t->dtype, t);
    rt_take(c->rt, rt_view(c->rt, other, RT_SHAPE(b, local, chunks, length)),
            rt_view(c->rt, t, RT_SHAPE(b, local, chunks, length)), index, 2);
    return other;
}

/* (B, C, S) to (B, Cl, L) in natural order, and back to (B, S, C), the dtype t's. */
static pkb_tensor *to_channels(const struct problem_call *c, int input)
{
    return reordered(c, axes_exchanged(c->rt, c->world, &c->in[input], 1, 2), natural_order(c));
}

static void to_positions(const struct problem_call *c, pkb_tensor *out, const pkb_tensor *t)
{
    pkb_tensor *all = axes_exchanged(c->rt, c->world, reordered(c, t, zigzag_order(c)), 2, 1);
    rt_permute(c->rt, out, all, (const int[]){0, 2, 1});
}

/* ---- convolution, f32 ---------------------------------------------------------------------------------------------- */

/* Spectrum of a matrix of real rows, cut or with zeros behind to length n: (rows, n/2 + 1, 2). */
static pkb_tensor *spectrum(struct rt *rt, const pkb_tensor *t, int64_t rows, int64_t n)
{
    int64_t length = t->shape[t->ndim - 1], kept = length < n ? length : n;
    pkb_tensor *part = rt_new(rt, PKB_F32, RT_SHAPE(rows, kept));
    pkb_tensor *padded = rt_new(rt, PKB_F32, RT_SHAPE(rows, n));
    pkb_tensor *transformed = rt_new(rt, PKB_F32, RT_SHAPE(rows, n / 2 + 1, 2));
    rt_slice(rt, part, rt_view(rt, t, RT_SHAPE(rows, length)), 1, 0);
    rt_fill(rt, padded, 0);
    rt_paste(rt, padded, 1, 0, part);
    rt_fft(rt, RT_FFT_REAL, transformed, padded);
    return transformed;
}

/* Real or imaginary part, a last axis of 1. */
static pkb_tensor *component(struct rt *rt, const pkb_tensor *complex, int which)
{
    pkb_tensor form = *complex;
    form.shape[form.ndim - 1] = 1;
    pkb_tensor *part = rt_new_like(rt, PKB_F32, &form);
    rt_slice(rt, part, complex, -1, which);
    return part;
}

/* a *= b, complex; b's shape stretches. */
static void multiply_complex(struct rt *rt, pkb_tensor *a, const pkb_tensor *b)
{
    if (rt_status(rt, NULL) < 0)
        return;
    pkb_tensor *ar = component(rt, a, 0), *ai = component(rt, a, 1), *br = component(rt, b, 0), *bi = component(rt, b, 1);
    pkb_tensor *real = rt_new_like(rt, PKB_F32, ar), *imaginary = rt_new_like(rt, PKB_F32, ar);
    rt_binary(rt, RT_MUL, real, ar, br);
    rt_binary(rt, RT_MUL, imaginary, ar, bi);
    rt_binary(rt, RT_MUL, ar, ai, br);
    rt_binary(rt, RT_MUL, ai, ai, bi);
    rt_binary(rt, RT_SUB, real, real, ai);
    rt_binary(rt, RT_ADD, imaginary, imaginary, ar);
    rt_concat(rt, a, 2, (const pkb_tensor *const[]){real, imaginary}, -1);
}

/* cv of z (B, Cl, L) with one filter of (groups, FL) per group of channels, circular over 2L. */
static pkb_tensor *convolve(struct rt *rt, const pkb_tensor *z, const pkb_tensor *filters)
{
    if (rt_status(rt, NULL) < 0)
        return NULL;
    int64_t rows = z->shape[0] * z->shape[1], length = z->shape[2], n = 2 * length, bins = length + 1;
    int64_t groups = filters->shape[0], members = z->shape[1] / groups;
    pkb_tensor *product = spectrum(rt, z, rows, n), *kernel = spectrum(rt, filters, groups, n);
    pkb_tensor *circular = rt_new(rt, PKB_F32, RT_SHAPE(rows, n));
    pkb_tensor *result = rt_new_like(rt, PKB_F32, z);
    multiply_complex(rt, rt_view(rt, product, RT_SHAPE(z->shape[0], groups, members, bins, 2)),
                     rt_view(rt, kernel, RT_SHAPE(groups, 1, bins, 2)));
    rt_fft(rt, RT_FFT_TO_REAL, circular, product);
    rt_slice(rt, rt_view(rt, result, RT_SHAPE(rows, length)), circular, 1, 0);
    rt_binary_scalar(rt, RT_DIV, result, result, (double)n);
    return result;
}

/* ---- the operator -------------------------------------------------------------------------------------------------- */

static pkb_tensor *widened(struct rt *rt, const pkb_tensor *t)
{
    pkb_tensor *wide = t ? rt_new_like(rt, PKB_F32, t) : NULL;
    rt_copy(rt, wide, t);
    return wide;
}

/* What a rank works with between the exchanges: all positions of its channels. */
struct middle {
    pkb_tensor *x1;         /* (B, Cl, L) of T */
    pkb_tensor *z, *z_bias; /* (B, Cl, L) of f32 */
    pkb_tensor *filters;    /* (G / W, FL) of f32 */
    pkb_tensor *y;          /* (B, Cl, L) of T */
};

static struct middle compute(const struct problem_call *c)
{
    int64_t local = c->in[BIAS].shape[0] / c->world->size, groups = c->in[FILTERS].shape[0] / c->world->size;
    struct middle m = {.x1 = to_channels(c, X1)};
    pkb_tensor *z = to_channels(c, X2);
    rt_binary(c->rt, RT_MUL, z, z, to_channels(c, V));
    m.z = widened(c->rt, z);
    m.z_bias = widened(c->rt, z);
    m.filters = widened(c->rt, rt_rows(c->rt, &c->in[FILTERS], c->world->rank * groups, groups));
    m.y = z;
    const pkb_tensor *bias = widened(c->rt, rt_rows(c->rt, &c->in[BIAS], c->world->rank * local, local));
    rt_binary(c->rt, RT_MUL, m.z_bias, m.z_bias, rt_view(c->rt, bias, RT_SHAPE(local, 1)));
    rt_binary(c->rt, RT_ADD, m.y, convolve(c->rt, m.z, m.filters), m.z_bias);
    return m;
}

static void reference(const struct problem_call *c)
{
    struct middle m = compute(c);
    rt_binary(c->rt, RT_MUL, m.y, m.x1, m.y);
    to_positions(c, &c->out[0], m.y);
}

/* ---- tolerance ----------------------------------------------------------------------------------------------------- */

/* Norms of the last axis, as an axis of 1. */
static pkb_tensor *norms(struct rt *rt, const pkb_tensor *squares)
{
    pkb_tensor form = *squares;
    form.shape[form.ndim - 1] = 1;
    pkb_tensor *norm = rt_new_like(rt, PKB_F32, &form);
    rt_reduce_axis(rt, RT_SUM, norm, squares, -1);
    rt_unary(rt, RT_SQRT, norm, norm);
    return norm;
}

/* ||z|| ||kk|| of every channel times the transforms' error, (B, groups, members, 1). */
static pkb_tensor *transform_errors(struct rt *rt, const pkb_tensor *z_squares, const pkb_tensor *filter_squares)
{
    int64_t groups = filter_squares->shape[0], b = z_squares->shape[0], members = z_squares->shape[1] / groups;
    pkb_tensor *z = rt_view(rt, norms(rt, z_squares), RT_SHAPE(b, groups, members, 1));
    pkb_tensor *filters = rt_view(rt, norms(rt, filter_squares), RT_SHAPE(groups, 1, 1));
    rt_binary(rt, RT_MUL, z, z, filters);
    rt_binary_scalar(rt, RT_MUL, z, z, transform_error);
    return z;
}

static void add_magnitude(struct rt *rt, pkb_tensor *sum, const pkb_tensor *t)
{
    pkb_tensor *magnitude = rt_new_like(rt, PKB_F32, sum);
    rt_unary(rt, RT_ABS, magnitude, t);
    rt_binary(rt, RT_ADD, sum, sum, magnitude);
}

/* tol of the head comment, (B, Cl, L). */
static pkb_tensor *tolerance(struct rt *rt, const struct middle *m, double u)
{
    pkb_tensor *z_squares = rt_new_like(rt, PKB_F32, m->z), *filter_squares = rt_new_like(rt, PKB_F32, m->filters);
    rt_unary(rt, RT_SQUARE, z_squares, m->z);
    rt_unary(rt, RT_SQUARE, filter_squares, m->filters);
    pkb_tensor *tol = convolve(rt, z_squares, filter_squares);
    rt_binary_scalar(rt, RT_MAX, tol, tol, 0);
    rt_unary(rt, RT_SQRT, tol, tol);
    add_magnitude(rt, tol, m->y);
    add_magnitude(rt, tol, m->z_bias);
    rt_binary_scalar(rt, RT_MUL, tol, tol, 3 * u);
    if (rt_status(rt, NULL) < 0)
        return NULL;
    int64_t groups = m->filters->shape[0], members = tol->shape[1] / groups;
    pkb_tensor *grouped = rt_view(rt, tol, RT_SHAPE(tol->shape[0], groups, members, tol->shape[2]));
    rt_binary(rt, RT_ADD, grouped, grouped, transform_errors(rt, z_squares, filter_squares));
    return tol;
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    double u = fmax(dtype_roundoff(c->setting->dtype), dtype_roundoff(PKB_F32));
    struct middle m = compute(c);
    pkb_tensor *gated = tolerance(c->rt, &m, u), *result = rt_new_like(c->rt, PKB_F32, &c->out[0]);
    rt_binary(c->rt, RT_MUL, gated, gated, m.x1);
    to_positions(c, tol[0], gated);
    rt_unary(c->rt, RT_ABS, tol[0], tol[0]);
    rt_unary(c->rt, RT_ABS, result, &c->out[0]);
    rt_binary_scalar(c->rt, RT_MUL, result, result, 2 * u);
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
    double b = problem_real(s, "B"), local = (double)channels(s) / s->world, length = problem_real(s, "S") * s->world;
    double elements = b * (double)channels(s) * problem_real(s, "S"), size = kit_element(s);
    double filters = problem_real(s, "G") / s->world * problem_real(s, "FL");
    cost->flops = (2 * b + 1) * local * 5 * length * log2(2 * length) + b * local * 10 * length;
    cost->hbm_bytes = (8 * elements + filters + local) * size;
    cost->link_bytes = 2 * elements * size * (s->world - 1.0) / s->world;
}

const struct problem problem_72 = {
    .id = 72,
    .name = "72_hyena_forward_cp",
    .family = "context_parallel",
    .origin = "Hyena, StripedHyena, Evo 2 (NVIDIA NeMo, BioNeMo, Savanna): long convolution under zigzag context parallelism",
    .summary = "Hyena operator on a split sequence: all-to-all to shards of the channels, gate, long convolution with a skip "
               "term, gate, "
               "all-to-all back.",
    .source = "problems/context_parallel/72_hyena_forward_cp.c",
    .worlds = "G % W == 0",
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
