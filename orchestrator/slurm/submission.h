/* SPDX-License-Identifier: Apache-2.0 */
/* A submission in progress: what the jobs of a run have in common, and the jobs around the evaluation. Shared by the files of this
 * folder that submit; nobody else includes it. */
#ifndef PKB_ORCHESTRATOR_SLURM_SUBMISSION_H
#define PKB_ORCHESTRATOR_SLURM_SUBMISSION_H

#include "orchestrator/slurm/jobs.h"
#include "orchestrator/slurm/launch.h"

struct submission {
    struct engine *e;
    struct slurm_launch *l;
    bool *busy;         /* per shard: in the queue already */
    struct words env;   /* of the jobs */
    char *after_build;  /* "afterany:16": the evaluation waits for it; NULL: nothing is built by jobs */
    char *after;        /* "afterany:17:18": the merge waits for it */
    char exclude[4096]; /* nodes, those that fail included; "" for none */
    size_t room;        /* tasks that may still be submitted */
    size_t left;        /* shards for which there was no room */
    size_t arrays, shards, cells;
};

/* What jobs get to see of this process's environment. */
int submission_make_env(struct words *env, struct pkb_error *err);

/* The members that all jobs share. */
void submission_fill(const struct submission *s, struct slurm_job *job);

/* Writes the script of a job into the run, submits it and notes its number. */
int submission_send(struct submission *s, struct slurm_job *job, const char *title, const struct words *command,
                    struct slurm_jobs_entry *entry, struct pkb_error *err);

/* The array that compiles what open cells need, where the settings say so. */
int submission_build(struct submission *s, struct pkb_error *err);

/* The job that comes once all arrays are over: it merges, or, when shards are left, submits the next wave. */
int submission_merge(struct submission *s, struct pkb_error *err);

#endif
