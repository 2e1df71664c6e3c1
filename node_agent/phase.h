/* SPDX-License-Identifier: Apache-2.0 */
/* A phase: one command to the runners of all ranks, followed through rounds until every runner has done it or one has failed. */
#ifndef PKB_NODE_AGENT_PHASE_H
#define PKB_NODE_AGENT_PHASE_H

#include "node_agent/agent.h"
#include "node_agent/decide.h"

struct phase {
    const json_t *command; /* {"do": WORD, ...} */
    bool ends;             /* the runner answers by exiting with 0 */
    int64_t started;       /* when the runner's time began (pkb_now_ns) */
    double limit_seconds;  /* from then on */

    /* The data of this rank's DONE, from the answer; NULL: none. The caller frees *data. -1 with the reason: tampering. */
    int (*answer)(const struct phase *p, const json_t *answer, void **data, size_t *size, struct pkb_error *err);
    void *arg;

    /* Set by phase_run. */
    double wall_ns;  /* from sending the command to having the answer */
    double queue_ns; /* how long the runner waited for a core meanwhile; negative: unknown */
};

/* 1: every rank has done it; the DONE data of all are in the rounds' entries. 0: failed; *d says how, and this rank's runner is killed.
 * -1: the attempt ends (a->code). `runner` NULL (it could not be started; *why says why) counts as an infra_error of this rank. */
int phase_run(struct agent *a, struct phase *p, struct runner *runner, const char *why, struct decision *d,
              struct pkb_error *err);

#endif
