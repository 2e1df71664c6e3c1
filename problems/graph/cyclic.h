/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks in the order of cyclic distance: chunk k of rank r belongs to rank (r + k) mod W, so chunk 0 is the rank's own. Of the
 * feature exchange and its gradient (65, 66), and their inputs.
 */
#ifndef PKB_PROBLEMS_GRAPH_CYCLIC_H
#define PKB_PROBLEMS_GRAPH_CYCLIC_H

#include "problems/kit.h"

/* R, rows per pair of ranks: a share of the parameter `rows`, at least `least`. */
#define CYCLIC_SIZES                                                                                                             \
    {"rows", 1024, 24, true, "rows that a rank sends, as a rule"}, {"least", 64, 3, true, "rows per pair of ranks at least"},    \
    {                                                                                                                            \
        "D", 128, 8, true, "width of a row"                                                                                      \
    }

/* R = max(least, floor(rows / W)). */
int64_t cyclic_rows(const struct problem_setting *s);

/* Rows that a rank sends, or receives, at most: W times 2R (hardened), W times R (pkb). */
int64_t cyclic_capacity(const struct problem_setting *s);

/* 0, or -1 with the reason. Serves as problem.supports. */
int cyclic_supports(const struct problem_setting *s, struct pkb_error *err);

/* Describes inv, an index per received row, and the host lists counts_sent and counts_received; returns 3. */
int cyclic_describe(const struct problem_setting *s, struct problem_tensor *t);

/* Fills two host lists: rows to the peers and from them, in cyclic order. Every pair of ranks has a random number of 0 to 2R, a
 * rank with itself 1 to 2R (hardened), or R (pkb). */
void cyclic_fill_counts(const struct problem_setting *s, struct problem_inputs *set, int to_peers, int from_peers);

/* Sum of a host list. */
int64_t cyclic_total(const pkb_tensor *counts);

/* Rows of each chunk go to its peer: what came from the peers, chunk by chunk. The counts are host lists. */
pkb_tensor *cyclic_exchange(const struct problem_call *c, const pkb_tensor *rows, const pkb_tensor *to_peers,
                            const pkb_tensor *from_peers);

#endif
