/* SPDX-License-Identifier: Apache-2.0 */
/* 23 grad_acc_loss: a rank's mean loss becomes its part of the mean over the valid tokens of all ranks, and the way back.
 *
 * Parameters   M, N: up to M*N tokens per rank.
 * Inputs       loss, T, a scalar, different on every rank; local_valid, i64, the tokens behind it; global_valid, i64, their sum
 *              over the ranks; grad_norm_loss and grad_loss_sum, T, the incoming gradients of the first two outputs.
 * Outputs      normalized_loss, loss_sum (the same on every rank), grad_loss, scalars of T. With rnd() the rounding to T and
 *              counts n = rnd(local_valid), g = rnd(global_valid):
 *                  l = loss, but where local_valid = 0: 0 for NaN, the largest or lowest finite number for +-infinity
 *                  loss_sum = sum over the ranks of rnd(l * n)
 *                  normalized_loss = rnd(loss_sum / g)
 *                  v = rnd(rnd(grad_norm_loss * n) / g),   w = rnd(grad_loss_sum * n),   grad_loss = rnd(v + w).
 * One rank     loss_sum = rnd(l * n).
 * Arithmetic   one operation in f32 (f64 for T = f64) and one rounding to T at a time; the sum over the ranks is in T.
 * Check        with S = sum over the ranks of |l * n|, as the terms cancel:
 *                  |loss_sum - ref| <= (W + 3) * u * S,   |normalized_loss - ref| <= (W + 3) * u * S / g,
 *                  |grad_loss - ref| <= 5 * u * (|v| + |w|).
 * Inputs       loss = 4 * N(0,1), in even trials 2 more; local_valid uniform in 1 .. M*N, in every other trial 0 on one rank,
 *              whose loss is then NaN or infinite; grad_norm_loss N(0,1) and grad_loss_sum, of the same sign, 0.5 to 1.5 over
 *              M*N, so that w is as large as v and does not cancel it; both gradients are the same on all ranks. For f16 fewer
 *              tokens than M*N, so that sums are finite. The pkb profile has loss N(0,1), M*N tokens everywhere, gradients 1
 *              and 0.
 */
#include <float.h>
#include <math.h>

#include "problems/kit.h"

static const struct problem_param params[] = {
    {"M", 1024, 32, true, "rows of tokens per rank"},
    {"N", 1024, 32, true, "tokens of a row"},
};

enum { LOSS, LOCAL_VALID, GLOBAL_VALID, GRAD_NORM_LOSS, GRAD_LOSS_SUM };
enum { NORMALIZED_LOSS, LOSS_SUM, GRAD_LOSS };

static double largest_finite(int dtype)
{
    switch (dtype) {
    case PKB_F16:
        return 65504;
    case PKB_BF16:
        return ldexp(255, 120);
    case PKB_F32:
        return FLT_MAX;
    default:
        return DBL_MAX;
    }
}

/* Tokens of a rank for which sums of losses over all ranks are finite in T: no loss is larger than 40, with the pkb inputs 10.
 * */
static double most_tokens(const struct problem_setting *s)
{
    double sum = largest_finite(s->dtype) / (s->inputs == PROFILE_PKB ? 10 : 40);
    return floor(fmin(problem_real(s, "M") * problem_real(s, "N"), sum / s->world));
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    double tokens = problem_real(s, "M") * problem_real(s, "N");
    if (kit_require_least(s, "M", 1, err) < 0 || kit_require_least(s, "N", 1, err) < 0)
        return -1;
    if (tokens * s->world >= ldexp(1, 53))
        return pkb_error_set(err, "M * N * %d ranks = %g tokens: must be less than 2^53", s->world, tokens * s->world);
    if (s->inputs == PROFILE_PKB && most_tokens(s) < tokens)
        return pkb_error_set(err, "sums over %g tokens are infinite in %s", tokens * s->world, dtype_name(s->dtype));
    return 0;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[LOSS], "loss", s->dtype, RT_SCALAR);
    kit_tensor(&t[LOCAL_VALID], "local_valid", PKB_I64, RT_SCALAR);
    kit_tensor(&t[GLOBAL_VALID], "global_valid", PKB_I64, RT_SCALAR);
    kit_tensor(&t[GRAD_NORM_LOSS], "grad_norm_loss", s->dtype, RT_SCALAR);
    kit_tensor(&t[GRAD_LOSS_SUM], "grad_loss_sum", s->dtype, RT_SCALAR);
    return 5;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[NORMALIZED_LOSS], "normalized_loss", s->dtype, RT_SCALAR);
    kit_tensor(&t[LOSS_SUM], "loss_sum", s->dtype, RT_SCALAR);
    kit_tensor(&t[GRAD_LOSS], "grad_loss", s->dtype, RT_SCALAR);
    return 3;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

/* The rank without tokens in this trial, or -1. */
static int idle_rank(const struct problem_setting *s, const struct problem_inputs *set)
{
    struct rng r = problem_rng_shared(s, set, KIT_STREAM);
    return s->world > 1 && set->trial % 2 == 1 ? (int)rng_integer(&r, 0, 0, s->world) : -1;
}

static int64_t tokens_of(const struct problem_setting *s, const struct problem_inputs *set, int rank)
{
    struct rng r = problem_rng_shared(s, set, LOCAL_VALID);
    if (rank == idle_rank(s, set))
        return 0;
    return rng_integer(&r, (uint64_t)rank, 1, (int64_t)most_tokens(s) + 1);
}

static void init_published(const struct problem_setting *s, struct problem_inputs *set)
{
    kit_fill_normal(s, set, LOSS);
    kit_fill_constant(&set->in[LOCAL_VALID], problem_real(s, "M") * problem_real(s, "N"));
    kit_fill_constant(&set->in[GLOBAL_VALID], s->world * problem_real(s, "M") * problem_real(s, "N"));
    kit_fill_constant(&set->in[GRAD_NORM_LOSS], 1);
    kit_fill_constant(&set->in[GRAD_LOSS_SUM], 0);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    struct rng loss = problem_rng(s, set, LOSS), gradients = problem_rng_shared(s, set, GRAD_NORM_LOSS);
    double value = 4 * rng_normal(&loss, 0) + (set->trial % 2 == 0 ? 2 : 0), gradient = rng_normal(&gradients, 0), all = 0;
    if (s->inputs == PROFILE_PKB) {
        init_published(s, set);
        return;
    }
    for (int q = 0; q < s->world; q++)
        all += (double)tokens_of(s, set, q);
    if (s->rank == idle_rank(s, set))
        value = set->trial % 4 == 1 ? NAN : INFINITY;
    kit_fill_constant(&set->in[LOSS], value);
    kit_fill_constant(&set->in[LOCAL_VALID], (double)tokens_of(s, set, s->rank));
    kit_fill_constant(&set->in[GLOBAL_VALID], all);
    kit_fill_constant(&set->in[GRAD_NORM_LOSS], gradient);
    kit_fill_constant(&set->in[GRAD_LOSS_SUM], copysign(0.5 + rng_uniform(&gradients, 1), gradient) / most_tokens(s));
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

static pkb_tensor *scalar(const struct problem_call *c)
{
    return rt_new(c->rt, c->setting->dtype, RT_SCALAR);
}

static pkb_tensor *product(const struct problem_call *c, const pkb_tensor *a, const pkb_tensor *b)
{
    pkb_tensor *p = scalar(c);
    rt_binary(c->rt, RT_MUL, p, a, b);
    return p;
}

/* A count as a number of T. */
static pkb_tensor *count(const struct problem_call *c, int input)
{
    pkb_tensor *n = scalar(c);
    rt_copy(c->rt, n, &c->in[input]);
    return n;
}

/* Not a number becomes 0, infinite the largest or lowest finite number. */
static pkb_tensor *made_finite(const struct problem_call *c, const pkb_tensor *x)
{
    double largest = largest_finite(c->setting->dtype);
    pkb_tensor *f = scalar(c), *zero = scalar(c), *is_nan = rt_new(c->rt, PKB_BOOL, RT_SCALAR);
    rt_binary(c->rt, RT_NE, is_nan, x, x);
    rt_fill(c->rt, zero, 0);
    rt_where(c->rt, f, is_nan, zero, x);
    rt_binary_scalar(c->rt, RT_MIN, f, f, largest);
    rt_binary_scalar(c->rt, RT_MAX, f, f, -largest);
    return f;
}

/* The loss without what a rank without tokens may have divided by 0. */
static pkb_tensor *valid_loss(const struct problem_call *c)
{
    pkb_tensor *loss = scalar(c), *has_tokens = rt_new(c->rt, PKB_BOOL, RT_SCALAR);
    rt_binary_scalar(c->rt, RT_NE, has_tokens, &c->in[LOCAL_VALID], 0);
    rt_where(c->rt, loss, has_tokens, &c->in[LOSS], made_finite(c, &c->in[LOSS]));
    return loss;
}

/* The gradient's two parts, v and w. */
static pkb_tensor *through_mean(const struct problem_call *c)
{
    pkb_tensor *v = product(c, &c->in[GRAD_NORM_LOSS], count(c, LOCAL_VALID));
    rt_binary(c->rt, RT_DIV, v, v, count(c, GLOBAL_VALID));
    return v;
}

static pkb_tensor *through_sum(const struct problem_call *c)
{
    return product(c, &c->in[GRAD_LOSS_SUM], count(c, LOCAL_VALID));
}

static void reference(const struct problem_call *c)
{
    pkb_tensor *term = product(c, valid_loss(c), count(c, LOCAL_VALID));
    rt_all_reduce(c->rt, c->world, RT_SUM, &c->out[LOSS_SUM], term);
    rt_binary(c->rt, RT_DIV, &c->out[NORMALIZED_LOSS], &c->out[LOSS_SUM], count(c, GLOBAL_VALID));
    rt_binary(c->rt, RT_ADD, &c->out[GRAD_LOSS], through_mean(c), through_sum(c));
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    double u = dtype_roundoff(c->setting->dtype);
    pkb_tensor *v = through_mean(c), *w = through_sum(c), *term = rt_new(c->rt, PKB_F32, RT_SCALAR);
    rt_binary(c->rt, RT_MUL, term, valid_loss(c), count(c, LOCAL_VALID));
    rt_unary(c->rt, RT_ABS, term, term);
    rt_all_reduce(c->rt, c->world, RT_SUM, tol[LOSS_SUM], term);
    rt_binary_scalar(c->rt, RT_MUL, tol[LOSS_SUM], tol[LOSS_SUM], (c->world->size + 3) * u);
    rt_binary(c->rt, RT_DIV, tol[NORMALIZED_LOSS], tol[LOSS_SUM], count(c, GLOBAL_VALID));
    rt_unary(c->rt, RT_ABS, v, v);
    rt_unary(c->rt, RT_ABS, w, w);
    rt_binary(c->rt, RT_ADD, tol[GRAD_LOSS], v, w);
    rt_binary_scalar(c->rt, RT_MUL, tol[GRAD_LOSS], tol[GRAD_LOSS], 5 * u);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double size = kit_element(s);
    cost->flops = 10;
    cost->hbm_bytes = 3 * size + 16 + 3 * size;
    cost->link_bytes = size * (s->world - 1);
}

const struct problem problem_23 = {
    .id = 23,
    .name = "23_grad_acc_loss",
    .family = "data_parallel",
    .origin = "token-weighted loss for gradient accumulation, forward and backward, as in VeOmni and xorl",
    .summary =
        "Turn a rank's mean loss into its part of the mean over the valid tokens of all ranks, and compute the gradient with "
        "respect to the local loss; only scalars are exchanged.",
    .source = "problems/data_parallel/23_grad_acc_loss.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .bound = bound,
    .check = kit_check_bound,
    .cost = cost,
};
