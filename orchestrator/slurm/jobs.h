/* SPDX-License-Identifier: Apache-2.0 */
/* RUN/jobs.json: the jobs that have been submitted for a run, in order.
 *
 *   {"format": 1, "jobs": [{"job": 16, "kind": "build", "world": 0, "base": 0, "array": "0-3", ...},
 *                          {"job": 17, "kind": "evaluate", "world": 4, "base": 0, "array": "0-6", "submitted": UTC,
 *                           "script": "jobs/000-world-4.sh"}, {"job": 18, "kind": "merge", ...}]} */
#ifndef PKB_ORCHESTRATOR_SLURM_JOBS_H
#define PKB_ORCHESTRATOR_SLURM_JOBS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

enum slurm_jobs_kind { SLURM_JOBS_BUILD, SLURM_JOBS_EVALUATE, SLURM_JOBS_MERGE, SLURM_JOBS_KINDS };

/* "build", "evaluate", "merge" */
const char *slurm_jobs_kind_name(enum slurm_jobs_kind kind);

struct slurm_jobs_entry {
    uint32_t job;
    enum slurm_jobs_kind kind;
    int world, base;   /* shard = base + index */
    const char *array; /* indexes; "" for no array */
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
