/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that say how many rows travel, for exchanges whose numbers of rows are given (28, 29): three consecutive i64 tensors
 * that the host reads too, in_splits (W), out_splits (W) and n (W, L).
 */
#ifndef PKB_PROBLEMS_EXPERT_PARALLEL_LISTS_H
#define PKB_PROBLEMS_EXPERT_PARALLEL_LISTS_H

#include "problems/expert_parallel/draw.h"

/* 0, or -1 with the reason: the experts as in draw.h, and tokens * k divided evenly over the ranks. */
int moe_require_lists(const struct problem_setting *s, int64_t tokens, int64_t experts, int64_t k, struct pkb_error *err);

/* The most rows that a rank can receive: W * tokens * min(k, L). */
int64_t moe_most_rows(const struct problem_setting *s, int64_t tokens, int64_t experts, int64_t k);

/* Describes t[0] to t[2]. */
void moe_describe_lists(const struct problem_setting *s, struct problem_tensor *t, int64_t experts);

/* Fills lists[0] to lists[2]. In sets whose number is a multiple of 3, and always with the pkb profile, they are as equal as
 * possible whatever the routing: tokens * k / W rows for every pair of ranks, and n that differ by at most 1, the larger ones
 * first. In the others they follow from the routings of `tokens` tokens that all ranks draw. */
void moe_fill_lists(const struct problem_setting *s, const struct problem_inputs *set, pkb_tensor *lists, int64_t tokens,
                    int64_t experts, int64_t k);

#endif
