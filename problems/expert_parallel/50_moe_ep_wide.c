/* SPDX-License-Identifier: Apache-2.0 */
/* 50 moe_ep_wide: a layer of experts with two experts per rank.
 *
 * Parameters   Mt: tokens per rank. Hd: width of a token. I: inner size of an expert. k: experts per token, but at most E.
 *              E = 2 W experts; rank q owns experts 2q and 2q + 1, which share one set of weights.
 * Inputs       x (Mt, Hd); Wr (E, Hd), br (E): the router; Wg (I, Hd), bg (I), Wu (I, Hd), bu (I), Wd (Hd, I), bd (Hd): the
 *              experts of this rank. All of T and different on every rank, the router too.
 * Output       out (Mt, Hd) of T, different on every rank: problems/expert_parallel/layer.h with h = x, M = Mt, N = Hd, F = I,
 *              that is
 *                  out[t] = sum over the k experts e with the largest P[t, e] of R(P[t, e] * MLP of e's owner(x[t])),
 *                  P = R(softmax(R(x Wr^T + br))),   MLP(x) = R(R(R(silu(R(x Wg^T + bg))) * R(x Wu^T + bu)) Wd^T + bd),
 *              R rounding to T, silu(z) = z / (1 + exp(-z)); the smaller e first where P is equal; no normalisation of the k
 *              weights; additions rounded to T.
 * One rank     E = 2: every token goes to both experts, which are the same.
 * Arithmetic   products accumulate in f32 (f64 for T = f64) and are rounded once, after the bias; a fused program may keep in f32
 *              what is rounded here.
 * Check        relative to the rms of a row of out: no element off by more than 0.1, the root mean square at most 0.02, for
 *              bf16; an eighth of that for f16; 1e-4 for f32, 1e-9 for f64.
 * Inputs       x is N(0,1), Wr N(0, 1/Hd), br N(0, 0.25^2), so that all chosen experts matter; the experts' weights are N(0,
 *              1/columns), their biases N(0, 0.1^2). Tokens whose choice is not clear are drawn again (choice.h). In every third
 *              set one rank gets no token, where E > k. pkb profile: Wr, br N(0,1), experts uniform in +-1/sqrt(columns), no
 *              token drawn again.
 * Ideal cost   k*Mt rows per rank, the expectation where experts are equally popular.
 */
#include "problems/expert_parallel/ep.h"

static const struct problem_param params[] = {EP_PARAMS};

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    return moe_layer_inputs(s, t, "x", 2 * s->world, 0);
}

const struct problem problem_50 = {
    .id = 50,
    .name = "50_moe_ep_wide",
    .family = "expert_parallel",
    .origin = "expert parallelism of VeOmni: dispatch and combination by all-to-all as in Megatron-LM",
    .summary =
        "Layer of experts with two experts per rank: router, dispatch of tokens by all-to-all, SwiGLU, return and weighted sum.",
    .source = "problems/expert_parallel/50_moe_ep_wide.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = ep_supports,
    .inputs = inputs,
    .outputs = moe_layer_outputs,
    .init = ep_init,
    .reference = moe_layer_reference,
    .check = ep_check,
    .cost = ep_cost,
};
