/* SPDX-License-Identifier: Apache-2.0 */
/* Rows on their way to the ranks that own them, and answers on the way back: the exchange of sparse features, embeddings and
 * sampling requests. Steps of references: after a failure of the runtime they do nothing, as its operations.
 */
#ifndef PKB_PROBLEMS_GRAPH_ROUTE_H
#define PKB_PROBLEMS_GRAPH_ROUTE_H

#include "problems/rows.h"

struct route {
    pkb_tensor *order; /* i64: positions of the rows, grouped by owner, in their order within a group */
    struct rows_exchange exchange;
};

/* Plans the way of rows whose owners (i64, one per row) are given: a stable sort, and one all-to-all of counts. Waits. */
void route_plan(const struct problem_call *c, struct route *r, const pkb_tensor *owner);

/* The rows of all ranks that this rank owns, by ascending source, in the source's order. */
pkb_tensor *route_send(const struct problem_call *c, const struct route *r, const pkb_tensor *rows);

/* One answer per received row goes back: the answers to this rank's own rows, grouped by owner. */
pkb_tensor *route_answer(const struct problem_call *c, const struct route *r, const pkb_tensor *answers);

/* Where the grouped row of every original row is: order[inverse[i]] = i. */
pkb_tensor *route_inverse(const struct problem_call *c, const struct route *r);

#endif
