/* SPDX-License-Identifier: Apache-2.0 */
/* 32 fused_moe_fwd_lora: the forward pass of a layer of experts whose projections have low-rank adapters.
 *
 * Parameters   M: tokens per rank. N: width of a token. F: inner size of an expert. k: experts per token. E: experts,
 *              divided evenly over the ranks; rank q owns experts q*L to q*L + L - 1, L = E / W, which share one set of weights.
 *              rk: rank of the adapters.
 * Inputs       h (M, N); Wr (E, N), br (E): the router; Wg (F, N), bg (F), Wu (F, N), bu (F), Wd (N, F), bd (N): the experts of
 *              this rank; Ag (rk, N), Bg (F, rk), Au (rk, N), Bu (F, rk), Ad (rk, F), Bd (N, rk): low-rank adapters of the three
 *              projections. All of T and different on every rank, the router too.
 * Output       out (M, N) of T, different on every rank: problems/expert_parallel/layer.h, that is
 *                  out[t] = sum over the k experts e with the largest P[t, e] of R(P[t, e] * MLP of e's owner(h[t])),
 *                  P = R(softmax(R(h Wr^T + br))),   MLP(x) = down(R(R(silu(gate(x))) * up(x))),
 *                  gate(x) = R(R(x Wg^T + bg) + R(R(x Ag^T) Bg^T)), up and down likewise,
 *              R rounding to T, silu(z) = z / (1 + exp(-z)); the smaller e first where P is equal; no normalisation of the k
 *              weights; additions rounded to T.
 * One rank     all experts are the same: out[t] = (sum of the k weights) * MLP(h[t]), up to rounding.
 * Arithmetic   products accumulate in f32 (f64 for T = f64) and are rounded once, after the bias; a fused program may keep in f32
 *              what is rounded here, merge an adapter into its weight or add both in f32.
 * Check        relative to the rms of a row of out: no element off by more than 0.15, the root mean square at most 0.025, for
 *              bf16; an eighth of that for f16; 1e-4 for f32, 1e-9 for f64.
 * Inputs       h is N(0,1), Wr N(0, 1/N), br N(0,1), so that all chosen experts matter; the experts are uniform in
 *              +-1/sqrt(columns); Ag, Au are N(0, 1/N), Ad N(0, 1/F), B N(0, 1/(4 rk)), so that adapters weigh as much as the
 *              rest. Tokens whose choice is not clear are drawn again (choice.h). In every third set one rank gets no token,
 *              where enough experts remain. pkb profile: Wr and the adapters N(0,1), no token drawn again; f16 is refused at
 *              sizes for which results would be infinite.
 * Ideal cost   k*M rows per rank, the expectation where experts are equally popular.
 */
#include <math.h>

#include "problems/expert_parallel/fused.h"

static const struct problem_param params[] = {
    FUSED_PARAMS,
    {"rk", 8, 4, true, "rank of the adapters"},
};

#define LARGEST_F16 65504

/* About how large the results of experts are with the published inputs, where adapters of N(0,1) dominate. */
static double published_size(const struct problem_setting *s)
{
    double rank = problem_real(s, "rk");
    return problem_real(s, "N") * rank / 2 * sqrt(problem_real(s, "F") * rank);
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (kit_require_least(s, "rk", 1, err) < 0)
        return -1;
    if (s->dtype == PKB_F16 && s->inputs == PROFILE_PKB && 4 * published_size(s) > LARGEST_F16)
        return pkb_error_set(err, "results of about %.2g and more with the pkb inputs are infinite in f16", published_size(s));
    return fused_supports(s, err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    return moe_layer_inputs(s, t, "h", problem_int(s, "E"), problem_int(s, "rk"));
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    moe_layer_check(s, 0.15, 0.025, check);
}

const struct problem problem_32 = {
    .id = 32,
    .name = "32_fused_moe_fwd_lora",
    .family = "expert_parallel",
    .origin = "xorl (Together, after VeOmni): forward of a layer of experts with LoRA adapters",
    .summary = "Layer of experts with a low-rank adapter on each of the three projections: router, dispatch by all-to-all, "
               "SwiGLU, return and weighted sum.",
    .source = "problems/expert_parallel/32_fused_moe_fwd_lora.c",
    .worlds = "E % W == 0",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = moe_layer_outputs,
    .init = fused_init,
    .reference = moe_layer_reference,
    .check = check,
    .cost = moe_layer_cost,
};
