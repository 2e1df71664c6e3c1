/* SPDX-License-Identifier: Apache-2.0 */
/* 19 blocked_fp8_quantize: blocks of consecutive elements become FP8 codes with one scale each; codes and scales of all ranks on
 * every rank.
 *
 * Parameters   M, N: rows and columns per rank. b: elements of a block; N % b == 0, nb = N / b blocks per row.
 * Input        x (M, N) of T, different on every rank.
 * Outputs      y (W*M, N) of fp8_e4m3, sc (W*M, nb) of f32, the same on every rank (rank q's rows are q*M to (q+1)*M - 1). In
 *              f32, for block c of row i, elements c*b to c*b + b-1:
 *                  s = max |x[i, j]| / 448,  d = s, or 1 where s is 0,
 *                  y[i, j] = E4M3(x[i, j] / d),  sc[i, c] = s.
 *              E4M3 rounds to nearest, ties to even, keeps subnormal codes (step 2^-9) and the sign of zero, and saturates at
 *              448. A block of zeros has scale 0 and codes 0. Divisions, not multiplications with a reciprocal.
 * One rank     the own codes and scales.
 * Arithmetic   f32 for every T; T = f64 is rounded to f32 first.
 * Check        codes equal as numbers (the signs of zeros may differ); scales within 4 units in the last place of f32, relative
 *              2^-21.
 * Inputs       A division that is a few units off (those of GPUs are) moves a quotient across the middle between two codes, where
 *              it was close. So, in both profiles, an element whose quotient, evaluated in f64, is within a relative 2^-20 of
 *              such a middle is moved towards zero, by a unit of T or 2^-19 of itself, until it is not.
 *              x = N(0,1) scaled per block by 2^((5i + 3c + r) mod 17 - 8). In every third block element j is scaled by
 *              2^-(j mod 20) as well, which gives subnormal codes and zeros. One block of each rank, another in every trial, is
 *              zero, the next one has a single element that is not.
 */
#include <math.h>

#include "problems/kit.h"

#define LARGEST_CODE 448.0

/* With fewer blocks of a rank none is zero or has a single element. */
#define BLOCKS_FOR_SPECIAL_ONES 4

/* Quotients keep this relative distance from the middle between two codes. */
#define CLEARANCE 0x1p-20

static const struct problem_param params[] = {
    {"M", 1024, 6, true, "rows per rank"},
    {"N", 1024, 256, true, "columns"},
    {"b", 128, 128, true, "elements of a block; divides N"},
};

enum { CODES, SCALES };

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    int64_t n = problem_int(s, "N"), b = problem_int(s, "b");
    if (kit_require_least(s, "b", 1, err) < 0)
        return -1;
    if (n % b != 0)
        return pkb_error_set(err, "N = %lld is not divisible by b = %lld", (long long)n, (long long)b);
    return 0;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "x", s->dtype, RT_SHAPE(problem_int(s, "M"), problem_int(s, "N")));
    return 1;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t rows = s->world * problem_int(s, "M"), n = problem_int(s, "N");
    kit_tensor(&t[CODES], "y", PKB_FP8_E4M3, RT_SHAPE(rows, n));
    kit_tensor(&t[SCALES], "sc", PKB_F32, RT_SHAPE(rows, n / problem_int(s, "b")));
    return 2;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

/* One rank's elements, block by block. */
struct blocks {
    struct rng rng;
    int dtype;
    bool scaled;
    size_t per_row, length;        /* blocks of a row, elements of a block */
    size_t zero_block, lone_block; /* of all blocks of the rank; past the last one: none */
    int shift;                     /* of the scale, by rank */
    double divisor;                /* of the block that the element before was in */
    size_t divisor_block;
};

static double recipe(const struct blocks *k, size_t block, size_t j)
{
    double x = rng_normal(&k->rng, block * k->length + j);
    size_t row = block / k->per_row, column = block % k->per_row;
    if (!k->scaled)
        return x;
    if (block == k->zero_block || (block == k->lone_block && j != k->length / 2))
        return 0;
    int exponent = (int)((5 * row + 3 * column + (size_t)k->shift) % 17) - 8;
    return ldexp(x, exponent - (block % 3 == 1 ? (int)(j % 20) : 0));
}

static double stored(const struct blocks *k, double x)
{
    return kit_rounded(k->dtype, x);
}

/* What the block's elements are divided by, as f32 arithmetic gives it. */
static double block_divisor(const struct blocks *k, size_t block)
{
    float largest = 0;
    for (size_t j = 0; j < k->length; j++)
        largest = fmaxf(largest, fabsf((float)stored(k, recipe(k, block, j))));
    float scale = largest / (float)LARGEST_CODE;
    return scale > 0 ? (double)scale : 1;
}

/* Whether the quotient is close to the middle between two codes. */
static bool is_borderline(double quotient)
{
    int exponent;
    double q = fabs(quotient);
    (void)frexp(q, &exponent);
    double step = ldexp(1, (exponent - 1 > -6 ? exponent - 1 : -6) - 3);
    double middle = (floor(q / step) + 0.5) * step;
    return fabs(q - middle) <= CLEARANCE * q;
}

static double moved(const struct blocks *k, double x)
{
    double next = stored(k, x * (1 - fmax(2 * dtype_roundoff(k->dtype), 2 * CLEARANCE)));
    return next == x ? 0 : next;
}

/* Elements come in order, so a block's divisor is computed once. */
static double block_value(const void *arg, size_t i)
{
    struct blocks *k = *(struct blocks *const *)arg;
    size_t block = i / k->length;
    if (block != k->divisor_block) {
        k->divisor = block_divisor(k, block);
        k->divisor_block = block;
    }
    double x = stored(k, recipe(k, block, i % k->length));
    while (x != 0 && is_borderline((double)(float)x / k->divisor))
        x = moved(k, x);
    return x;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    size_t n = (size_t)problem_int(s, "N"), b = (size_t)problem_int(s, "b"), count = (size_t)problem_int(s, "M") * (n / b);
    struct blocks k = {
        .rng = problem_rng(s, set, 0),
        .dtype = s->dtype,
        .scaled = s->inputs == PROFILE_HARDENED,
        .per_row = n / b,
        .length = b,
        .zero_block = count >= BLOCKS_FOR_SPECIAL_ONES ? (2 + 5 * (size_t)set->trial + (size_t)s->rank) % count : count,
        .lone_block = count >= BLOCKS_FOR_SPECIAL_ONES ? (3 + 5 * (size_t)set->trial + (size_t)s->rank) % count : count,
        .shift = s->rank,
        .divisor_block = count,
    };
    struct blocks *arg = &k;
    kit_fill_with(&set->in[0], block_value, &arg);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* max |x| / 448 of every block, (blocks, 1). */
static pkb_tensor *block_scales(const struct problem_call *c, const pkb_tensor *x, int64_t blocks)
{
    pkb_tensor *magnitude = rt_new_like(c->rt, PKB_F32, x);
    pkb_tensor *scale = rt_new(c->rt, PKB_F32, RT_SHAPE(blocks, 1));
    rt_unary(c->rt, RT_ABS, magnitude, x);
    rt_reduce_axis(c->rt, RT_AMAX, scale, magnitude, 1);
    rt_binary_scalar(c->rt, RT_DIV, scale, scale, LARGEST_CODE);
    return scale;
}

/* E4M3(x / d), d = 1 where the scale is 0. */
static pkb_tensor *encode(const struct problem_call *c, const pkb_tensor *x, const pkb_tensor *scale)
{
    pkb_tensor *divisor = rt_new_like(c->rt, PKB_F32, scale);
    pkb_tensor *quotient = rt_new_like(c->rt, PKB_F32, x);
    pkb_tensor *codes = rt_new_like(c->rt, PKB_FP8_E4M3, x);
    rt_binary_scalar(c->rt, RT_EQ, divisor, scale, 0);
    rt_binary(c->rt, RT_ADD, divisor, divisor, scale);
    rt_binary(c->rt, RT_DIV, quotient, x, divisor);
    rt_binary_scalar(c->rt, RT_MIN, quotient, quotient, LARGEST_CODE);
    rt_binary_scalar(c->rt, RT_MAX, quotient, quotient, -LARGEST_CODE);
    rt_copy(c->rt, codes, quotient);
    return codes;
}

static void reference(const struct problem_call *c)
{
    int64_t b = problem_call_int(c, "b"), blocks = c->in[0].shape[0] * (c->in[0].shape[1] / b);
    pkb_tensor *x = rt_new(c->rt, PKB_F32, RT_SHAPE(blocks, b));
    rt_copy(c->rt, x, &c->in[0]);
    pkb_tensor *scale = block_scales(c, x, blocks);
    rt_all_gather(c->rt, c->world, &c->out[CODES], encode(c, x, scale));
    rt_all_gather(c->rt, c->world, &c->out[SCALES], scale);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)s;
    *check = (struct problem_check){.kind = CHECK_CLOSE, .rtol = output == CODES ? 0 : ldexp(1, -21)};
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double elements = problem_real(s, "M") * problem_real(s, "N"), blocks = elements / problem_real(s, "b");
    cost->flops = 3 * elements;
    cost->hbm_bytes = elements * kit_element(s) + s->world * (elements + 4 * blocks);
    cost->link_bytes = (s->world - 1.0) * (elements + 4 * blocks);
}

const struct problem problem_19 = {
    .id = 19,
    .name = "19_blocked_fp8_quantize",
    .family = "tensor_parallel",
    .origin = "activation quantisation in the manner of DeepSeek-V3 inference, blocks of 128 with a scale each, then all-gather",
    .summary =
        "Quantise the local matrix to FP8 E4M3 with one f32 scale per block of a row and gather codes and scales of all ranks "
        "on every rank.",
    .source = "problems/tensor_parallel/19_blocked_fp8_quantize.c",
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
