/* SPDX-License-Identifier: Apache-2.0 */
/* 43 fused_adam_grad_unshard_allgather: a step of Adam on every rank's shard of the parameters, then all ranks get all of them.
 *
 * Parameters   p: elements of a shard. lr, beta1, beta2, eps, step: problems/fsdp_zero/adam.h.
 * Inputs       g, the gradient, already reduced; w, the parameters; m and v, their moments: (p) of T, different on every rank.
 * Output       full (W*p) of T, the same on every rank: the shards w'_q after the step of problems/fsdp_zero/adam.h, in rank
 *              order. The moments are not returned; the inputs stay.
 * One rank     full = w'.
 * Arithmetic   problems/fsdp_zero/adam.h; the gather moves bits.
 * Check        |full - ref| <= dp of problems/fsdp_zero/adam.h with dg = 0.
 * Inputs       g, w N(0,1); the rest as in problems/fsdp_zero/adam.h.
 */
#include "problems/fsdp_zero/adam.h"

static const struct problem_param params[] = {
    {"p", 4096, 200, true, "elements of a shard"},
    ADAM_PARAMS(0.1, "beta1", "beta2"),
};

enum { PARAM_P, PARAM_ADAM };
enum { G, W, M, V };

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    return adam_supports(s, PARAM_ADAM, err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    static const char *const names[] = {"g", "w", "m", "v"};
    for (int i = 0; i < KIT_COUNT(names); i++)
        kit_tensor(&t[i], names[i], s->dtype, RT_SHAPE(problem_int(s, "p")));
    return KIT_COUNT(names);
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "full", s->dtype, RT_SHAPE(s->world * problem_int(s, "p")));
    return 1;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    adam_init(s, set, PARAM_ADAM);
    kit_fill_normal(s, set, G);
    kit_fill_normal(s, set, W);
    adam_init_moments(s, set, M, V);
}

static struct adam_state state(const struct problem_call *c)
{
    return (struct adam_state){.p = &c->in[W], .m = &c->in[M], .v = &c->in[V], .g = &c->in[G]};
}

static void reference(const struct problem_call *c)
{
    struct adam a = adam_of(c, PARAM_ADAM);
    struct adam_state old = state(c);
    pkb_tensor *m = rt_new_like(c->rt, c->setting->dtype, old.m);
    pkb_tensor *v = rt_new_like(c->rt, c->setting->dtype, old.v);
    pkb_tensor *w = rt_new_like(c->rt, c->setting->dtype, old.p);
    adam_moments(c, &a, &old, m, v);
    adam_update(c, &a, old.p, adam_direction(c, &a, m, v), w);
    rt_all_gather(c->rt, c->world, &c->out[0], w);
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    struct adam a = adam_of(c, PARAM_ADAM);
    struct adam_state old = state(c);
    pkb_tensor *dg = rt_new_like(c->rt, PKB_F32, old.g);
    rt_fill(c->rt, dg, 0);
    rt_all_gather(c->rt, c->world, tol[0], adam_bound(c, &a, &old, dg).p);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double p = problem_real(s, "p"), size = kit_element(s);
    cost->flops = 14 * p;
    cost->hbm_bytes = size * (4 * p + s->world * p);
    cost->link_bytes = size * p * (s->world - 1);
}

const struct problem problem_43 = {
    .id = 43,
    .name = "43_fused_adam_grad_unshard_allgather",
    .family = "fsdp_zero",
    .origin = "optimizer step and all-gather of parameters as in DeepSpeed ZeRO, Megatron-LM's distributed optimizer and FSDP",
    .summary = "Apply Adam to the own shard of the parameters with a gradient that is already reduced, and gather all shards.",
    .source = "problems/fsdp_zero/43_fused_adam_grad_unshard_allgather.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .bound = bound,
    .check = kit_check_bound,
    .cost = cost,
};
