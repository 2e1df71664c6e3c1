/* SPDX-License-Identifier: Apache-2.0 */
/* 30 moe_epgroupgemm_lora_backward: the gradients of the LoRA factors that all experts share are summed over the ranks, in place.
 *
 * Parameters   N: width of the model. rk: rank of the LoRA factors.
 * Inputs       dA1, dA2 (rk, N) and dB (N, rk) of T, different on every rank: gradients of the gate's and the up projection's A
 *              and of the down projection's B.
 * Outputs      the same three, in place and the same on every rank:
 *                  X <- sum over the ranks q of X_q.
 *              No average, no factor; there is no product in this problem, its name notwithstanding.
 * One rank     nothing changes.
 * Arithmetic   The reference accumulates in f32 (f64 for T = f64) in rank order and rounds once to T; a result may add in any
 *              order and round to T after each addition.
 * Check        problems/collective/sum.h: bound per element and one on the norm.
 * Inputs       N(0,1) times a factor in [1/4, 4) drawn per rank, so that a lost or doubled summand shows. pkb profile: N(0,1).
 * Ideal cost   reduce-scatter, then all-gather.
 */
#include <math.h>

#include "problems/collective/sum.h"

static const struct problem_param params[] = {
    {"N", 1024, 48, true, "width of the model"},
    {"rk", 8, 4, true, "rank of the LoRA factors"},
};

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t n = problem_int(s, "N"), rank = problem_int(s, "rk");
    kit_tensor(&t[0], "dA1", s->dtype, RT_SHAPE(rank, n));
    kit_tensor(&t[1], "dA2", s->dtype, RT_SHAPE(rank, n));
    kit_tensor(&t[2], "dB", s->dtype, RT_SHAPE(n, rank));
    return 3;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int n = inputs(s, t);
    for (int i = 0; i < n; i++)
        kit_in_place(&t[i], i);
    return n;
}

/* (1 + u) 2^e with e from -2 to 1. */
static double rank_factor(const struct problem_setting *s, const struct problem_inputs *set)
{
    struct rng r = problem_rng(s, set, KIT_STREAM);
    return ldexp(1 + rng_uniform(&r, 0), (int)rng_integer(&r, 1, -2, 2));
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    double factor = s->inputs == PROFILE_PKB ? 1 : rank_factor(s, set);
    for (int i = 0; i < 3; i++)
        kit_fill_scaled_normal(s, set, i, factor);
}

static void reference(const struct problem_call *c)
{
    for (int i = 0; i < 3; i++)
        rt_all_reduce(c->rt, c->world, RT_SUM, &c->out[i], &c->out[i]);
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    for (int i = 0; i < 3; i++)
        rt_all_reduce(c->rt, c->world, RT_SUM, tol[i], sum_bound_term(c, &c->in[i]));
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double elements = 3 * problem_real(s, "rk") * problem_real(s, "N"), bytes = elements * kit_element(s);
    cost->flops = elements * (s->world - 1.0);
    cost->hbm_bytes = 2 * bytes;
    cost->link_bytes = 2 * bytes * (s->world - 1.0) / s->world;
}

const struct problem problem_30 = {
    .id = 30,
    .name = "30_moe_epgroupgemm_lora_backward",
    .family = "expert_parallel",
    .origin = "xorl (Together, after VeOmni): backward of the grouped expert products with LoRA factors shared by all experts",
    .summary = "Sum three small LoRA gradient matrices over all ranks, in place.",
    .source = "problems/expert_parallel/30_moe_epgroupgemm_lora_backward.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .bound = bound,
    .check = sum_check_bounds,
    .cost = cost,
};
