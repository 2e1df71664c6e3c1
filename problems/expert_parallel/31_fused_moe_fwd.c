/* SPDX-License-Identifier: Apache-2.0 */
/* 31 fused_moe_fwd: the forward pass of a layer of experts.
 *
 * Parameters   M: tokens per rank. N: width of a token. F: inner size of an expert. k: experts per token. E: experts,
 *              divided evenly over the ranks; rank q owns experts q*L to q*L + L - 1, L = E / W, which share one set of weights.
 * Inputs       h (M, N); Wr (E, N), br (E): the router; Wg (F, N), bg (F), Wu (F, N), bu (F), Wd (N, F), bd (N): the experts of
 *              this rank. All of T and different on every rank, the router too.
 * Output       out (M, N) of T, different on every rank: problems/expert_parallel/layer.h, that is
 *                  out[t] = sum over the k experts e with the largest P[t, e] of R(P[t, e] * MLP of e's owner(h[t])),
 *                  P = R(softmax(R(h Wr^T + br))),   MLP(x) = R(R(R(silu(R(x Wg^T + bg))) * R(x Wu^T + bu)) Wd^T + bd),
 *              R rounding to T, silu(z) = z / (1 + exp(-z)); the smaller e first where P is equal; no normalisation of the k
 *              weights; additions rounded to T.
 * One rank     all experts are the same: out[t] = (sum of the k weights) * MLP(h[t]), up to rounding.
 * Arithmetic   products accumulate in f32 (f64 for T = f64) and are rounded once, after the bias; a fused program may keep in f32
 *              what is rounded here.
 * Check        relative to the rms of a row of out: no element off by more than 0.1, the root mean square at most 0.02, for
 *              bf16; an eighth of that for f16; 1e-4 for f32, 1e-9 for f64.
 * Inputs       h is N(0,1), Wr N(0, 1/N), br N(0,1), so that all chosen experts matter; the experts are uniform in
 *              +-1/sqrt(columns). Tokens whose choice is not clear are drawn again (choice.h). In every third set one rank gets
 *              no token, where enough experts remain. pkb profile: Wr N(0,1), no token drawn again.
 * Ideal cost   k*M rows per rank, the expectation where experts are equally popular.
 */
#include "problems/expert_parallel/fused.h"

static const struct problem_param params[] = {FUSED_PARAMS};

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    return moe_layer_inputs(s, t, "h", problem_int(s, "E"), 0);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    moe_layer_check(s, 0.1, 0.02, check);
}

const struct problem problem_31 = {
    .id = 31,
    .name = "31_fused_moe_fwd",
    .family = "expert_parallel",
    .origin = "forward of VeOmni's layer of experts (ByteDance Seed), dispatch and combination as in Megatron-LM",
    .summary = "Layer of experts: router, top-2, exchange of counts, dispatch by all-to-all, SwiGLU, return by all-to-all and "
               "weighted sum.",
    .source = "problems/expert_parallel/31_fused_moe_fwd.c",
    .worlds = "E % W == 0",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = fused_supports,
    .inputs = inputs,
    .outputs = moe_layer_outputs,
    .init = fused_init,
    .reference = moe_layer_reference,
    .check = check,
    .cost = moe_layer_cost,
};
