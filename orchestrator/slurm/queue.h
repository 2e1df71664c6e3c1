/* SPDX-License-Identifier: Apache-2.0 */
/* What has become of a run's jobs. */
#ifndef PKB_ORCHESTRATOR_SLURM_QUEUE_H
#define PKB_ORCHESTRATOR_SLURM_QUEUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "orchestrator/slurm/api.h"
#include "orchestrator/slurm/jobs.h"
#include "orchestrator/slurm/starts.h"

#define SLURM_QUEUE_ENDS 12 /* states in which an element can end */

struct slurm_queue_job {
    struct slurm_jobs_entry entry;  /* texts borrowed from `jobs` */
    size_t pending, running, ended; /* elements that Slurm knows of; all 0: it has forgotten the job */
    struct {
        const char *state; /* "COMPLETED", "TIMEOUT", ... */
        size_t n;
    } ends[SLURM_QUEUE_ENDS]; /* how the ended ones have ended, the last time */
    size_t n_ends;
    double seconds;  /* that elements have run, in all starts that Slurm knows of */
    char reason[64]; /* why elements wait */
    char nodes[128]; /* where some of them run */
};

struct slurm_queue {
    struct slurm_queue_job *list;
    size_t n;
    size_t pending, running; /* of evaluation jobs */
    double rank_seconds;     /* ranks x time of evaluation jobs, in all starts that Slurm knows of */
    size_t active;           /* jobs with anything pending or running, those that build or merge too */
    struct slurm_past past;  /* whether what slurmctld has forgotten is in it */
};

enum slurm_queue_extent {
    SLURM_QUEUE_PRESENT, /* what slurmctld remembers */
    SLURM_QUEUE_PAST     /* what the accounting database knows, too */
};

/* Asks Slurm about every job of the list. */
int slurm_queue_read(const struct slurm_api *api, const json_t *jobs, struct slurm_queue *q, enum slurm_queue_extent extent,
                     struct pkb_error *err);
void slurm_queue_clear(struct slurm_queue *q);

/* Elements that have ended otherwise than COMPLETED. */
size_t slurm_queue_failures(const struct slurm_queue_job *j);

/* "job 17, 4 ranks: 3 running on n[1-3], 2 waiting (Resources), 2 ended (1 TIMEOUT)" */
void slurm_queue_describe(const struct slurm_queue_job *j, char *text, size_t size);
json_t *slurm_queue_json(const struct slurm_queue *q);

#endif
