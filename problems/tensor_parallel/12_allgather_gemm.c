/* SPDX-License-Identifier: Apache-2.0 */
/* 12 allgather_gemm: gather A, which is sharded by columns, and multiply it by the rank's own full B.
 *
 * Parameters   M, N: rows and columns of C. K: inner dimension, divided over the ranks; K_local = K / W.
 * Inputs       A_local (M, K_local) of T, columns r*K_local to (r+1)*K_local - 1 of A;
 *              B (K, N) of T. Both differ on every rank: B is not shared.
 * Output       C (M, N) of T, different on every rank:
 *                  A = A_0, A_1, ... side by side,  C[m, n] = sum over k of A[m, k] * B[k, n].
 *              The gathered buffer (W, M, K_local) is not A: putting the columns side by side is part of the work.
 * One rank     C = A_local * B.
 * Arithmetic   f32 accumulation (f64 for T = f64; true f32 for T = f32), one rounding to T at the end.
 * Check        problems/tensor_parallel/gemm.h: exact on entries -1, 0, 1 while K terms fit T (bf16, f16), else
 *                  |C - Cc| <= 2 * u * |Cc| + 2 * K * e * |A| * |B|
 *              and the limit on the norm.
 */
#include "problems/axes.h"
#include "problems/tensor_parallel/gathered.h"

static const struct problem_param params[] = {GATHERED_PARAMS};

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "C", s->dtype, RT_SHAPE(problem_int(s, "M"), problem_int(s, "N")));
    return 1;
}

/* A: every rank's columns side by side. */
static pkb_tensor *gather_columns(const struct problem_call *c)
{
    const pkb_tensor *shard = &c->in[GATHERED_A];
    pkb_tensor *a = rt_new(c->rt, shard->dtype, RT_SHAPE(shard->shape[0], c->world->size * shard->shape[1]));
    axes_all_gather(c->rt, c->world, a, shard, 1);
    return a;
}

static void reference(const struct problem_call *c)
{
    rt_matmul(c->rt, &c->out[0], gather_columns(c), false, &c->in[GATHERED_B], false);
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    pkb_tensor *magnitude = gemm_magnitude(c, gather_columns(c), false, &c->in[GATHERED_B]);
    gemm_product_bound(c, tol[0], &c->out[0], magnitude, problem_real(c->setting, "K"));
}

const struct problem problem_12 = {
    .id = 12,
    .name = "12_allgather_gemm",
    .family = "tensor_parallel",
    .origin = "fused all-gather and product as in Megatron-LM, TransformerEngine, Flux and ParallelKittens",
    .summary = "Gather the matrix A, sharded by columns, from all ranks and multiply it by a full local B.",
    .source = "problems/tensor_parallel/12_allgather_gemm.c",
    .worlds = "K % W == 0",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = gathered_supports,
    .inputs = gathered_inputs,
    .outputs = outputs,
    .init = gemm_own_init,
    .reference = reference,
    .bound = bound,
    .check = gemm_own_check,
    .cost = gathered_cost,
};
