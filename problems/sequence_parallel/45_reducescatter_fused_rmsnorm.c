/* SPDX-License-Identifier: Apache-2.0 */
/* 45 reducescatter_fused_rmsnorm: the mean of all ranks' vectors, scattered, and RMS normalisation of the rows received.
 *
 * Parameters   M: rows over all ranks; a rank receives rows = max(2, floor(max(M, W) / max(W, 4))). hidden: length of a row.
 *              eps: added to the mean square. chunk = rows * hidden.
 * Inputs       x (W*chunk) of T, different on every rank; gamma (hidden) of T, the same on all.
 * Output       y (rows, hidden) of T, different on every rank. With rnd() the rounding to T:
 *                  a = rnd( rnd( sum over the ranks q of x_q[r*chunk .. (r+1)*chunk - 1] ) / W ), as rows
 *                  inv[j] = 1 / sqrt( mean over k of a[j, k]^2 + eps )
 *                  y[j, k] = rnd( a[j, k] * inv[j] * gamma[k] ).
 * One rank     a = x.
 * Arithmetic   the sum is in T, with f32 accumulation (f64 for T = f64) in rank order here; the norm is in f32 for every T.
 * Check        with da = (W + 1) * u * sum_q |x_q| / W + u * |a|, what the sum's order and roundings may change,
 *                  |y - yr| <= |gamma| * inv * (da + |a| * inv^2 * mean of |a| * da) + (2 * u + 2^-20) * |yr|
 *              for every element, and as a whole, with u at least 2^-21,
 *                  ||y - yr|| <= (1.5 + sqrt(W)/2) * u * ||yr||.
 *              u is the unit roundoff of T; f16 has in addition the step of its smallest numbers.
 * Inputs       N(0,1); row j of every chunk times 1, 1/4096, 1/16, 1/256 in turn, the same on every rank: where a is below
 *              sqrt(eps) a sum without the division shows. gamma comes from a stream of its own. The pkb profile does not scale
 *              rows.
 */
#include <math.h>

#include "problems/kit.h"

static const struct problem_param params[] = {
    {"M", 1024, 16, true, "rows over all ranks"},
    {"hidden", 128, 32, true, "length of a row"},
    {"eps", 1e-5, 1e-5, false, "added to the mean square"},
};

enum { X, GAMMA };

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t rows_per_rank(const struct problem_setting *s)
{
    return largest(2, largest(problem_int(s, "M"), s->world) / largest(s->world, 4));
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    double eps = problem_real(s, "eps");
    if (!(eps > 0 && eps < 1))
        return pkb_error_set(err, "eps = %g is not between 0 and 1", eps);
    return kit_require_least(s, "hidden", 1, err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t hidden = problem_int(s, "hidden");
    int64_t rows = rows_per_rank(s) * s->world;
    kit_tensor(&t[X], "x", s->dtype, RT_SHAPE(rows * hidden));
    kit_tensor(&t[GAMMA], "gamma", s->dtype, RT_SHAPE(hidden));
    return 2;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "y", s->dtype, RT_SHAPE(rows_per_rank(s), problem_int(s, "hidden")));
    return 1;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

struct scaled_rows {
    struct rng rng;
    size_t hidden, rows; /* of a chunk */
};

static double scaled_value(const void *arg, size_t i)
{
    static const int exponents[] = {0, -12, -4, -8};
    const struct scaled_rows *r = arg;
    size_t row = i / r->hidden % r->rows;
    return ldexp(rng_normal(&r->rng, i), exponents[row % 4]);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    struct rng gamma = problem_rng_shared(s, set, GAMMA);
    struct scaled_rows rows = {
        .rng = problem_rng(s, set, X),
        .hidden = (size_t)problem_int(s, "hidden"),
        .rows = (size_t)rows_per_rank(s),
    };
    rng_fill_normal(&gamma, s->dtype, set->in[GAMMA].data, kit_numel(&set->in[GAMMA]));
    if (s->inputs == PROFILE_PKB)
        kit_fill_normal(s, set, X);
    else
        kit_fill_with(&set->in[X], scaled_value, &rows);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* The rows that this rank receives, averaged over the ranks. */
static pkb_tensor *mean_rows(const struct problem_call *c)
{
    pkb_tensor *a = rt_new_like(c->rt, c->setting->dtype, &c->out[0]);
    rt_reduce_scatter(c->rt, c->world, RT_SUM, a, &c->in[X]);
    rt_binary_scalar(c->rt, RT_DIV, a, a, c->world->size);
    return a;
}

static pkb_tensor *in_f32(const struct problem_call *c, const pkb_tensor *a)
{
    pkb_tensor *wide = rt_new_like(c->rt, PKB_F32, &c->out[0]);
    rt_copy(c->rt, wide, a);
    return wide;
}

/* Mean of the products of a and b over every row, (rows, 1), f32. */
static pkb_tensor *row_mean(const struct problem_call *c, const pkb_tensor *a, const pkb_tensor *b)
{
    pkb_tensor *products = rt_new_like(c->rt, PKB_F32, &c->out[0]);
    pkb_tensor *mean = rt_new(c->rt, PKB_F32, RT_SHAPE(c->out[0].shape[0], 1));
    rt_binary(c->rt, RT_MUL, products, a, b);
    rt_reduce_axis(c->rt, RT_SUM, mean, products, 1);
    rt_binary_scalar(c->rt, RT_DIV, mean, mean, (double)c->out[0].shape[1]);
    return mean;
}

/* 1 / sqrt(mean square + eps) of every row, (rows, 1), f32. */
static pkb_tensor *inverse_rms(const struct problem_call *c, const pkb_tensor *a)
{
    pkb_tensor *inv = row_mean(c, a, a);
    rt_binary_scalar(c->rt, RT_ADD, inv, inv, problem_call_real(c, "eps"));
    rt_unary(c->rt, RT_RSQRT, inv, inv);
    return inv;
}

static pkb_tensor *gamma_in_f32(const struct problem_call *c)
{
    pkb_tensor *gamma = rt_new_like(c->rt, PKB_F32, &c->in[GAMMA]);
    rt_copy(c->rt, gamma, &c->in[GAMMA]);
    return gamma;
}

static void reference(const struct problem_call *c)
{
    pkb_tensor *a = in_f32(c, mean_rows(c));
    rt_binary(c->rt, RT_MUL, a, a, inverse_rms(c, a));
    rt_binary(c->rt, RT_MUL, a, a, gamma_in_f32(c));
    rt_copy(c->rt, &c->out[0], a);
}

/* ---- check --------------------------------------------------------------------------------------------------------- */

/* What order and roundings of the sum may change in |a|. */
static pkb_tensor *uncertainty(const struct problem_call *c, const pkb_tensor *magnitude)
{
    double u = dtype_roundoff(c->setting->dtype);
    pkb_tensor *terms = kit_magnitude(c, &c->in[X], (c->world->size + 1) * u / c->world->size);
    pkb_tensor *da = rt_new_like(c->rt, PKB_F32, &c->out[0]);
    rt_reduce_scatter(c->rt, c->world, RT_SUM, da, terms);
    rt_binary(c->rt, RT_ADD, da, da, kit_magnitude(c, magnitude, u));
    rt_binary_scalar(c->rt, RT_ADD, da, da, 2 * kit_least_step(c->setting));
    return da;
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    double roundings = 2 * dtype_roundoff(c->setting->dtype) + ldexp(1, -20);
    pkb_tensor *a = kit_magnitude(c, mean_rows(c), 1), *inv = inverse_rms(c, a);
    pkb_tensor *da = uncertainty(c, a), *scale_change = row_mean(c, a, da);
    rt_binary(c->rt, RT_MUL, scale_change, scale_change, inv);
    rt_binary(c->rt, RT_MUL, scale_change, scale_change, inv);
    rt_binary(c->rt, RT_MUL, a, a, scale_change);
    rt_binary(c->rt, RT_ADD, da, da, a);
    rt_binary(c->rt, RT_MUL, da, da, inv);
    rt_binary(c->rt, RT_MUL, da, da, kit_magnitude(c, &c->in[GAMMA], 1));
    rt_binary_scalar(c->rt, RT_ADD, da, da, kit_least_step(c->setting));
    rt_binary(c->rt, RT_ADD, tol[0], da, kit_magnitude(c, &c->out[0], roundings));
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    double roundoff = fmax(dtype_roundoff(s->dtype), ldexp(1, -21));
    *check = (struct problem_check){.kind = CHECK_BOUND, .frobenius = (1.5 + sqrt(s->world) / 2) * roundoff};
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double hidden = problem_real(s, "hidden"), chunk = (double)rows_per_rank(s) * hidden, size = kit_element(s);
    double others = s->world - 1;
    cost->flops = others * chunk + 5 * chunk;
    cost->hbm_bytes = size * (s->world * chunk + hidden + chunk) + 2 * size * others * chunk;
    cost->link_bytes = size * others * chunk;
}

const struct problem problem_45 = {
    .id = 45,
    .name = "45_reducescatter_fused_rmsnorm",
    .family = "sequence_parallel",
    .origin = "fused reduce-scatter and RMS normalisation of sequence parallelism, as in TensorRT-LLM and Megatron-LM",
    .summary = "Average a vector over all ranks, leave chunk r on rank r, and apply RMS normalisation with a weight to the "
               "chunk's rows.",
    .source = "problems/sequence_parallel/45_reducescatter_fused_rmsnorm.c",
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
