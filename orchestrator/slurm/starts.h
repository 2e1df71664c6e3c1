/* SPDX-License-Identifier: Apache-2.0 */
/* Every start of every element of a run's jobs, once. slurmctld knows the latest start of an element until some minutes after it ended
 * (MinJobAge); the accounting database, where a cluster has one, all of them. */
#ifndef PKB_ORCHESTRATOR_SLURM_STARTS_H
#define PKB_ORCHESTRATOR_SLURM_STARTS_H

#include <jansson.h>
#include <stdbool.h>

#include "orchestrator/slurm/api.h"
#include "orchestrator/slurm/jobs.h"

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
