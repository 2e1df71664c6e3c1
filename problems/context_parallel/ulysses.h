/* SPDX-License-Identifier: Apache-2.0 */
/* What problems of DeepSpeed-Ulysses share beyond the exchange of axes (problems/axes.h): attention wants all positions of some heads,
 * everything else all heads of some positions, and there may be padding behind the last one. */
#ifndef PKB_PROBLEMS_CONTEXT_PARALLEL_ULYSSES_H
#define PKB_PROBLEMS_CONTEXT_PARALLEL_ULYSSES_H

#include "problems/kit.h"

/* axes_exchange, but of the gathered axis dst takes only as many entries as it has: what is behind is padding. */
void ulysses_exchange_and_cut(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *x, int scatter,
                              int gather);

/* For problems with parameters S, positions per rank, and U, length of the whole sequence without padding: U is 0 or at most W*S; the
 * positions that remain of W*S (U where it is neither 0 nor a multiple of W). */
int ulysses_require_unpadded(const struct problem_setting *s, struct pkb_error *err);
int64_t ulysses_positions_kept(const struct problem_setting *s);

/* Cost of exchanging a tensor of so many elements of T: it is read, written, and all but a rank's own piece sent, once. */
void ulysses_cost(const struct problem_setting *s, double elements, struct problem_cost *cost);

#endif
