/* SPDX-License-Identifier: Apache-2.0 */
/* What 49, 50 and 51 share: they are one layer of experts (layer.h) with different numbers of experts. */
#ifndef PKB_PROBLEMS_EXPERT_PARALLEL_EP_H
#define PKB_PROBLEMS_EXPERT_PARALLEL_EP_H

#include "problems/expert_parallel/layer.h"

#define EP_PARAMS                                                                                                                \
    {"Mt", 1024, 16, true, "tokens per rank"}, {"Hd", 1024, 32, true, "width of a token"},                                       \
        {"I", 128, 16, true, "inner size of an expert"},                                                                         \
    {                                                                                                                            \
        "k", 2, 2, true, "experts per token, at most all"                                                                        \
    }

/* Sizes of at least 1. Serves as problem.supports. */
int ep_supports(const struct problem_setting *s, struct pkb_error *err);

/* Biases of the router N(0, 0.25^2); experts' weights N(0, 1/columns), their biases N(0, 0.1^2). Serves as problem.init. */
void ep_init(const struct problem_setting *s, struct problem_inputs *set);

/* Relative to the row's rms at most 0.1, in the root mean square 0.02, for bf16. Serves as problem.check. */
void ep_check(const struct problem_setting *s, int output, struct problem_check *check);

/* moe_layer_cost, the weighted sums and the experts' biases. Serves as problem.cost. */
void ep_cost(const struct problem_setting *s, struct problem_cost *cost);

#endif
