/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs whose choice of experts is clear: correct programs differ by rounding, and where the k-th and the next score of a token
 * are that close, they send it to different experts. Such tokens are drawn again.
 *
 * A choice of k among n scores s is clear when the k-th and the next largest, a and b, differ by more than g * max(4, |a|, |b|),
 * with g = 0.02 for bf16, 0.0025 for f16, 2.5e-5 for f32 and f64: well above the roundings of a product, of its result and of a
 * softmax. A choice of all is always clear.
 */
#ifndef PKB_PROBLEMS_EXPERT_PARALLEL_CHOICE_H
#define PKB_PROBLEMS_EXPERT_PARALLEL_CHOICE_H

#include "problems/expert_parallel/dispatch.h"

/* Whether it is for scores that are computed in T; n is at most MOE_MAX_EXPERTS. The order of scores changes. */
bool moe_choice_is_clear(int dtype, double *scores, int64_t n, int64_t k);

/* Computes the scores of a stored row in f64. */
typedef void moe_score_fn(const void *arg, const pkb_tensor *row, double *scores);

struct moe_choice {
    int64_t experts, top_k;
    moe_score_fn *score;
    const void *score_arg;
};

/* Fills t (rows, columns). Element i of attempt a is value(arg, a * elements of t + i), rounded once; a row is attempted anew
 * until its choice is clear, at most 64 times. */
void moe_fill_clear(pkb_tensor *t, kit_value_fn *value, const void *arg, const struct moe_choice *choice);

#endif
