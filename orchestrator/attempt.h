/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt at one shard: a launcher with a world of agents, from start to end. */
#ifndef PKB_ORCHESTRATOR_ATTEMPT_H
#define PKB_ORCHESTRATOR_ATTEMPT_H

#include <stdbool.h>

#include "orchestrator/attempt_claim.h"
#include "orchestrator/display.h"
#include "orchestrator/launcher.h"
#include "orchestrator/progress.h"
#include "orchestrator/rundir.h"
#include "orchestrator/stop.h"

struct attempt {
    const struct launcher *launcher;
    const struct rundir *run; /* if it is locked, launcher and agents inherit the lock where that means something */
    const struct plan_shard *shard;
    int number;
    struct progress *progress; /* updated while agents report, and from the records at the end */
    struct stop *stop;
    struct display *display;
};

struct attempt_result {
    int code;       /* of the launcher: 0, an agent's, or 128 + signal */
    bool hopeless;  /* another attempt would end in the same way: no agent, disk full */
    bool stopped;   /* by a signal to us */
    char text[600]; /* for code != 0: what happened and where to read more */
};

/* Runs it. 0 with *result filled, whatever the agents did; -1: it could not be started, or its records cannot be read. */
int attempt_run(const struct attempt *a, struct attempt_result *result, struct pkb_error *err);

#endif
