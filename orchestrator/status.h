/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a run, from its directory and, where jobs were submitted for it, from Slurm. */
#ifndef PKB_ORCHESTRATOR_STATUS_H
#define PKB_ORCHESTRATOR_STATUS_H

#include <stdbool.h>

#include "orchestrator/nodes.h"
#include "orchestrator/progress.h"
#include "orchestrator/rundir.h"
#include "orchestrator/slurm/queue.h"

struct status {
    struct rundir *run;
    struct plan *plan;
    struct progress *progress;
    bool driven;         /* somebody drives it now */
    char driver[192];    /* "HOST PID UTC" of the last driver, "" for none */
    struct json_t *jobs; /* RUN/jobs.json, NULL: none */
    struct slurm_queue queue;
    char slurm_trouble[256]; /* why the jobs' states are not known, "" */
    struct nodes nodes;      /* with errors, and others */
    double idle_seconds;     /* since anything was written under records/ or logs/; -1: nothing was */
    double rate;             /* results per second since the driver began; 0: unknown */
    double eta_seconds;      /* -1: unknown */
};

/* 0, or a code of exit.h with the error set. status_clear afterwards in any case. */
int status_read(struct status *s, const char *run, struct pkb_error *err);
void status_clear(struct status *s);

void status_print(const struct status *s);
int status_print_json(const struct status *s, struct pkb_error *err);

#endif
