/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources of plugins/launcher_slurm.so share. */
#ifndef PKB_ORCHESTRATOR_SLURM_PLUGIN_H
#define PKB_ORCHESTRATOR_SLURM_PLUGIN_H

#include "orchestrator/slurm/api.h"
#include "orchestrator/slurm/libslurm.h"

/* slurmctld's configuration, for libslurm_free_conf. NULL with the error set when it does not answer. */
slurm_conf_t *plugin_conf(struct pkb_error *err);

/* -1, with libslurm's last error set. */
int plugin_failed(struct pkb_error *err, const char *what);

/* "COMPLETED" for JOB_COMPLETE, ... */
const char *plugin_state_name(uint32_t state);

/* slurm/api.h's `past`. */
int plugin_past(const uint32_t *jobs, size_t n, int64_t since, slurm_visit_fn *visit, void *arg, struct pkb_error *err);

#endif
