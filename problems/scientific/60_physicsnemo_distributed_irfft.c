/* SPDX-License-Identifier: Apache-2.0 */
/* 60 physicsnemo_distributed_irfft: the inverse of a two-dimensional Fourier transform, from half spectra whose rows are spread over
 * the ranks to real fields whose columns are.
 *
 * Parameters   B, C: samples and channels. H: rows. X: columns of a field, an even number; half a spectrum has X/2 + 1.
 * Input        x (B, C, H/W, X/2 + 1, 2) of f32 for every T, complex: rows r*H/W to (r+1)*H/W - 1 of the half spectra G,
 *              different on every rank.
 * Output       y (B, C, H, X/W) of f32: columns r*X/W to (r+1)*X/W - 1 of the fields, different on every rank. With
 *                  F[k, w] = G[k, w] for w <= X/2, the conjugate of G[(H - k) mod H, X - w] for w > X/2,
 *                  y[m, n] = real part of ( sum over k, w of F[k, w] * exp(2 pi i (k m / H + w n / X)) ) / sqrt(H X);
 *              the imaginary part is dropped: G need not be the spectrum of a real field in columns 0 and X/2.
 * Steps        the right half of the columns mirrored and conjugated; all-gather of the rows, of which those that the mirror asks
 *              for are kept; transform along the columns' axis; all-to-all; transform along the rows' axis.
 * One rank     the whole transform.
 * Arithmetic   f32.
 * Check        |y - yc| <= 1e-4 (values are of order 1).
 * Inputs       G has independent complex entries with N(0,1) parts. pkb profile: G is distributed as the orthonormal transform of a field
 *              of N(0,1): parts of N(0, 1/2), columns 0 and X/2 Hermitian in k, real N(0,1) where k is its own mirror too.
 */
#include <math.h>

#include "problems/axes.h"
#include "problems/scientific/fourier.h"

static const struct problem_param params[] = {
    {"B", 2, 2, true, "samples"},
    {"C", 10, 2, true, "channels"},
    {"H", 720, 24, true, "rows"},
    {"X", 1440, 40, true, "columns, an even number"},
};

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (kit_require_least(s, "H", 1, err) < 0 || kit_require_least(s, "X", 2, err) < 0)
        return -1;
    if (problem_int(s, "X") % 2 != 0)
        return pkb_error_set(err, "X = %lld is odd", (long long)problem_int(s, "X"));
    return kit_require_divisible(s, "H", err) < 0 ? -1 : kit_require_divisible(s, "X", err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t rows = problem_int(s, "H") / s->world, half = problem_int(s, "X") / 2 + 1;
    kit_tensor(&t[0], "x", PKB_F32, RT_SHAPE(problem_int(s, "B"), problem_int(s, "C"), rows, half, 2));
    return 1;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t columns = problem_int(s, "X") / s->world;
    kit_tensor(&t[0], "y", PKB_F32, RT_SHAPE(problem_int(s, "B"), problem_int(s, "C"), problem_int(s, "H"), columns));
    return 1;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

/* The half spectra of all fields, one behind the other, as the pkb profile has them. */
struct spectra {
    struct rng rng;
    int64_t rows, own_rows, first_row, half; /* of the whole, of this rank, columns */
};

/* Part (0: real, 1: imaginary) of an entry that has no mirror image among the stored ones. */
static double free_part(const struct spectra *g, int64_t field, int64_t k, int64_t w, int part)
{
    uint64_t entry = (uint64_t)((field * g->rows + k) * g->half + w);
    return rng_normal(&g->rng, 2 * entry + (uint64_t)part);
}

static double spectrum_value(const void *arg, size_t i)
{
    const struct spectra *g = arg;
    int part = (int)(i % 2);
    int64_t entry = (int64_t)(i / 2), w = entry % g->half, row = entry / g->half;
    int64_t field = row / g->own_rows, k = g->first_row + row % g->own_rows, mirror = (g->rows - k) % g->rows;
    bool hermitian = w == 0 || w == g->half - 1;
    if (hermitian && k == mirror)
        return part == 0 ? free_part(g, field, k, w, 0) : 0;
    if (hermitian && k > mirror)
        return sqrt(0.5) * (part == 0 ? 1 : -1) * free_part(g, field, mirror, w, part);
    return sqrt(0.5) * free_part(g, field, k, w, part);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    const int64_t *shape = set->in[0].shape;
    struct spectra g = {
        .rng = problem_rng_shared(s, set, 0),
        .rows = problem_int(s, "H"),
        .own_rows = shape[2],
        .first_row = s->rank * shape[2],
        .half = shape[3],
    };
    if (s->inputs == PROFILE_HARDENED)
        kit_fill_normal(s, set, 0);
    else
        kit_fill_with(&set->in[0], spectrum_value, &g);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

static pkb_tensor *positions(const struct problem_call *c, int64_t n, int64_t first, int step)
{
    pkb_tensor *list = rt_new(c->rt, PKB_I64, RT_SHAPE(n));
    rt_iota(c->rt, list, (double)first, step);
    return list;
}

/* Columns X/2 - 1, ..., 1 of the local rows, conjugated: what columns X/2 + 1, ..., X - 1 of the mirrored rows are. */
static pkb_tensor *mirrored_columns(const struct problem_call *c, const pkb_tensor *x)
{
    int64_t columns = x->shape[3] - 2;
    pkb_tensor *mirrored = rt_new(c->rt, PKB_F32, RT_SHAPE(x->shape[0], x->shape[1], x->shape[2], columns, 2));
    pkb_tensor *signs = rt_new(c->rt, PKB_F32, RT_SHAPE(2));
    rt_take(c->rt, mirrored, x, positions(c, columns, columns, -1), 3);
    rt_iota(c->rt, signs, 1, -2);
    rt_binary(c->rt, RT_MUL, mirrored, mirrored, signs);
    return mirrored;
}

/* The whole width of the local rows: (B, C, H/W, X, 2). */
static pkb_tensor *complete(const struct problem_call *c, const pkb_tensor *x)
{
    int64_t b = x->shape[0], channels = x->shape[1], rows = x->shape[2], half = x->shape[3], all = rows * c->world->size;
    pkb_tensor *padded = rt_new(c->rt, PKB_F32, RT_SHAPE(b, channels, rows, 2 * half - 2, 2));
    pkb_tensor *gathered = rt_new(c->rt, PKB_F32, RT_SHAPE(b, channels, all, 2 * half - 2, 2));
    pkb_tensor *right = rt_new(c->rt, PKB_F32, RT_SHAPE(b, channels, all, half - 2, 2));
    pkb_tensor *own = rt_new(c->rt, PKB_F32, RT_SHAPE(b, channels, rows, half - 2, 2));
    const pkb_tensor *parts[] = {x, mirrored_columns(c, x)};
    rt_concat(c->rt, padded, KIT_COUNT(parts), parts, 3);
    axes_all_gather(c->rt, c->world, gathered, padded, 2);

    pkb_tensor *mirror = positions(c, rows, all - c->world->rank * rows, -1);
    rt_binary_scalar(c->rt, RT_MOD, mirror, mirror, (double)all);
    rt_slice(c->rt, right, gathered, 3, half);
    rt_take(c->rt, own, right, mirror, 2);
    rt_paste(c->rt, padded, 3, half, own);
    return padded;
}

static void reference(const struct problem_call *c)
{
    const int64_t *shape = c->out[0].shape;
    pkb_tensor *rows = fourier_along(c, RT_FFT_INVERSE, complete(c, &c->in[0]), 3);
    pkb_tensor *columns = axes_exchanged(c->rt, c->world, rows, 3, 2);
    pkb_tensor *real = rt_view(c->rt, &c->out[0], RT_SHAPE(shape[0], shape[1], shape[2], shape[3], 1));
    rt_slice(c->rt, real, fourier_along(c, RT_FFT_INVERSE, columns, 2), 4, 0);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double fields = problem_real(s, "B") * problem_real(s, "C"), h = problem_real(s, "H"), x = problem_real(s, "X");
    double w = s->world, elements = fields * h * x / w;
    cost->flops = 5 * elements * (log2(x) + log2(h));
    cost->hbm_bytes = 8 * fields * h / w * (x / 2 + 1) + 20 * elements;
    cost->link_bytes = 8 * elements * (w - 1) / w;
}

const struct problem problem_60 = {
    .id = 60,
    .name = "60_physicsnemo_distributed_irfft",
    .family = "scientific",
    .origin = "NVIDIA PhysicsNeMo: the distributed inverse transform; 720 x 1440 is the ERA5 grid of a quarter degree",
    .summary =
        "Transform half spectra whose rows are spread over the ranks back to real fields: complete them by symmetry, along the "
        "rows, all-to-all, along the columns, real part.",
    .source = "problems/scientific/60_physicsnemo_distributed_irfft.c",
    .worlds = "H % W == 0 and X % W == 0",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .check = fourier_check,
    .cost = cost,
};
