/* SPDX-License-Identifier: Apache-2.0 */
/* 13 gemm_allreduce: each rank multiplies its A and B; the products are summed over the ranks, on every rank.
 *
 * Parameters   M, N: rows and columns of C. K: inner dimension of each rank's product (not divided by W).
 * Inputs       A_local (M, K), B_local (K, N) of T, different on every rank.
 * Output       C (M, N) of T, the same on every rank:
 *                  P_q[m, n] = sum over k of A_q[m, k] * B_q[k, n], rounded to T,
 *                  C[m, n] = sum over the ranks q of P_q[m, n].
 * One rank     C = P_0.
 * Arithmetic   f32 accumulation (f64 for T = f64; true f32 for T = f32); the products are rounded to T before they are summed. A
 *              result may sum them in any order, with or without rounding in between.
 * Check        problems/tensor_parallel/gemm.h: exact on entries -1, 0, 1 while W*K terms fit T (bf16, f16), else
 *                  |C - Cc| <= (W + 2) * u * sum_q |P_q| + 2 * K * e * sum_q |A_q| * |B_q|
 *              and the limit on the norm.
 */
#include "problems/tensor_parallel/gemm.h"

static const struct problem_param params[] = {
    {"M", 1024, 24, true, "rows of A and C"},
    {"N", 1024, 72, true, "columns of B and C"},
    {"K", 512, 48, true, "inner dimension per rank"},
};

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "A_local", s->dtype, RT_SHAPE(problem_int(s, "M"), problem_int(s, "K")));
    kit_tensor(&t[1], "B_local", s->dtype, RT_SHAPE(problem_int(s, "K"), problem_int(s, "N")));
    return 2;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "C", s->dtype, RT_SHAPE(problem_int(s, "M"), problem_int(s, "N")));
    return 1;
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    return kit_require_least(s, "K", 1, err);
}

static void reference(const struct problem_call *c)
{
    rt_all_reduce(c->rt, c->world, RT_SUM, &c->out[0], gemm_partial(c));
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    rt_all_reduce(c->rt, c->world, RT_SUM, tol[0], gemm_bound_term(c));
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double m = problem_real(s, "M"), n = problem_real(s, "N"), k = problem_real(s, "K");
    double size = kit_element(s), others = (s->world - 1.0) / s->world;
    cost->flops = 2 * m * n * k + m * n * others;
    cost->hbm_bytes = size * (m * k + k * n + m * n) + 2 * size * m * n * others;
    cost->link_bytes = 2 * others * m * n * size;
}

const struct problem problem_13 = {
    .id = 13,
    .name = "13_gemm_allreduce",
    .family = "tensor_parallel",
    .origin = "row-parallel linear layer of Megatron-LM; fused product and all-reduce as in TensorRT-LLM, Flux, ParallelKittens",
    .summary = "Multiply the local A and B and sum the products over all ranks, leaving the full sum on every rank.",
    .source = "problems/tensor_parallel/13_gemm_allreduce.c",
    .worlds = "any",
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
