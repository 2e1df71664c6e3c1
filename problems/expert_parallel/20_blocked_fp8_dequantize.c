/* SPDX-License-Identifier: Apache-2.0 */
/* 20 blocked_fp8_dequantize: every block of 128 elements is multiplied by its scale in f32, and the chunks go to their ranks.
 *
 * Parameters   M, N: rows and columns of one chunk. b: elements of a block; blocks are cut from the chunk as one long row, so
 *              that a block may straddle rows; M*N is a multiple of b, so that every chunk begins a new one. nb = M*N / b.
 * Inputs       y (W, M, N) and sc (W, nb) of T, different on every rank; y[d] and sc[d] are meant for rank d. The scales have
 *              both signs. In spite of the name nothing is FP8.
 * Output       out (W, M, N) of f32 for every T. With p = i*N + j,
 *                  x[d, i, j] = f32(y[d, i, j]) * sc[d, floor(p / b)]
 *                  on rank r   out[q] = x_q[r].
 *              The scale that belongs to an element is its sender's.
 * One rank     out = x.
 * Arithmetic   the product is rounded once to f32; for T = f64 it is one of f32(y) and the scale in f64.
 * Check        exact: the product is exact in f32 for bf16 and f16, and one rounding for f32 and f64.
 * Inputs       N(0,1).
 * Ideal cost   sends what is smaller, y and sc in T or x in f32.
 */
#include <math.h>

#include "problems/kit.h"

static const struct problem_param params[] = {
    {"M", 1024, 8, true, "rows of a chunk"},
    {"N", 1024, 96, true, "columns of a chunk"},
    {"b", 128, 128, true, "elements of a block"},
};

enum { Y, SCALES };

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    int64_t m = problem_int(s, "M"), n = problem_int(s, "N"), block = problem_int(s, "b"), chunk;
    if (kit_require_least(s, "b", 1, err) < 0)
        return -1;
    if (__builtin_mul_overflow(m, n, &chunk))
        return pkb_error_set(err, "M * N is too large");
    if (chunk % block != 0)
        return pkb_error_set(err, "M * N = %lld is not a multiple of b = %lld", (long long)chunk, (long long)block);
    return 0;
}

static int64_t blocks_per_chunk(const struct problem_setting *s)
{
    return problem_int(s, "M") * problem_int(s, "N") / problem_int(s, "b");
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[Y], "y", s->dtype, RT_SHAPE(s->world, problem_int(s, "M"), problem_int(s, "N")));
    kit_tensor(&t[SCALES], "sc", s->dtype, RT_SHAPE(s->world, blocks_per_chunk(s)));
    return 2;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "out", PKB_F32, RT_SHAPE(s->world, problem_int(s, "M"), problem_int(s, "N")));
    return 1;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    kit_fill_normal(s, set, Y);
    kit_fill_normal(s, set, SCALES);
}

static void reference(const struct problem_call *c)
{
    int64_t blocks = c->world->size * blocks_per_chunk(c->setting), block = problem_call_int(c, "b");
    pkb_tensor *x = rt_new(c->rt, PKB_F32, RT_SHAPE(blocks, block));
    rt_copy(c->rt, x, &c->in[Y]);
    rt_binary(c->rt, RT_MUL, x, x, rt_view(c->rt, &c->in[SCALES], RT_SHAPE(blocks, 1)));
    rt_all_to_all(c->rt, c->world, &c->out[0], x);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double chunk = problem_real(s, "M") * problem_real(s, "N");
    double stored = (chunk + (double)blocks_per_chunk(s)) * kit_element(s), scaled = 4 * chunk;
    cost->flops = s->world * chunk;
    cost->hbm_bytes = s->world * (stored + scaled);
    cost->link_bytes = (s->world - 1.0) * fmin(stored, scaled);
}

const struct problem problem_20 = {
    .id = 20,
    .name = "20_blocked_fp8_dequantize",
    .family = "expert_parallel",
    .origin = "the counterpart of the blocked quantiser of DeepSeek-V3, before an all-to-all as in the dispatch of DeepEP",
    .summary =
        "Multiply every block of 128 elements of the matrices for all ranks by its scale, in f32, and exchange the results.",
    .source = "problems/expert_parallel/20_blocked_fp8_dequantize.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .check = kit_check_exact,
    .cost = cost,
};
