/* SPDX-License-Identifier: Apache-2.0 */
/* What has become of a run's jobs. */
#ifndef PKB_ORCHESTRATOR_SLURM_QUEUE_H
#define PKB_ORCHESTRATOR_SLURM_QUEUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "orchestrator/slurm/api.h"
#include "orchestrator/slurm/jobs.h"

struct slurm_queue_job {
    struct slurm_jobs_entry entry;  /* texts borrowed from `jobs` */
    size_t pending, running, ended; /* elements that Slurm knows of; all 0: it has forgotten the job */
    double seconds;                 /* that elements have run, as far as Slurm remembers */
    char reason[64];                /* why elements wait */
    char nodes[128];                /* where some of them run */
};

struct slurm_queue {
    struct slurm_queue_job *list;
    size_t n;
    size_t pending, running; /* of evaluation jobs */
    double rank_seconds;     /* ranks x time of evaluation jobs, as far as Slurm remembers */
    size_t active;           /* jobs with anything pending or running, those that build or merge too */
};

/* Asks Slurm about every job of the list. busy[shard] (n_shards of them; NULL: not wanted) becomes true for shards that wait or run. */
int slurm_queue_read(const struct slurm_api *api, const json_t *jobs, struct slurm_queue *q, bool *busy, size_t n_shards,
                     struct pkb_error *err);
void slurm_queue_clear(struct slurm_queue *q);

/* "job 17, 4 ranks: 3 running on n[1-3], 2 waiting (Resources), 1 ended" */
void slurm_queue_describe(const struct slurm_queue_job *j, char *text, size_t size);
json_t *slurm_queue_json(const struct slurm_queue *q);

#endif
