/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges that change along which axis a tensor is spread over the members of a group. As the runtime's operations, these do
 * nothing after a failure. */
#ifndef PKB_PROBLEMS_AXES_H
#define PKB_PROBLEMS_AXES_H

#include "problems/kit.h"

/* Cuts axis `scatter` of x into as many equal pieces as the group has members, sends piece d to member d, and joins what came, in
 * the group's order, along axis `gather`. The two differ and count from 0. dst, of x's dtype, has x's shape with the one axis divided
 * and the other multiplied by the number of members. */
void axes_exchange(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *x, int scatter, int gather);

/* The same to a temporary. */
pkb_tensor *axes_exchanged(struct rt *rt, const struct rt_group *g, const pkb_tensor *x, int scatter, int gather);

/* Joins the members' tensors, in the group's order, along an axis. dst has x's shape with that axis multiplied by the number of
 * members. */
void axes_all_gather(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *x, int axis);

#endif
