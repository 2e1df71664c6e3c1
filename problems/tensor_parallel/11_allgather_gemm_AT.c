/* SPDX-License-Identifier: Apache-2.0 */
/* 11 allgather_gemm_AT: gather the transposed A, which is sharded by columns, and multiply it by the rank's own full B; the
 * result is C transposed.
 *
 * Parameters   M, N: rows and columns of C. K: inner dimension, divided over the ranks; K_local = K / W.
 * Inputs       A_local (M, K_local) of T, columns r*K_local to (r+1)*K_local - 1 of A;
 *              B (K, N) of T. Both differ on every rank: B is not shared.
 * Output       Ct (N, M) of T, different on every rank, which is C = A * B stored by columns:
 *                  A = A_0, A_1, ... side by side,  Ct[n, m] = sum over k of A[m, k] * B[k, n].
 *              The transposed shards (K_local, M) of all ranks one below the other are the transpose of A: what is gathered needs
 *              no rearrangement.
 * One rank     Ct is the transpose of A_local * B.
 * Arithmetic   f32 accumulation (f64 for T = f64; true f32 for T = f32), one rounding to T at the end.
 * Check        problems/tensor_parallel/gemm.h: exact on entries -1, 0, 1 while K terms fit T (bf16, f16), else
 *                  |C - Cc| <= 2 * u * |Cc| + 2 * K * e * |A| * |B|
 *              and the limit on the norm.
 */
#include "problems/tensor_parallel/gathered.h"

static const struct problem_param params[] = {GATHERED_PARAMS};

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "Ct", s->dtype, RT_SHAPE(problem_int(s, "N"), problem_int(s, "M")));
    return 1;
}

/* The transpose of A: every rank's transposed columns one below the other. */
static pkb_tensor *gather_transposed(const struct problem_call *c)
{
    const pkb_tensor *shard = &c->in[GATHERED_A];
    int64_t m = shard->shape[0], k_local = shard->shape[1];
    pkb_tensor *transposed = rt_new(c->rt, shard->dtype, RT_SHAPE(k_local, m));
    pkb_tensor *at = rt_new(c->rt, shard->dtype, RT_SHAPE(c->world->size * k_local, m));
    rt_permute(c->rt, transposed, shard, (const int[]){1, 0});
    rt_all_gather(c->rt, c->world, at, transposed);
    return at;
}

static void reference(const struct problem_call *c)
{
    rt_matmul(c->rt, &c->out[0], &c->in[GATHERED_B], true, gather_transposed(c), false);
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    pkb_tensor *magnitude = gemm_magnitude(c, &c->in[GATHERED_B], true, gather_transposed(c));
    gemm_product_bound(c, tol[0], &c->out[0], magnitude, problem_real(c->setting, "K"));
}

const struct problem problem_11 = {
    .id = 11,
    .name = "11_allgather_gemm_AT",
    .family = "tensor_parallel",
    .origin = "fused all-gather and product as in Megatron-LM, TransformerEngine, Flux and ParallelKittens, gathered transposed",
    .summary =
        "Gather the transpose of the matrix A, sharded by columns, from all ranks and multiply it by a full local B, which "
        "gives the product transposed.",
    .source = "problems/tensor_parallel/11_allgather_gemm_AT.c",
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
