/* SPDX-License-Identifier: Apache-2.0 */
/* Top-k and top-p filtering of rows of logits, as it precedes sampling.
 *
 * A row z of T has V entries. With kk = min(top_k, V):
 *     neither           everything is kept;
 *     top-k alone       entries that are at least the kk-th largest (with all that tie with it);
 *     top-p, either way y = z ascending, ties by position; with top-k entries below the kk-th largest become -infinity;
 *                       P = softmax(y) rounded to T, c[j] = P[0] + ... + P[j] rounded to T;
 *                       entries with c[j] > 1 - top_p (rounded to T) are kept, the largest always.
 *
 * Which entry is the first that is kept depends on roundings where a sum is near 1 - top_p, and on the sort where entries tie
 * there.
 * Inputs are made such that neither happens (filter_is_clear), so that every correct program keeps the same entries.
 */
#ifndef PKB_PROBLEMS_REINFORCEMENT_LEARNING_FILTER_H
#define PKB_PROBLEMS_REINFORCEMENT_LEARNING_FILTER_H

#include "problems/kit.h"

struct filter {
    int64_t top_k; /* 0: off */
    double top_p;  /* 1 or more: off */
};

/* From the parameters top_k and top_p, of a setting or of a call. */
struct filter filter_of(const struct problem_setting *s);
struct filter filter_of_call(const struct problem_call *c);

/* What is kept of rows (rows, V) of T: 1 or 0, f32. */
pkb_tensor *filter_rows(const struct problem_call *c, const pkb_tensor *rows);

/* On the host. Whether the row's decision is clear: exact sums keep a distance from 1 - top_p of
 *     2 u (1 - top_p) + u/4      with u the roundoff of T, for bf16 and f16;  1e-5 for f32 and f64,
 * and no two entries tie across the cut. `row` has n entries of T; it is sorted. */
bool filter_is_clear(const struct filter *f, int dtype, double *row, size_t n);

#endif
