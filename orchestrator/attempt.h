/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt at one shard: pkb-launch-local with a world of agents, from start to end. */
#ifndef PKB_ORCHESTRATOR_ATTEMPT_H
#define PKB_ORCHESTRATOR_ATTEMPT_H

#include <stdbool.h>

#include "orchestrator/display.h"
#include "orchestrator/progress.h"
#include "orchestrator/rundir.h"
#include "orchestrator/stop.h"

struct attempt {
    const struct rundir *run; /* locked: launcher and agents inherit the lock */
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

/* RUN/logs/shard-SSSSSS.AAA. The caller frees. */
char *attempt_log_dir(const struct rundir *run, int shard, int number, struct pkb_error *err);

#endif
