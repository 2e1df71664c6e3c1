/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of references: the router's and the experts' linear maps. R is rounding to T; what is inside is f32 (f64 for T = f64). */
#ifndef PKB_PROBLEMS_EXPERT_PARALLEL_EXPERT_H
#define PKB_PROBLEMS_EXPERT_PARALLEL_EXPERT_H

#include "problems/kit.h"

/* weight (out, in), bias (out); a low-rank adapter a (rank, in), b (out, rank), or NULL for both. */
struct moe_linear {
    const pkb_tensor *weight, *bias;
    const pkb_tensor *a, *b;
};

/* y = R(x W^T + bias), x (rows, in); with an adapter R(y + R(R(x a^T) b^T)). */
pkb_tensor *moe_linear(const struct problem_call *c, const struct moe_linear *l, const pkb_tensor *x, int64_t rows);

struct moe_expert {
    struct moe_linear gate, up, down;
};

/* down(R(R(silu(gate(x))) * up(x))), with silu(z) = z / (1 + exp(-z)). */
pkb_tensor *moe_expert(const struct problem_call *c, const struct moe_expert *e, const pkb_tensor *x, int64_t rows);

#endif
