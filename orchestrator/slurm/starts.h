/* SPDX-License-Identifier: Apache-2.0 */
/* Every start of every element of a run's jobs, once. slurmctld knows the latest start of an element until some minutes after it ended
 * (MinJobAge); the accounting database, where a cluster has one, all of them. */
#ifndef PKB_ORCHESTRATOR_SLURM_STARTS_H
#define PKB_ORCHESTRATOR_SLURM_STARTS_H

#include <jansson.h>
#include <stdbool.h>

#include "orchestrator/slurm/api.h"
#include "orchestrator/slurm/jobs.h"

/* What tells one start of an element from all others. */
struct slurm_start {
    uint32_t job, element; /* 0 where the job is no array */
    int64_t at;            /* seconds since 1970 */
};

/* Of a record of one element. */
struct slurm_start slurm_start_of(const struct slurm_state *s);

/* By job, element and time, for qsort and bsearch; also of structs that begin with one. */
int slurm_start_compare(const void *a, const void *b);

/* How many elements a record stands for: those that have never begun come together. */
size_t slurm_starts_elements(const struct slurm_state *s);

/* The list of n entries of `size` bytes with room for one more, perhaps elsewhere; the caller frees it. NULL when memory runs out: the
 * list is as before. */
void *slurm_starts_grow(void *list, size_t n, size_t *room, size_t size);

/* `e` is the entry of number i in jobs.json. All texts are borrowed. */
typedef void slurm_starts_fn(void *arg, size_t i, const struct slurm_jobs_entry *e, const struct slurm_state *s);

/* How far the past is known. */
struct slurm_past {
    bool known;        /* by the accounting database */
    char trouble[256]; /* why its answer is missing, "" */
};

/* Visits what slurmctld says, then what is left in the database: only starts that are over. past == NULL: slurmctld alone is asked.
 * A database that does not answer is no failure. 0, or -1 with the error set. */
int slurm_starts_visit(const struct slurm_api *api, const json_t *jobs, struct slurm_past *past, slurm_starts_fn *visit,
                       void *arg, struct pkb_error *err);

#endif
