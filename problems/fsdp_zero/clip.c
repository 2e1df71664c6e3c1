/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/fsdp_zero/clip.h"

#include <math.h>

#define NORM_TOLERANCE 1e-5 /* relative */

int clip_supports(const struct problem_setting *s, struct pkb_error *err)
{
    double max_norm = problem_real(s, "max_norm");
    if (!(max_norm > 0 && isfinite((float)max_norm)))
        return pkb_error_set(err, "max_norm = %g is not a positive number of f32", max_norm);
    return 0;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

static double factor(const struct problem_setting *s, const struct problem_inputs *set, int rank, int tensor)
{
    struct rng r = problem_rng_shared(s, set, KIT_STREAM + (uint32_t)tensor);
    return pow(8, 2 * rng_uniform(&r, (uint64_t)rank) - 1);
}

static double expected_norm(const struct problem_setting *s, const struct problem_inputs *set, int count, const double *part)
{
    double sum = 0;
    for (int q = 0; q < s->world; q++) {
        for (int i = 0; i < count; i++) {
            double size = part[i] * factor(s, set, q, i);
            sum += size * size * (double)kit_numel(&set->in[i]);
        }
    }
    return sqrt(sum);
}

void clip_init(const struct problem_setting *s, struct problem_inputs *set, int count, int param, const double *part)
{
    static const double of_norm[] = {0, 2, 0.25};
    double multiple = of_norm[set->trial % 3];
    for (int i = 0; i < count; i++)
        kit_fill_scaled_normal(s, set, i, s->inputs == PROFILE_PKB ? 1 : factor(s, set, s->rank, i));
    if (s->inputs == PROFILE_HARDENED && multiple > 0)
        set->params[param] = (double)(float)(multiple * expected_norm(s, set, count, part));
}

/* ---- steps --------------------------------------------------------------------------------------------------------- */

static pkb_tensor *scalar(const struct problem_call *c)
{
    return rt_new(c->rt, PKB_F32, RT_SCALAR);
}

pkb_tensor *clip_square_sum(const struct problem_call *c, const pkb_tensor *g)
{
    pkb_tensor *squares = rt_new_like(c->rt, PKB_F32, g), *sum = scalar(c);
    rt_copy(c->rt, squares, g);
    rt_unary(c->rt, RT_SQUARE, squares, squares);
    rt_reduce_axis(c->rt, RT_SUM, sum, squares, RT_ALL_AXES);
    rt_unary(c->rt, RT_SQRT, sum, sum);
    rt_unary(c->rt, RT_SQUARE, sum, sum);
    return sum;
}

/* 1 where the norm is above max_norm, else 0. */
static pkb_tensor *is_clipped(const struct problem_call *c, const pkb_tensor *norm)
{
    pkb_tensor *clipped = scalar(c);
    rt_binary_scalar(c->rt, RT_GT, clipped, norm, problem_call_real(c, "max_norm"));
    return clipped;
}

pkb_tensor *clip_coefficient(const struct problem_call *c, const pkb_tensor *norm)
{
    pkb_tensor *coefficient = scalar(c), *one = scalar(c);
    rt_fill(c->rt, one, 1);
    rt_fill(c->rt, coefficient, problem_call_real(c, "max_norm"));
    rt_binary(c->rt, RT_DIV, coefficient, coefficient, norm);
    rt_where(c->rt, coefficient, is_clipped(c, norm), coefficient, one);
    return coefficient;
}

/* ---- check --------------------------------------------------------------------------------------------------------- */

void clip_bound(const struct problem_call *c, const struct clip_bound *b, pkb_tensor *tol)
{
    const struct problem_setting *s = c->setting;
    pkb_tensor *x = rt_new_like(c->rt, kit_accumulate_dtype(s), tol), *difference = rt_new_like(c->rt, PKB_F32, tol);
    rt_binary_scalar(c->rt, RT_MUL, x, b->original, b->scale);
    rt_binary(c->rt, RT_MUL, x, x, clip_coefficient(c, b->norm));
    rt_binary(c->rt, RT_SUB, difference, x, b->clipped);
    rt_unary(c->rt, RT_ABS, difference, difference);
    pkb_tensor *clipped = kit_magnitude(c, x, b->roundings * dtype_roundoff(s->dtype) + NORM_TOLERANCE);
    rt_binary(c->rt, RT_ADD, clipped, clipped, difference);
    rt_binary_scalar(c->rt, RT_ADD, clipped, clipped, kit_least_step(s));
    rt_where(c->rt, tol, is_clipped(c, b->norm), clipped, kit_magnitude(c, x, b->kept));
}

void clip_check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)s;
    if (output == 0)
        *check = (struct problem_check){.kind = CHECK_CLOSE, .rtol = NORM_TOLERANCE};
    else
        *check = (struct problem_check){.kind = CHECK_BOUND};
}
