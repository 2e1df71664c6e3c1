/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of softmax attention in f32 (whatever T is): the probabilities are not rounded to T. Tensors are f32, heads first, (B, H, S, D);
 * numbers per query have a last axis of 1. */
#ifndef PKB_PROBLEMS_CONTEXT_PARALLEL_ATTENTION_H
#define PKB_PROBLEMS_CONTEXT_PARALLEL_ATTENTION_H

#include "problems/kit.h"

/* (B, S, H, D) of T to (B, H, S, D) of f32, and back with one rounding. */
pkb_tensor *attention_heads_first(struct rt *rt, const pkb_tensor *t);
void attention_heads_last(struct rt *rt, pkb_tensor *dst, const pkb_tensor *t);

/* The factor of the scores: parameter `scale`, or D^-1/2 where that is 0. */
double attention_scale(const struct problem_call *c, int64_t head_size);

/* x[i, j] = scale * <q[i], k[j]>, (B, H, queries, keys). With `masked`, -infinity for j > i. */
pkb_tensor *attention_scores(struct rt *rt, const pkb_tensor *q, const pkb_tensor *k, double scale, bool masked);

/* The mask alone, in place, on scores (.., queries, keys) of any dtype. */
void attention_hide_later_keys(struct rt *rt, pkb_tensor *scores);

/* log of the sum over j of exp(x[i, j]), (B, H, queries, 1). */
pkb_tensor *attention_log_sum_exp(struct rt *rt, const pkb_tensor *scores);

/* exp(x[i, j] - lse[i]). */
pkb_tensor *attention_probabilities(struct rt *rt, const pkb_tensor *scores, const pkb_tensor *lse);

/* How results of attention are compared: relative to the size of their rows of `row` elements,
 *     root mean square of the error <= 2 u,  largest error <= 16 u
 * with u the unit roundoff of T (bf16: 2^-7 and 2^-4), which leaves room for probabilities and their gradients in T with sums in
 * f32: at the paper's sizes their largest error is 7 u forwards, 12 u backwards. For f32 and f64 u is 2^-16: the arithmetic is
 * f32. `errors` multiplies u where roundings add up. */
void attention_check(const struct problem_setting *s, int64_t row, double errors, struct problem_check *check);

/* The same where sums are in f64 for f64: limits given for bf16, in proportion to the unit roundoff for f16; 1e-4 both for f32,
 * where the order of sums is what differs, in proportion for f64. */
void attention_check_limits(const struct problem_setting *s, int64_t row, double largest, double root_mean_square,
                            struct problem_check *check);

#endif
