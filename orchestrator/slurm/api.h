/* SPDX-License-Identifier: Apache-2.0 */
/* What pkb needs of Slurm, as a table of functions. Behind it is plugins/launcher_slurm.so, which alone is linked against libslurm, so
 * that pkb runs where libslurm is absent; slurm.h is included by slurm/libslurm.h alone. */
#ifndef PKB_ORCHESTRATOR_SLURM_API_H
#define PKB_ORCHESTRATOR_SLURM_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

#define SLURM_API_VERSION 4
#define SLURM_API_SYMBOL "pkb_slurm_api"

/* A job to be submitted. NULL and 0 mean Slurm's own defaults. */
struct slurm_job {
    const char *name, *comment;
    const char *script;   /* text, from #! on */
    const char *work_dir; /* absolute */
    const char *output;   /* file name pattern for standard output and error */
    const char *array;    /* "0-6,9%4"; NULL: no array */
    const char *dependency;
    const char *partition, *account, *qos, *constraint, *reservation, *exclude;
    const char *gpu; /* "gpu" or "gpu:h100"; NULL: none */
    int nodes, ranks_per_node, ranks;
    int cpus_per_rank, memory_mb; /* memory per node */
    int minutes;                  /* time limit */
    int signal_seconds;           /* SIGUSR1 to the batch script so long before the limit */
    bool exclusive, requeue;
    const char *const *env; /* "NAME=value", NULL at the end */
};

/* One record of a job: the whole job, an element of an array, or all elements that have not begun. Borrowed texts, but for `state`. */
struct slurm_state {
    uint32_t job;
    const char *elements; /* "3", "4-6,8%2"; "" when the job is no array */
    const char *state;    /* "PENDING", "RUNNING", ...; a constant */
    const char *reason;   /* why it waits, "" */
    const char *nodes;    /* where it runs, "" */
    bool pending, active; /* active: it waits, runs, or is about to end */
    bool preempted;       /* it runs, and will be taken back for another job */
    int restarts;         /* -1: not known */
    int64_t start;        /* its present or last one, seconds since 1970; 0 before */
    double seconds;       /* that it has run since then */
};
typedef void slurm_visit_fn(void *arg, const struct slurm_state *s);

struct slurm_limits {
    uint32_t max_array; /* indexes are below it */
    uint32_t max_jobs;  /* jobs and array tasks of all users that slurmctld keeps at one time */
};

struct slurm_api {
    int version; /* SLURM_API_VERSION */
    const char *library;
    int (*limits)(struct slurm_limits *l, struct pkb_error *err);
    /* 0; -1: refused; -2: not now, a later try may succeed (slurmctld has no room or does not answer). */
    int (*submit)(const struct slurm_job *job, uint32_t *id, struct pkb_error *err);
    /* Visits what Slurm knows of a job. One that it has forgotten is not visited; 0. */
    int (*states)(uint32_t job, slurm_visit_fn *visit, void *arg, struct pkb_error *err);
    /* Visits the starts that are over of n jobs which were submitted at or after `since` (seconds since 1970), those of requeued
     * elements too, as the accounting database has them. 0; 1: the cluster has no such database; -1: it does not answer. */
    int (*past)(const uint32_t *jobs, size_t n, int64_t since, slurm_visit_fn *visit, void *arg, struct pkb_error *err);
    /* "17" or "17_[3-5]". A job that is over is no error. */
    int (*cancel)(const char *job, struct pkb_error *err);
};

/* Loads the plugin, once per process. NULL with the error set: pkb was built without Slurm, libslurm is missing, or there is no
 * slurm.conf. */
const struct slurm_api *slurm_api_load(struct pkb_error *err);

#endif
