/* SPDX-License-Identifier: Apache-2.0 */
/* 59 physicsnemo_distributed_rfft: a two-dimensional Fourier transform of real fields whose columns are spread over the ranks.
 *
 * Parameters   B: fields. H, X: rows and columns of a field before rounding up to multiples of W.
 * Input        x (B, H, X/W) of f32 for every T: columns r*X/W to (r+1)*X/W - 1 of the fields, different on every rank.
 * Output       y (B, H/W, floor(X/2) + 1, 2) of f32, complex: rows r*H/W to (r+1)*H/W - 1 of the orthonormal transform
 *                  Y[b, k, w] = sum over h, j of x[b, h, j] * exp(-2 pi i (h k / H + j w / X)) / sqrt(H X),
 *              w = 0..floor(X/2), different on every rank.
 * Steps        transform of all H frequencies along the rows' axis, which is complete; all-to-all, so that the ranks have rows
 *              instead of columns; complex transform along the columns' axis, of which the first half stays.
 * One rank     the whole transform.
 * Arithmetic   f32.
 * Check        |y - yc| <= 1e-4, real and imaginary parts (values are of order 1).
 * Inputs       N(0,1).
 */
#include <math.h>

#include "problems/axes.h"
#include "problems/scientific/fourier.h"

static const struct problem_param params[] = {
    {"B", 16, 2, true, "fields"},
    {"H", 1024, 24, true, "rows before rounding up to a multiple of W"},
    {"X", 1024, 40, true, "columns before rounding up to a multiple of W"},
};

static int64_t share(const struct problem_setting *s, const char *name)
{
    return kit_divide_up(problem_int(s, name), s->world);
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (kit_require_least(s, "B", 1, err) < 0 || kit_require_least(s, "H", 1, err) < 0)
        return -1;
    return kit_require_least(s, "X", 1, err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "x", PKB_F32, RT_SHAPE(problem_int(s, "B"), s->world * share(s, "H"), share(s, "X")));
    return 1;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t half = s->world * share(s, "X") / 2 + 1;
    kit_tensor(&t[0], "y", PKB_F32, RT_SHAPE(problem_int(s, "B"), share(s, "H"), half, 2));
    return 1;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    kit_fill_normal(s, set, 0);
}

/* x with imaginary parts of 0. */
static pkb_tensor *complex_of_real(const struct problem_call *c, const pkb_tensor *x)
{
    int64_t b = x->shape[0], h = x->shape[1], w = x->shape[2];
    pkb_tensor *zero = rt_new(c->rt, PKB_F32, RT_SHAPE(b, h, w, 1));
    pkb_tensor *pairs = rt_new(c->rt, PKB_F32, RT_SHAPE(b, h, w, 2));
    const pkb_tensor *parts[] = {rt_view(c->rt, x, RT_SHAPE(b, h, w, 1)), zero};
    rt_fill(c->rt, zero, 0);
    rt_concat(c->rt, pairs, KIT_COUNT(parts), parts, 3);
    return pairs;
}

static void reference(const struct problem_call *c)
{
    pkb_tensor *columns = fourier_along(c, RT_FFT_FORWARD, complex_of_real(c, &c->in[0]), 1);
    pkb_tensor *rows = axes_exchanged(c->rt, c->world, columns, 1, 2);
    rt_slice(c->rt, &c->out[0], fourier_along(c, RT_FFT_FORWARD, rows, 2), 2, 0);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double b = problem_real(s, "B"), w = s->world, own_rows = (double)share(s, "H"), own_columns = (double)share(s, "X");
    double h = w * own_rows, x = w * own_columns, half = floor(x / 2) + 1;
    cost->flops = 2.5 * b * own_columns * h * log2(h) + 5 * b * own_rows * x * log2(x);
    cost->hbm_bytes = 20 * b * h * own_columns + 8 * b * own_rows * half;
    cost->link_bytes = 8 * b * h * own_columns * (w - 1) / w;
}

const struct problem problem_59 = {
    .id = 59,
    .name = "59_physicsnemo_distributed_rfft",
    .family = "scientific",
    .origin = "NVIDIA PhysicsNeMo: the distributed transform of model-parallel weather models (FourCastNet, AFNO)",
    .summary = "Transform real fields whose columns are spread over the ranks: along the complete axis, all-to-all, along the "
               "other axis, of which the non-redundant half stays.",
    .source = "problems/scientific/59_physicsnemo_distributed_rfft.c",
    .worlds = "any",
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
