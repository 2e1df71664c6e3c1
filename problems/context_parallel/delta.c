/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/context_parallel/delta.h"

/* Temporaries of a step; the state (B, H, K, V). */
struct step {
    pkb_tensor *state, *change; /* (B, H, K, V) */
    pkb_tensor *u;              /* (B, H, 1, V) */
    int64_t b, h, k, v;
};

static struct step begin(struct rt *rt, const struct delta *d)
{
    struct step s = {.b = d->q->shape[1], .h = d->q->shape[2], .k = d->q->shape[3], .v = d->v->shape[3]};
    s.state = rt_new(rt, PKB_F32, RT_SHAPE(s.b, s.h, s.k, s.v));
    s.change = rt_new_like(rt, PKB_F32, s.state);
    s.u = rt_new(rt, PKB_F32, RT_SHAPE(s.b, s.h, 1, s.v));
    rt_fill(rt, s.state, 0);
    return s;
}

/* A token's numbers as matrices per batch and head. */
static pkb_tensor *matrices(struct rt *rt, const struct step *s, const pkb_tensor *t, int64_t token, int64_t rows,
                            int64_t columns)
{
    return rt_view(rt, rt_entry(rt, t, token), RT_SHAPE(s->b, s->h, rows, columns));
}

static void take_token(struct rt *rt, const struct step *s, const struct delta *d, int64_t token, pkb_tensor *o)
{
    bool per_channel = d->decay->ndim == 4;
    const pkb_tensor *k = matrices(rt, s, d->k, token, 1, s->k);
    rt_binary(rt, RT_MUL, s->state, s->state, matrices(rt, s, d->decay, token, per_channel ? s->k : 1, 1));
    rt_matmul(rt, s->u, k, false, s->state, false);
    rt_binary(rt, RT_SUB, s->u, matrices(rt, s, d->v, token, 1, s->v), s->u);
    rt_binary(rt, RT_MUL, s->u, s->u, matrices(rt, s, d->beta, token, 1, 1));
    rt_matmul(rt, s->change, k, true, s->u, false);
    rt_binary(rt, RT_ADD, s->state, s->state, s->change);
    rt_matmul(rt, matrices(rt, s, o, token, 1, s->v), matrices(rt, s, d->q, token, 1, s->k), false, s->state, false);
}

pkb_tensor *delta_rule(struct rt *rt, const struct delta *d)
{
    if (rt_status(rt, NULL) < 0)
        return NULL;
    struct step s = begin(rt, d);
    pkb_tensor *o = rt_new_like(rt, PKB_F32, d->v);
    for (int64_t token = 0; token < d->q->shape[0]; token++)
        take_token(rt, &s, d, token, o);
    return o;
}

pkb_tensor *delta_swapped(struct rt *rt, const pkb_tensor *t)
{
    if (rt_status(rt, NULL) < 0)
        return NULL;
    static const int order[PKB_MAX_DIMS] = {1, 0, 2, 3, 4, 5, 6, 7};
    pkb_tensor form = *t;
    form.shape[0] = t->shape[1];
    form.shape[1] = t->shape[0];
    pkb_tensor *swapped = rt_new_like(rt, t->dtype, &form);
    rt_permute(rt, swapped, t, order);
    return swapped;
}

pkb_tensor *delta_widened(struct rt *rt, const pkb_tensor *t)
{
    pkb_tensor *wide = rt_new_like(rt, PKB_F32, t);
    rt_copy(rt, wide, t);
    return wide;
}

void delta_normalise(struct rt *rt, pkb_tensor *x, double least, double factor)
{
    if (rt_status(rt, NULL) < 0)
        return;
    pkb_tensor form = *x;
    form.shape[x->ndim - 1] = 1;
    pkb_tensor *squares = rt_new_like(rt, PKB_F32, x), *norm = rt_new_like(rt, PKB_F32, &form);
    rt_unary(rt, RT_SQUARE, squares, x);
    rt_reduce_axis(rt, RT_SUM, norm, squares, -1);
    rt_unary(rt, RT_SQRT, norm, norm);
    rt_binary_scalar(rt, RT_MAX, norm, norm, least);
    rt_binary(rt, RT_DIV, x, x, norm);
    rt_binary_scalar(rt, RT_MUL, x, x, factor);
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

struct sum {
    struct rng a, b;
};

static double sum_value(const void *arg, size_t i)
{
    const struct sum *sum = arg;
    return rng_normal(&sum->a, i) + rng_normal(&sum->b, i);
}

void delta_fill_query(const struct problem_setting *s, struct problem_inputs *set, int q, int k)
{
    struct sum sum = {problem_rng(s, set, (uint32_t)k), problem_rng(s, set, (uint32_t)q)};
    kit_fill_with(&set->in[q], sum_value, &sum);
}

/* Part of a vector. */
struct part {
    struct rng rng;
    double low, step;
    size_t first;
};

static double uniform_value(const void *arg, size_t i)
{
    const struct part *part = arg;
    return rng_uniform(&part->rng, part->first + i) - 0.5;
}

void delta_fill_shared(const struct problem_setting *s, struct problem_inputs *set, int tensor, int64_t first)
{
    struct part part = {.rng = problem_rng_shared(s, set, (uint32_t)tensor), .first = (size_t)first};
    kit_fill_with(&set->in[tensor], uniform_value, &part);
}

static double ramp_value(const void *arg, size_t i)
{
    const struct part *part = arg;
    return part->low + part->step * (double)(part->first + i);
}

void delta_fill_ramp(struct problem_inputs *set, int tensor, double low, int64_t first, int64_t n)
{
    struct part part = {.low = low, .step = n > 1 ? 0.2 / (double)(n - 1) : 0, .first = (size_t)first};
    kit_fill_with(&set->in[tensor], ramp_value, &part);
}

void delta_check(const struct problem_setting *s, int64_t row, struct problem_check *check)
{
    double limit = kit_is_narrow(s) ? 0.01 * dtype_roundoff(s->dtype) / dtype_roundoff(PKB_BF16) : 1e-4;
    *check = (struct problem_check){.kind = CHECK_ROWS, .row = row, .row_max = 8 * limit, .row_rms = limit};
}
