/* SPDX-License-Identifier: Apache-2.0 */
/* 14 gemm_allgather: multiply the own A by the own column block of B; the blocks of all ranks lie side by side on every rank.
 *
 * Parameters   M, N: rows and columns of C; N is divided over the ranks, N_local = N / W. K: inner dimension.
 * Inputs       A (M, K), B (K, N_local) of T, different on every rank: A is not shared, so that no rank can make another's block.
 * Output       C (M, N) of T, the same on every rank:
 *                  C_q[m, n] = sum over k of A_q[m, k] * B_q[k, n], rounded to T,
 *                  C[m, q*N_local + n] = C_q[m, n].
 *              The gathered buffer (W, M, N_local) is not C: a block goes to a range of columns.
 * One rank     C = A * B.
 * Arithmetic   f32 accumulation (f64 for T = f64; true f32 for T = f32), one rounding to T, then data movement.
 * Check        problems/tensor_parallel/gemm.h: exact on entries -1, 0, 1 while K terms fit T (bf16, f16), else
 *                  |C - Cc| <= 2 * u * |Cc| + 2 * K * e * |A_q| * |B_q|
 *              and the limit on the norm.
 */
#include "problems/axes.h"
#include "problems/tensor_parallel/gemm.h"

static const struct problem_param params[] = {
    {"M", 1024, 24, true, "rows of A and C"},
    {"N", 1024, 72, true, "columns of C over all ranks"},
    {"K", 512, 48, true, "inner dimension"},
};

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (kit_require_least(s, "K", 1, err) < 0)
        return -1;
    return kit_require_divisible(s, "N", err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "A", s->dtype, RT_SHAPE(problem_int(s, "M"), problem_int(s, "K")));
    kit_tensor(&t[1], "B", s->dtype, RT_SHAPE(problem_int(s, "K"), problem_int(s, "N") / s->world));
    return 2;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "C", s->dtype, RT_SHAPE(problem_int(s, "M"), problem_int(s, "N")));
    return 1;
}

static void reference(const struct problem_call *c)
{
    axes_all_gather(c->rt, c->world, &c->out[0], gemm_partial(c), 1);
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    pkb_tensor *block = gemm_partial(c);
    pkb_tensor *own = rt_new(c->rt, PKB_F32, RT_SHAPE(c->in[0].shape[0], c->in[1].shape[1]));
    gemm_product_bound(c, own, block, gemm_magnitude(c, &c->in[0], false, &c->in[1]), problem_real(c->setting, "K"));
    axes_all_gather(c->rt, c->world, tol[0], own, 1);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double m = problem_real(s, "M"), n = problem_real(s, "N"), k = problem_real(s, "K");
    double size = kit_element(s), n_local = n / s->world;
    cost->flops = 2 * m * n_local * k;
    cost->hbm_bytes = size * (m * k + k * n_local + m * n);
    cost->link_bytes = (s->world - 1.0) * m * n_local * size;
}

const struct problem problem_14 = {
    .id = 14,
    .name = "14_gemm_allgather",
    .family = "tensor_parallel",
    .origin = "column-parallel linear layer of Megatron-LM with its output gathered",
    .summary =
        "Multiply the local A by the local column block of B and gather the blocks of all ranks side by side on every rank.",
    .source = "problems/tensor_parallel/14_gemm_allgather.c",
    .worlds = "N % W == 0",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = gemm_own_init,
    .reference = reference,
    .bound = bound,
    .check = gemm_own_check,
    .cost = cost,
};
