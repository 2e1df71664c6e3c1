/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/expert_parallel/fused.h"

#include "problems/expert_parallel/draw.h"

int fused_supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (kit_require_least(s, "F", 1, err) < 0)
        return -1;
    return moe_require_experts(s, problem_int(s, "E"), problem_int(s, "k"), err);
}

void fused_init(const struct problem_setting *s, struct problem_inputs *set)
{
    moe_layer_init(s, set, &(const struct moe_recipe){.router_bias = 1});
}
