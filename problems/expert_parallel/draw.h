/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs: routings that are drawn instead of computed.
 *
 * Experts are unequally popular: each rank gives every expert a weight of 1, 2, 4 or 8 and draws proportionally. Sets whose
 * number is 2 mod 3 leave one rank without any token: nobody on any rank selects its experts. In the others every rank has an
 * expert of its own that it never selects. Neither happens where too few experts would remain. pkb profile: all weights are 1.
 */
#ifndef PKB_PROBLEMS_EXPERT_PARALLEL_DRAW_H
#define PKB_PROBLEMS_EXPERT_PARALLEL_DRAW_H

#include "problems/expert_parallel/dispatch.h"

/* Experts first to first + count - 1. */
struct moe_range {
    int64_t first, count;
};

/* The experts that nobody selects in this set: those of one of `owners` ranks, each of which owns experts / owners. None (count
 * 0) unless the set's number is 2 mod 3 and at least `needed` experts remain. */
struct moe_range moe_deserted(const struct problem_setting *s, const struct problem_inputs *set, int64_t experts, int owners,
                              int64_t needed);

/* How one rank draws. */
struct moe_draw {
    struct rng rng;
    int64_t experts, top_k;
    bool distinct; /* the experts of a token differ */
    int64_t weight[MOE_MAX_EXPERTS];
};

void moe_draw_begin(const struct problem_setting *s, const struct problem_inputs *set, int64_t experts, int64_t top_k,
                    bool distinct, struct moe_draw *d);

/* The experts of a token, in the order drawn: top_k of them. */
void moe_draw_token(const struct moe_draw *d, int64_t token, int64_t *chosen);

/* How many of the first `tokens` tokens select each expert: experts numbers. */
void moe_draw_counts(const struct moe_draw *d, int64_t tokens, int64_t *counts);

/* mask (experts, top_k, tokens) of f32: 1 where a slot of a token names an expert, else 0. */
void moe_draw_mask(const struct moe_draw *d, int64_t tokens, pkb_tensor *mask);

/* The same as sel (tokens, top_k) of i64, ascending per token, and as map (experts, tokens) of bool. */
void moe_draw_selection(const struct moe_draw *d, int64_t tokens, pkb_tensor *sel, pkb_tensor *map);

/* 0, or -1 with the reason: 1 to MOE_MAX_EXPERTS experts, divided evenly over the ranks, k of them selected. */
int moe_require_experts(const struct problem_setting *s, int64_t experts, int64_t k, struct pkb_error *err);

#endif
