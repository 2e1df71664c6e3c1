/* SPDX-License-Identifier: Apache-2.0 */
/* What 31 and 32 share: they are one layer of experts (layer.h) without and with adapters. */
#ifndef PKB_PROBLEMS_EXPERT_PARALLEL_FUSED_H
#define PKB_PROBLEMS_EXPERT_PARALLEL_FUSED_H

#include "problems/expert_parallel/layer.h"

#define FUSED_PARAMS                                                                                                             \
    {"M", 1024, 32, true, "tokens per rank"}, {"N", 1024, 64, true, "width of a token"},                                         \
        {"F", 128, 32, true, "inner size of an expert"}, {"k", 2, 2, true, "experts per token"},                                 \
    {                                                                                                                            \
        "E", 8, 8, true, "experts over all ranks"                                                                                \
    }

/* F of at least 1, E and k as moe_require_experts has them. Serves as problem.supports. */
int fused_supports(const struct problem_setting *s, struct pkb_error *err);

/* Biases of the router N(0,1). Serves as problem.init. */
void fused_init(const struct problem_setting *s, struct problem_inputs *set);

#endif
