/* SPDX-License-Identifier: Apache-2.0 */
/* What problems of DeepSpeed-Ulysses share beyond the exchange of axes (problems/axes.h): attention wants all positions of some heads,
 * everything else all heads of some positions, and there may be padding behind the last one. */
#ifndef PKB_PROBLEMS_CONTEXT_PARALLEL_ULYSSES_H
#define PKB_PROBLEMS_CONTEXT_PARALLEL_ULYSSES_H

#include "problems/kit.h"

/* axes_exchange, but of the gathered axis dst takes only as many entries as it has: what is behind is padding. */
void ulysses_exchange_and_cut(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *x, int scatter,
                              int gather);

/* Of 36 and 38, which gather positions and scatter heads. */
#define ULYSSES_PARAMS                                                                                                           \
    {"B", 16, 2, true, "batch"}, {"S", 16, 5, true, "positions per rank"}, {"nh", 8, 8, true, "heads"},                          \
        {"hd", 64, 8, true, "size of a head"},                                                                                   \
    {                                                                                                                            \
        "U", 0, 0, true, "length of the sequence without padding; 0: nothing is cut off"                                         \
    }

/* W divides nh, and U is at most W*S. Serves as problem.supports. */
int ulysses_supports(const struct problem_setting *s, struct pkb_error *err);

/* What remains of W*S positions: U where it is neither 0 nor a multiple of W. */
int64_t ulysses_positions_kept(const struct problem_setting *s);

/* Cost of exchanging a tensor of so many elements of T: it is read, written, and all but a rank's own piece sent, once. */
void ulysses_cost(const struct problem_setting *s, double elements, struct problem_cost *cost);

#endif
