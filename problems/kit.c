/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Elements that a filler makes before it rounds them. */
#define BLOCK 512

void kit_tensor(struct problem_tensor *t, const char *name, int dtype, int ndim, const int64_t *shape)
{
    memset(t, 0, sizeof(*t));
    t->name = name;
    t->form.dtype = dtype;
    t->form.ndim = ndim;
    for (int i = 0; i < ndim; i++)
        t->form.shape[i] = shape[i];
}

void kit_host(struct problem_tensor *input)
{
    input->host = true;
}

void kit_in_place(struct problem_tensor *output, int input)
{
    output->in_place = 1 + input;
}

void kit_counted_rows(struct problem_tensor *t, int count)
{
    t->rows_in = 1 + count;
}

void kit_partial_rows(struct problem_tensor *input)
{
    input->rows_in = ROWS_ELSEWHERE;
}

int kit_peer(int rank, int offset, int world)
{
    return ((rank + offset) % world + world) % world;
}

double kit_element(const struct problem_setting *s)
{
    return (double)dtype_size(s->dtype);
}

int64_t kit_divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

int64_t kit_round_up(int64_t n, int64_t multiple)
{
    return kit_divide_up(n, multiple) * multiple;
}

int64_t kit_share(const struct problem_setting *s, const char *total, const char *least)
{
    int64_t share = problem_int(s, total) / s->world, smallest = problem_int(s, least);
    return share > smallest ? share : smallest;
}

int kit_require_rank(const struct problem_setting *s, const char *name, struct pkb_error *err)
{
    int64_t value = problem_int(s, name);
    if (value >= s->world)
        return pkb_error_set(err, "%s = %lld is not one of the %d ranks (0 to %d)", name, (long long)value, s->world,
                             s->world - 1);
    return 0;
}

int kit_require_divisible(const struct problem_setting *s, const char *name, struct pkb_error *err)
{
    int64_t value = problem_int(s, name);
    if (value % s->world != 0)
        return pkb_error_set(err, "%s = %lld is not divisible by %d ranks", name, (long long)value, s->world);
    return 0;
}

int kit_require_least(const struct problem_setting *s, const char *name, int64_t least, struct pkb_error *err)
{
    int64_t value = problem_int(s, name);
    if (value < least)
        return pkb_error_set(err, "%s = %lld is less than %lld", name, (long long)value, (long long)least);
    return 0;
}

int kit_require_pairs(const struct problem_setting *s, struct pkb_error *err)
{
    if (s->world > 1 && s->world % 2 != 0)
        return pkb_error_set(err, "%d ranks do not form pairs", s->world);
    return 0;
}

double kit_rounded(int dtype, double x)
{
    double storage = 0;
    dtype_from_f64(dtype, &storage, &x, 1);
    dtype_to_f64(dtype, &x, &storage, 1);
    return x;
}

size_t kit_numel(const pkb_tensor *t)
{
    size_t n = 1;
    for (int i = 0; i < t->ndim; i++)
        n *= (size_t)t->shape[i];
    return n;
}

double *kit_scratch(size_t n)
{
    double *numbers = calloc(n + 1, sizeof(*numbers));
    if (!numbers) {
        fprintf(stderr, "no memory for %zu numbers of a problem's inputs\n", n);
        abort();
    }
    return numbers;
}

void kit_fill_normal(const struct problem_setting *s, struct problem_inputs *set, int tensor)
{
    struct rng r = problem_rng(s, set, (uint32_t)tensor);
    pkb_tensor *t = &set->in[tensor];
    rng_fill_normal(&r, t->dtype, t->data, kit_numel(t));
}

void kit_fill_integers(const struct problem_setting *s, struct problem_inputs *set, int tensor, int64_t low, int64_t high)
{
    struct rng r = problem_rng(s, set, (uint32_t)tensor);
    pkb_tensor *t = &set->in[tensor];
    rng_fill_integers(&r, t->dtype, t->data, kit_numel(t), low, high + 1);
}

struct scaled {
    struct rng rng;
    double scale;
};

static double scaled_normal(const void *arg, size_t i)
{
    const struct scaled *scaled = arg;
    return scaled->scale * rng_normal(&scaled->rng, i);
}

void kit_fill_scaled_normal(const struct problem_setting *s, struct problem_inputs *set, int tensor, double scale)
{
    struct scaled scaled = {problem_rng(s, set, (uint32_t)tensor), scale};
    kit_fill_with(&set->in[tensor], scaled_normal, &scaled);
}

void kit_fill_uniform(const struct problem_setting *s, struct problem_inputs *set, int tensor, double low, double high)
{
    struct rng r = problem_rng(s, set, (uint32_t)tensor);
    pkb_tensor *t = &set->in[tensor];
    rng_fill_uniform(&r, t->dtype, t->data, kit_numel(t), low, high);
}

void kit_fill_with(pkb_tensor *t, kit_value_fn *value, const void *arg)
{
    double block[BLOCK];
    size_t n = kit_numel(t);
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        for (size_t i = 0; i < count; i++)
            block[i] = value(arg, at + i);
        dtype_from_f64(t->dtype, (char *)t->data + at * dtype_size(t->dtype), block, count);
    }
}

static double same_value(const void *arg, size_t i)
{
    (void)i;
    return *(const double *)arg;
}

void kit_fill_rows(pkb_tensor *t, int64_t first, int64_t count, double value)
{
    size_t row_bytes = t->shape[0] > 0 ? kit_numel(t) / (size_t)t->shape[0] * dtype_size(t->dtype) : 0;
    pkb_tensor rows = *t;
    rows.data = (char *)t->data + (size_t)first * row_bytes;
    rows.shape[0] = count;
    kit_fill_with(&rows, same_value, &value);
}

void kit_fill_constant(pkb_tensor *t, double value)
{
    kit_fill_with(t, same_value, &value);
}

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

int64_t kit_random_step(const struct rng *rng, uint64_t index, int64_t n)
{
    int64_t step = rng_integer(rng, index, 1, n + 1);
    while (greatest_divisor(step, n) != 1)
        step++;
    return step % n;
}

struct problem_setting kit_as_rank(const struct problem_setting *s, int rank)
{
    struct problem_setting other = *s;
    other.rank = rank;
    return other;
}

const struct rt_group *kit_stride_group(const struct problem_call *c, int first, int stride, int size)
{
    int ranks[PROBLEM_MAX_WORLD];
    for (int i = 0; i < size && i < PROBLEM_MAX_WORLD; i++)
        ranks[i] = first + i * stride;
    return rt_group(c->rt, size, ranks);
}

pkb_tensor *kit_pass_right(struct rt *rt, const struct rt_group *g, const pkb_tensor *t)
{
    if (rt_status(rt, NULL) < 0)
        return NULL;
    pkb_tensor *received = rt_new_like(rt, t->dtype, t);
    rt_p2p_begin(rt);
    rt_send(rt, g, t, kit_peer(g->rank, 1, g->size));
    rt_recv(rt, g, received, kit_peer(g->rank, -1, g->size));
    rt_p2p_end(rt);
    return received;
}

pkb_tensor *kit_magnitude(const struct problem_call *c, const pkb_tensor *x, double factor)
{
    pkb_tensor *m = rt_new_like(c->rt, PKB_F32, x);
    rt_unary(c->rt, RT_ABS, m, x);
    rt_binary_scalar(c->rt, RT_MUL, m, m, factor);
    return m;
}

void kit_check_exact(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)s;
    (void)output;
    *check = (struct problem_check){.kind = CHECK_EXACT};
}

void kit_check_bound(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)s;
    (void)output;
    *check = (struct problem_check){.kind = CHECK_BOUND};
}

double kit_exact_limit(const struct problem_setting *s)
{
    return 1 / dtype_roundoff(s->dtype);
}

int kit_accumulate_dtype(const struct problem_setting *s)
{
    return s->dtype == PKB_F64 ? PKB_F64 : PKB_F32;
}

double kit_accumulate_roundoff(const struct problem_setting *s)
{
    return dtype_roundoff(kit_accumulate_dtype(s));
}

double kit_least_step(const struct problem_setting *s)
{
    switch (s->dtype) {
    case PKB_F16:
        return ldexp(1, -24);
    case PKB_BF16:
        return ldexp(1, -133);
    case PKB_F32:
        return ldexp(1, -149);
    default:
        return ldexp(1, -1074);
    }
}

bool kit_is_narrow(const struct problem_setting *s)
{
    return s->dtype == PKB_BF16 || s->dtype == PKB_F16;
}
