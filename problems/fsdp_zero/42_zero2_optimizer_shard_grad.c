/* SPDX-License-Identifier: Apache-2.0 */
/* 42 zero2_optimizer_shard_grad: one training step in which every rank owns the optimizer's state and the gradient of a part of
 * the parameters.
 *
 * Parameters, inputs, outputs, check: problems/fsdp_zero/zero.h. The step:
 *     1. rank 0's parameters, as one flat vector, go to all ranks;
 *     2. every rank computes the gradient on its rows (problems/fsdp_zero/mlp.h);
 *     3. the gradients are summed over the ranks, the own part on every rank, and divided by W, rounded both times;
 *     4. Adam (problems/fsdp_zero/adam.h) updates the own part of the parameters;
 *     5. all ranks gather the parts.
 * One rank     the same without communication; part = P.
 * Arithmetic   sums over the ranks are in T, accumulated in f32 in rank order here; a result may round after every addition.
 */
#include "problems/fsdp_zero/zero.h"

static const struct problem_param params[] = {ZERO_PARAMS};

static void reference(const struct problem_call *c)
{
    pkb_tensor *flat = zero_broadcast_parameters(c), *part = zero_own_part(c, flat);
    pkb_tensor *mean = rt_new_like(c->rt, c->setting->dtype, part);
    rt_reduce_scatter(c->rt, c->world, RT_SUM, mean, zero_gradient(c, flat));
    rt_binary_scalar(c->rt, RT_DIV, mean, mean, c->world->size);
    zero_gather_parameters(c, zero_update(c, part, mean));
}

const struct problem problem_42 = {
    .id = 42,
    .name = "42_zero2_optimizer_shard_grad",
    .family = "fsdp_zero",
    .origin = "DeepSpeed ZeRO stage 2: flat parameters, optimizer state and gradients partitioned over data-parallel ranks",
    .summary = "One data-parallel training step of a two-layer network whose gradients and Adam state are partitioned: broadcast "
               "parameters, reduce-scatter gradients, update the own part, all-gather.",
    .source = "problems/fsdp_zero/42_zero2_optimizer_shard_grad.c",
    .worlds = "W divides the number of parameters; d_hid grows until it does",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = zero_supports,
    .inputs = zero_inputs,
    .outputs = zero_outputs,
    .init = zero_init,
    .reference = reference,
    .bound = zero_bound,
    .check = kit_check_bound,
    .cost = zero_cost,
};
