/* SPDX-License-Identifier: Apache-2.0 */
/* 44 quantized_grad_allreduce: every rank rounds its gradient to 8-bit integers with one scale per block; the results are
 * averaged.
 *
 * Parameters   n: elements of the gradient. bs: elements of a block; the last block may be shorter.
 * Input        grad (n) of T, different on every rank.
 * Output       avg (n) of T, the same on every rank. For block b of rank r:
 *                  scale_b = max(max over the block of |grad[i]|, 1e-8) / 127
 *                  q[i] = grad[i] / scale_b, rounded to the nearest integer, ties to even, within -127 .. 127
 *                  x_r[i] = q[i] * scale_b
 *                  avg[i] = ( sum over the ranks r of x_r[i] ) / W, rounded to T.
 * One rank     the gradient still goes through the integers.
 * Arithmetic   f32 for every T, divisions included, and one rounding to T at the end. To send integers and scales and to scale
 *              where they arrive gives the same numbers.
 * Check        |avg - ref| <= 2 * u * |ref| + 1e-6 * sum_r |x_r| / W + (sum of scale_b over the ranks whose quotient |grad[i] /
 *              scale_b| lies within 1e-4 of an integer + 1/2) / W: there a scale that differs in its last bit decides
 *              otherwise. u is the unit roundoff of T; f16 has in addition the step of its smallest numbers.
 * Inputs       N(0,1) times 2^k, k in -6 .. 6 for every block and rank; one block is zero on all ranks, and in one, whose k is
 *              at most 0 so that f16 holds it, a single element is 1000 times as large, which moves the others to few integers.
 *              The error of the integers, at most half a scale, is then far above the tolerance, so that a plain mean does not
 *              pass. The pkb profile is N(0,1).
 */
#include <math.h>

#include "problems/kit.h"

static const struct problem_param params[] = {
    {"n", 1048576, 1000, true, "elements of the gradient"},
    {"bs", 128, 16, true, "elements of a block"},
};

/* The largest integer. */
#define LEVELS 127.0

/* Exponents of the blocks' factors: up to this on both sides of 0. */
#define LARGEST_EXPONENT 6
#define OUTLIER 1000.0

/* With fewer blocks none is zero or has an outlier. */
#define BLOCKS_FOR_SPECIAL_ONES 4

static int64_t count_blocks(const struct problem_setting *s)
{
    int64_t n = problem_int(s, "n"), size = problem_int(s, "bs");
    return n / size + (n % size != 0);
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    return kit_require_least(s, "bs", 1, err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "grad", s->dtype, RT_SHAPE(problem_int(s, "n")));
    return 1;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "avg", s->dtype, RT_SHAPE(problem_int(s, "n")));
    return 1;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

struct blocks {
    struct rng values, exponents;
    size_t size;
    size_t zero, outlier; /* blocks; past the last one: none */
};

static struct blocks describe_blocks(const struct problem_setting *s, const struct problem_inputs *set)
{
    struct rng shared = problem_rng_shared(s, set, KIT_STREAM);
    int64_t count = count_blocks(s);
    struct blocks b = {
        .values = problem_rng(s, set, 0),
        .exponents = problem_rng(s, set, KIT_STREAM),
        .size = (size_t)problem_int(s, "bs"),
        .zero = (size_t)count,
        .outlier = (size_t)count,
    };
    if (count >= BLOCKS_FOR_SPECIAL_ONES) {
        b.zero = (size_t)rng_integer(&shared, 0, 0, count);
        b.outlier = (b.zero + 1) % (size_t)count;
    }
    return b;
}

static double block_value(const void *arg, size_t i)
{
    const struct blocks *b = arg;
    size_t block = i / b->size;
    int exponent = (int)rng_integer(&b->exponents, block, -LARGEST_EXPONENT, LARGEST_EXPONENT + 1);
    if (block == b->zero)
        return 0;
    if (block == b->outlier)
        return ldexp((i % b->size == 0 ? OUTLIER : 1) * rng_normal(&b->values, i), exponent < 0 ? exponent : 0);
    return ldexp(rng_normal(&b->values, i), exponent);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    struct blocks b = describe_blocks(s, set);
    if (s->inputs == PROFILE_PKB)
        kit_fill_normal(s, set, 0);
    else
        kit_fill_with(&set->in[0], block_value, &b);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* A gradient in integers, both (blocks, bs), and the scales, (blocks, 1). All f32. */
struct quantized {
    pkb_tensor *quotient, *scale;
};

/* The gradient in f32, padded with zeros to whole blocks. */
static pkb_tensor *in_blocks(const struct problem_call *c)
{
    int64_t n = c->in[0].shape[0], blocks = count_blocks(c->setting), size = problem_call_int(c, "bs");
    pkb_tensor *x = rt_new(c->rt, PKB_F32, RT_SHAPE(blocks * size));
    rt_fill(c->rt, x, 0);
    rt_copy(c->rt, rt_rows(c->rt, x, 0, n), &c->in[0]);
    return rt_view(c->rt, x, RT_SHAPE(blocks, size));
}

static struct quantized quantize(const struct problem_call *c)
{
    pkb_tensor *x = in_blocks(c);
    struct quantized q = {x, rt_new(c->rt, PKB_F32, RT_SHAPE(count_blocks(c->setting), 1))};
    rt_reduce_axis(c->rt, RT_AMAX, q.scale, kit_magnitude(c, x, 1), 1);
    rt_binary_scalar(c->rt, RT_MAX, q.scale, q.scale, 1e-8);
    rt_binary_scalar(c->rt, RT_DIV, q.scale, q.scale, LEVELS);
    rt_binary(c->rt, RT_DIV, q.quotient, x, q.scale);
    return q;
}

static pkb_tensor *dequantize(const struct problem_call *c, const struct quantized *q)
{
    pkb_tensor *x = rt_new_like(c->rt, PKB_F32, q->quotient);
    rt_unary(c->rt, RT_RINT, x, q->quotient);
    rt_binary_scalar(c->rt, RT_MAX, x, x, -LEVELS);
    rt_binary_scalar(c->rt, RT_MIN, x, x, LEVELS);
    rt_binary(c->rt, RT_MUL, x, x, q->scale);
    return x;
}

/* The first elements of x as a vector like the output. */
static pkb_tensor *without_padding(const struct problem_call *c, const pkb_tensor *x)
{
    pkb_tensor *flat = rt_view(c->rt, x, RT_SHAPE(x ? x->shape[0] * x->shape[1] : 0));
    return rt_rows(c->rt, flat, 0, c->out[0].shape[0]);
}

static void reference(const struct problem_call *c)
{
    struct quantized q = quantize(c);
    pkb_tensor *x = dequantize(c, &q);
    rt_all_reduce(c->rt, c->world, RT_SUM, x, x);
    rt_binary_scalar(c->rt, RT_DIV, x, x, c->world->size);
    rt_copy(c->rt, &c->out[0], without_padding(c, x));
}

/* The scale where the quotient is close to the middle between two integers, else 0. */
static pkb_tensor *scale_at_ties(const struct problem_call *c, const struct quantized *q)
{
    pkb_tensor *distance = rt_new_like(c->rt, PKB_F32, q->quotient);
    pkb_tensor *step = rt_new_like(c->rt, PKB_F32, q->quotient);
    rt_unary(c->rt, RT_FLOOR, distance, q->quotient);
    rt_binary(c->rt, RT_SUB, distance, q->quotient, distance);
    rt_binary_scalar(c->rt, RT_SUB, distance, distance, 0.5);
    rt_unary(c->rt, RT_ABS, distance, distance);
    rt_binary_scalar(c->rt, RT_LE, step, distance, 1e-4);
    rt_binary(c->rt, RT_MUL, step, step, q->scale);
    return step;
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    const struct problem_setting *s = c->setting;
    struct quantized q = quantize(c);
    pkb_tensor *x = kit_magnitude(c, dequantize(c, &q), 1e-6);
    pkb_tensor *rounding = kit_magnitude(c, &c->out[0], 2 * dtype_roundoff(s->dtype));
    rt_binary(c->rt, RT_ADD, x, x, scale_at_ties(c, &q));
    rt_all_reduce(c->rt, c->world, RT_SUM, x, x);
    rt_binary_scalar(c->rt, RT_DIV, x, x, c->world->size);
    rt_binary_scalar(c->rt, RT_ADD, rounding, rounding, kit_least_step(s));
    rt_binary(c->rt, RT_ADD, tol[0], rounding, without_padding(c, x));
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double n = problem_real(s, "n"), size = kit_element(s), others = (s->world - 1.0) / s->world;
    double payload = n + 4.0 * (double)count_blocks(s);
    cost->flops = 9 * n;
    cost->hbm_bytes = 2 * size * n + 2 * payload;
    cost->link_bytes = others * payload + others * size * n;
}

const struct problem problem_44 = {
    .id = 44,
    .name = "44_quantized_grad_allreduce",
    .family = "data_parallel",
    .origin = "gradients quantised by blocks before they are reduced, as in DeepSpeed ZeRO++ and compression hooks of DDP",
    .summary = "Round the local gradient to 8-bit integers with one scale per block, scale it back, and average the results of "
               "all ranks.",
    .source = "problems/data_parallel/44_quantized_grad_allreduce.c",
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
