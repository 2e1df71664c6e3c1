/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of one timed loop on all ranks. */
#ifndef PKB_NODE_AGENT_LOOP_H
#define PKB_NODE_AGENT_LOOP_H

#include <jansson.h>

#include "node_agent/judge.h"
#include "node_agent/rounds.h"
#include "results/record.h"

struct loop {
    int world, iterations; /* 0: not measured */
    double *ns;            /* [rank * iterations + iteration] */
    const double **rows;   /* [rank], into ns */
    double *wall_ns;       /* [rank], by the agents' clocks */
    double *queue_ns;      /* [rank], negative: unknown */
};
#define LOOP_NONE ((struct loop){0})

void loop_clear(struct loop *l); /* NULL-safe, leaves LOOP_NONE */

/* One rank's part as the data of a round, from the runner's answer: the caller frees *data. -1 with the reason when the samples are
 * malformed: tampering. */
int loop_encode(const json_t *answer, int iterations, double wall_ns, double queue_ns, void **data, size_t *size,
                struct pkb_error *err);

/* All ranks' parts from the round that has just been answered. */
int loop_from_round(const struct rounds *r, int world, int iterations, struct loop *l, struct pkb_error *err);

/* For the judge; points into l. */
struct judge_loop loop_for_judge(const struct loop *l);

/* Each iteration's time is the maximum over ranks. 0 or -1 without memory. */
int loop_times(const struct loop *l, struct record_times *t, struct pkb_error *err);

/* Raw samples, one list per rank. NULL: not measured. */
json_t *loop_samples(const struct loop *l);

#endif
