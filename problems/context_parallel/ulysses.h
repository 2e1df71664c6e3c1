/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges that change which axis of a tensor is spread over the members of a group, as in DeepSpeed-Ulysses: attention wants all
 * positions of some heads, everything else all heads of some positions. */
#ifndef PKB_PROBLEMS_CONTEXT_PARALLEL_ULYSSES_H
#define PKB_PROBLEMS_CONTEXT_PARALLEL_ULYSSES_H

#include "problems/kit.h"

/* Cuts axis `scatter` of x into as many equal pieces as the group has members, sends piece d to member d, and joins what came, in the
 * group's order, along axis `gather`. The two differ and count from 0. dst, of x's dtype, has x's shape with the one axis divided
 * and the other multiplied by the number of members. */
void ulysses_exchange(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *x, int scatter, int gather);

/* The same to a temporary. */
pkb_tensor *ulysses_exchanged(struct rt *rt, const struct rt_group *g, const pkb_tensor *x, int scatter, int gather);

/* The same, but of the gathered axis dst takes only as many entries as it has: what is behind is padding. */
void ulysses_exchange_and_cut(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *x, int scatter,
                              int gather);

/* Joins the members' tensors, in the group's order, along an axis. dst has x's shape with that axis multiplied by the number of
 * members. */
void ulysses_all_gather(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *x, int axis);

/* For problems with parameters S, positions per rank, and U, length of the whole sequence without padding: U is 0 or at most W*S; the
 * positions that remain of W*S (U where it is neither 0 nor a multiple of W). */
int ulysses_require_unpadded(const struct problem_setting *s, struct pkb_error *err);
int64_t ulysses_positions_kept(const struct problem_setting *s);

/* Cost of exchanging a tensor of so many elements of T: it is read, written, and all but a rank's own piece sent, once. */
void ulysses_cost(const struct problem_setting *s, double elements, struct problem_cost *cost);

#endif
