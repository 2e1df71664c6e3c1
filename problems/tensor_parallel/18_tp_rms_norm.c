/* SPDX-License-Identifier: Apache-2.0 */
/* 18 tp_rms_norm: RMS normalisation over a hidden dimension that is split over the ranks.
 *
 * Parameters   M: rows (tokens). N: hidden size of one rank; the whole is W*N. eps: added to the mean square.
 * Inputs       x (M, N) of T, columns r*N to (r+1)*N - 1 of the hidden state; w (N) of T, this rank's part of the weight. Both
 *              differ on every rank.
 * Output       y (M, N) of T, different on every rank. With X = x in f32:
 *                  ss[i] = sum over the ranks, sum over j of X[i, j]^2
 *                  inv[i] = 1 / sqrt(ss[i] / (W*N) + eps)
 *                  y[i, j] = w[j] * (X[i, j] * inv[i] rounded to T), rounded to T.
 *              There is no mean to subtract.
 * One rank     ordinary RMS normalisation.
 * Arithmetic   f32 for every T up to inv and X * inv, sums in any order; then the product with the weight in T.
 * Check        |y - yr| <= 4 * u * |yr| + 2^-20: a difference in the last bits of f32 may flip the first rounding. u is the
 *              unit roundoff of T, but 2^-21 for f32 and 2^-22 for f64, whose computation is in f32.
 * Inputs       x = N(0,1) scaled by 2^((i + 3r) mod 7 - 3), so that rows and ranks differ in size and a missing or partial
 *              sum over the ranks shows; one row, another in every trial, is zero on all ranks, where y must be 0.
 */
#include <math.h>

#include "problems/kit.h"

static const struct problem_param params[] = {
    {"M", 1024, 24, true, "rows"},
    {"N", 1024, 72, true, "hidden size per rank"},
    {"eps", 1e-5, 1e-5, false, "added to the mean square"},
};

enum { X, WEIGHT };

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    double eps = problem_real(s, "eps");
    if (!(eps > 0 && eps < 1))
        return pkb_error_set(err, "eps = %g is not between 0 and 1", eps);
    return 0;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[X], "x", s->dtype, RT_SHAPE(problem_int(s, "M"), problem_int(s, "N")));
    kit_tensor(&t[WEIGHT], "w", s->dtype, RT_SHAPE(problem_int(s, "N")));
    return 2;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "y", s->dtype, RT_SHAPE(problem_int(s, "M"), problem_int(s, "N")));
    return 1;
}

struct rows {
    struct rng rng;
    int64_t columns;
    int64_t zero_row; /* -1: none */
    int shift;        /* of the scale, by rank */
};

static double scaled_value(const void *arg, size_t i)
{
    const struct rows *rows = arg;
    int64_t row = (int64_t)i / rows->columns;
    if (row == rows->zero_row)
        return 0;
    return ldexp(rng_normal(&rows->rng, i), (int)((row + rows->shift) % 7) - 3);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    int64_t m = problem_int(s, "M");
    struct rows rows = {
        .rng = problem_rng(s, set, X),
        .columns = problem_int(s, "N"),
        .zero_row = m > 1 ? (11 + 5 * (int64_t)set->trial) % m : -1,
        .shift = 3 * s->rank,
    };
    kit_fill_normal(s, set, WEIGHT);
    if (s->inputs == PROFILE_PKB)
        kit_fill_normal(s, set, X);
    else
        kit_fill_with(&set->in[X], scaled_value, &rows);
}

/* 1 / sqrt(mean square + eps) of every row, (M, 1). */
static pkb_tensor *inverse_rms(const struct problem_call *c, const pkb_tensor *x32)
{
    int64_t m = c->in[X].shape[0], n = c->in[X].shape[1];
    pkb_tensor *squares = rt_new_like(c->rt, PKB_F32, &c->in[X]);
    pkb_tensor *inv = rt_new(c->rt, PKB_F32, RT_SHAPE(m, 1));
    rt_unary(c->rt, RT_SQUARE, squares, x32);
    rt_reduce_axis(c->rt, RT_SUM, inv, squares, 1);
    rt_all_reduce(c->rt, c->world, RT_SUM, inv, inv);
    rt_binary_scalar(c->rt, RT_DIV, inv, inv, (double)(c->world->size * n));
    rt_binary_scalar(c->rt, RT_ADD, inv, inv, problem_call_real(c, "eps"));
    rt_unary(c->rt, RT_RSQRT, inv, inv);
    return inv;
}

static void reference(const struct problem_call *c)
{
    const pkb_tensor *x = &c->in[X];
    pkb_tensor *x32 = rt_new_like(c->rt, PKB_F32, x);
    pkb_tensor *normalised = rt_new_like(c->rt, x->dtype, x);
    rt_copy(c->rt, x32, x);
    pkb_tensor *inv = inverse_rms(c, x32);
    rt_binary(c->rt, RT_MUL, x32, x32, inv);
    rt_copy(c->rt, normalised, x32);
    rt_binary(c->rt, RT_MUL, &c->out[0], normalised, &c->in[WEIGHT]);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    double roundoff = dtype_roundoff(s->dtype);
    if (s->dtype == PKB_F32)
        roundoff = ldexp(1, -21);
    if (s->dtype == PKB_F64)
        roundoff = ldexp(1, -22);
    *check = (struct problem_check){.kind = CHECK_CLOSE, .atol = ldexp(1, -20), .rtol = 4 * roundoff};
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double m = problem_real(s, "M"), n = problem_real(s, "N"), others = (s->world - 1.0) / s->world;
    cost->flops = 4 * m * n + m * others + 4 * m;
    cost->hbm_bytes = (2 * m * n + n) * kit_element(s);
    cost->link_bytes = 2 * others * 4 * m;
}

const struct problem problem_18 = {
    .id = 18,
    .name = "18_tp_rms_norm",
    .family = "tensor_parallel",
    .origin = "Llama-style RMS normalisation over a sharded hidden dimension, as for queries and keys in vLLM and TensorRT-LLM",
    .summary =
        "RMS normalisation over a hidden dimension split over all ranks: local sum of squares, one small all-reduce in f32, "
        "scale and weight.",
    .source = "problems/tensor_parallel/18_tp_rms_norm.c",
    .worlds = "any",
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
