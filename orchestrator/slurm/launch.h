/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of the launcher `slurm`: instead of evaluating shards, the controller submits jobs that do. */
#ifndef PKB_ORCHESTRATOR_SLURM_LAUNCH_H
#define PKB_ORCHESTRATOR_SLURM_LAUNCH_H

#include "orchestrator/engine.h"
#include "orchestrator/slurm/api.h"
#include "orchestrator/slurm/settings.h"

/* What the engine has of it. */
struct slurm_launch {
    const struct slurm_api *api;
    struct slurm_limits limits;
    json_t *given; /* settings, merged */
    struct slurm_settings settings;
    json_t *jobs; /* RUN/jobs.json */
};

/* Settings (of the sweep, or of RUN/slurm.json) and Slurm itself: all that can be found wrong before anything is written. */
engine_stage_fn engine_slurm_prepare;

/* Keeps the settings in the run, RUN/slurm.json, for whoever resumes it. */
engine_stage_fn engine_slurm_keep;

/* The build stage, unless jobs do it. */
engine_stage_fn engine_slurm_build;

/* An array that compiles, where the settings say so. One array for each world size (more beyond MaxArraySize) of the shards that lack results and are in no queue, then a job that merges. */
engine_stage_fn engine_slurm_submit;

/* With --wait: until no job of the run waits or runs; then the tables' data. Without it both do nothing. */
engine_stage_fn engine_slurm_wait;
engine_stage_fn engine_slurm_merge;

/* NULL-safe. */
void slurm_launch_destroy(struct slurm_launch *l);

/* Whether a run belongs to Slurm: it was created for it (run.json says so) or has been submitted (there is a slurm.json). */
bool slurm_launch_is_run(const char *run);

#endif
