/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/expert_parallel/ep.h"

int ep_supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (kit_require_least(s, "I", 1, err) < 0)
        return -1;
    return kit_require_least(s, "k", 1, err);
}

void ep_init(const struct problem_setting *s, struct problem_inputs *set)
{
    moe_layer_init(s, set, &(const struct moe_recipe){.router_bias = 0.25, .expert_bias = 0.1});
}

void ep_check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    moe_layer_check(s, 0.1, 0.02, check);
}

void ep_cost(const struct problem_setting *s, struct problem_cost *cost)
{
    struct moe_sizes z = moe_layer_sizes(s);
    moe_layer_cost(s, cost);
    cost->flops += 2 * (double)z.top_k * (double)z.tokens * (double)z.width;
    cost->hbm_bytes += kit_element(s) * (2 * (double)z.inner + (double)z.width);
}
