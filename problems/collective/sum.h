/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of matrices over the ranks (all-reduce, reduce, reduce-scatter): inputs, check and bound.
 *
 * A library may add in any order and round to T after every addition, so a fixed tolerance rejects correct results where sums
 * cancel. Where T has room, the inputs are integers whose partial sums are all exact in T: every correct result is the same
 * bit for bit. The integers are as large as that allows, so that a sum taken in a narrower type than T does not come out right.
 * For more ranks than that the inputs are N(0,1), and a result y is accepted when both
 *     |y - yc| <= (W + 1) * u * sum_q |x_q|       element by element,
 *     ||y - yc|| <= (1 + sqrt(W)/2) * u * ||yc||  as a whole (the first is loose),
 * where yc is the reference's result and u the unit roundoff of T.
 */
#ifndef PKB_PROBLEMS_COLLECTIVE_SUM_H
#define PKB_PROBLEMS_COLLECTIVE_SUM_H

#include "problems/collective/matrix.h"

/* As described above; the pkb profile fills x with r + 1. */
void sum_init(const struct problem_setting *s, struct problem_inputs *set);

/* Exact where every partial sum is, else bound and norm. Serves as problem.check. */
void sum_check(const struct problem_setting *s, int output, struct problem_check *check);

/* Bound and norm, for inputs of any kind. Serves as problem.check. */
void sum_check_bounds(const struct problem_setting *s, int output, struct problem_check *check);

/* This rank's term of the elementwise bound for its summand x, (W + 1) * u * |x| in f32; the problem sums it over the ranks as it
 * sums x. */
pkb_tensor *sum_bound_term(const struct problem_call *c, const pkb_tensor *x);

#endif
