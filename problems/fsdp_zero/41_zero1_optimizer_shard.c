/* SPDX-License-Identifier: Apache-2.0 */
/* 41 zero1_optimizer_shard: one training step in which every rank owns the optimizer's state of a part of the
 * parameters.
 *
 * Parameters, inputs, outputs, check: problems/fsdp_zero/zero.h. The step:
 *     1. rank 0's parameters, as one flat vector, go to all ranks;
 *     2. every rank computes the gradient on its rows (problems/fsdp_zero/mlp.h);
 *     3. the gradients are summed over the ranks, in full on every rank, and divided by W, rounded both times;
 *     4. Adam (problems/fsdp_zero/adam.h) updates the own part of the parameters;
 *     5. all ranks gather the parts.
 * One rank     the same without communication; part = P.
 * Arithmetic   sums over the ranks are in T, accumulated in f32 in rank order here; a result may round after every addition.
 */
#include "problems/fsdp_zero/zero.h"

static const struct problem_param params[] = {ZERO_PARAMS};

static void reference(const struct problem_call *c)
{
    pkb_tensor *flat = zero_broadcast_parameters(c);
    pkb_tensor *mean = zero_gradient(c, flat);
    rt_all_reduce(c->rt, c->world, RT_SUM, mean, mean);
    rt_binary_scalar(c->rt, RT_DIV, mean, mean, c->world->size);
    zero_gather_parameters(c, zero_update(c, zero_own_part(c, flat), zero_own_part(c, mean)));
}

const struct problem problem_41 = {
    .id = 41,
    .name = "41_zero1_optimizer_shard",
    .family = "fsdp_zero",
    .origin = "DeepSpeed ZeRO stage 1: flat parameters, optimizer state partitioned over data-parallel ranks",
    .summary = "One data-parallel training step of a two-layer network whose Adam state is partitioned: broadcast parameters, "
               "all-reduce gradients, update the own part, all-gather.",
    .source = "problems/fsdp_zero/41_zero1_optimizer_shard.c",
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
