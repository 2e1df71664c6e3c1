/* SPDX-License-Identifier: Apache-2.0 */
/* 16 gemm_reducescatter: multiply A and B, sharded by the inner dimension; row block r of the summed product on rank r.
 *
 * Parameters   M, N: rows and columns of the whole product, M_local = M / W. K: inner dimension over all ranks,
 *              K_local = floor(K / W); a remainder is not used.
 * Inputs       A_local (M, K_local), B_local (K_local, N) of T, different on every rank.
 * Output       C_local (M_local, N) of T:
 *                  P_q[m, n] = sum over k of A_q[m, k] * B_q[k, n], rounded to T,
 *                  on rank r   C[i, n] = sum over the ranks q of P_q[r*M_local + i, n].
 * One rank     C_local = P_0.
 * Arithmetic   as in 13: f32 accumulation (f64 for T = f64; true f32 for T = f32), the products rounded to T before they are summed,
 *              in any order, with or without rounding in between.
 * Check        problems/tensor_parallel/gemm.h: exact on entries -1, 0, 1 while W*K_local terms fit T (bf16, f16), else
 *                  |C - Cc| <= (W + 2) * u * sum_q |P_q| + 2 * K * e * sum_q |A_q| * |B_q|
 *              and the limit on the norm.
 */
#include "problems/tensor_parallel/gemm.h"

static const struct problem_param params[] = {
    {"M", 1024, 24, true, "rows of the whole product"},
    {"N", 1024, 72, true, "columns of the product"},
    {"K", 512, 48, true, "inner dimension over all ranks"},
};

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    int64_t k = problem_int(s, "K");
    if (k < s->world)
        return pkb_error_set(err, "K = %lld is less than the %d ranks", (long long)k, s->world);
    return kit_require_divisible(s, "M", err);
}

static int64_t k_local(const struct problem_setting *s)
{
    return problem_int(s, "K") / s->world;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "A_local", s->dtype, RT_SHAPE(problem_int(s, "M"), k_local(s)));
    kit_tensor(&t[1], "B_local", s->dtype, RT_SHAPE(k_local(s), problem_int(s, "N")));
    return 2;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "C_local", s->dtype, RT_SHAPE(problem_int(s, "M") / s->world, problem_int(s, "N")));
    return 1;
}

static void reference(const struct problem_call *c)
{
    rt_reduce_scatter(c->rt, c->world, RT_SUM, &c->out[0], gemm_partial(c));
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    rt_reduce_scatter(c->rt, c->world, RT_SUM, tol[0], gemm_bound_term(c));
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double m = problem_real(s, "M"), n = problem_real(s, "N"), k = (double)k_local(s);
    double size = kit_element(s), others = s->world - 1.0, m_local = m / s->world;
    cost->flops = 2 * m * n * k + others * m_local * n;
    cost->hbm_bytes = size * (m * k + k * n + m_local * n) + 2 * size * others * m_local * n;
    cost->link_bytes = others * m_local * n * size;
}

const struct problem problem_16 = {
    .id = 16,
    .name = "16_gemm_reducescatter",
    .family = "tensor_parallel",
    .origin =
        "row-parallel linear layer with Megatron-LM sequence parallelism; fused as in TransformerEngine, Flux, ParallelKittens",
    .summary =
        "Multiply A and B, sharded by the inner dimension, sum the products over all ranks and leave row block r of the sum on "
        "rank r.",
    .source = "problems/tensor_parallel/16_gemm_reducescatter.c",
    .worlds = "M % W == 0 and W <= K",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = gemm_summed_init,
    .reference = reference,
    .bound = bound,
    .check = gemm_summed_check,
    .cost = cost,
};
