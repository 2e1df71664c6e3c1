/* SPDX-License-Identifier: Apache-2.0 */
/* RUN/jobs.json: the jobs that have been submitted for a run, in order.
 *
 *   {"format": 1, "jobs": [{"job": 17, "kind": "evaluate", "world": 4, "base": 0, "array": "0-6", "submitted": UTC,
 *                           "script": "jobs/000-world-4.sh"}, {"job": 18, "kind": "merge", ...}]} */
#ifndef PKB_ORCHESTRATOR_SLURM_JOBS_H
#define PKB_ORCHESTRATOR_SLURM_JOBS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

struct slurm_jobs_entry {
    uint32_t job;
    bool merge;        /* else it evaluates shards */
    int world, base;   /* shard = base + index */
    const char *array; /* indexes; "" for merge */
    const char *submitted;
};

/* Reads the file; an empty list where there is none. The caller decrefs. */
json_t *slurm_jobs_read(const char *run, struct pkb_error *err);

/* Appends an entry and writes the file. */
int slurm_jobs_add(json_t *jobs, const char *run, const struct slurm_jobs_entry *e, const char *script, struct pkb_error *err);

size_t slurm_jobs_count(const json_t *jobs);

/* Entry i; texts are borrowed from the list. */
int slurm_jobs_entry(const json_t *jobs, size_t i, struct slurm_jobs_entry *e, struct pkb_error *err);

#endif
