/* SPDX-License-Identifier: Apache-2.0 */
/* How a run uses a cluster: the settings of jobs. They come from the sweep's slurm = { ... }, from the site file and from the command
 * line (--slurm KEY=VALUE), a later one taking the place of an earlier one. docs/slurm.md explains each. */
#ifndef PKB_ORCHESTRATOR_SLURM_SETTINGS_H
#define PKB_ORCHESTRATOR_SLURM_SETTINGS_H

#include <jansson.h>
#include <stdbool.h>

#include "util/error.h"
#include "util/words.h"

struct slurm_settings {
    char *partition, *cpu_partition, *account, *qos, *constraint, *reservation, *exclude; /* NULL: Slurm's default */
    char *gpu;           /* what --gres calls a GPU: "gpu", "gpu:h100"; "none": do not ask for any */
    char *mpi;           /* srun --mpi= */
    char *build;         /* where candidates are compiled: "here" (by the machine that submits) or "jobs"; NULL: jobs where
                           cpu_partition is set */
    char *cuda_archs;    /* PKB_CUDA_ARCHS of all jobs: nodes that build need not have GPUs; NULL: not set */
    int build_tasks;     /* of the array that builds, at most */
    int build_cpus;      /* processors of each of them */
    int ranks_per_node;  /* a larger world takes several nodes */
    int cpus_per_rank;   /* 0: Slurm's default */
    int memory_mb;       /* per node; 0: Slurm's default */
    int minutes;         /* time limit of a task; 0: from the shards' estimates */
    int wave;            /* tasks that are submitted at one time, at most; 0: as many as the cluster takes */
    int bad_node_errors; /* infra errors after which a node is left out; 0: never */
    int throttle;        /* tasks of one world size that run at one time; 0: any number */
    int signal_seconds;  /* before the time limit, for a stop between two cells; 0: none */
    bool exclusive, requeue;
    struct words prolog;       /* shell lines before the agents */
    struct words srun_options; /* more of them */
};

/* Puts the members of `more` over those of `settings`. */
int slurm_settings_add(json_t *settings, json_t *more, struct pkb_error *err);

/* "KEY=VALUE"; a list's values are separated by ';'. */
int slurm_settings_add_text(json_t *settings, const char *text, struct pkb_error *err);

/* The site file: `path`, or (NULL) $PKB_SITE, or site.yaml in /etc/pkb, where it exists. */
int slurm_settings_add_site(json_t *settings, const char *path, struct pkb_error *err);

/* Checks and decodes; unknown keys and wrong values are errors that name the key. Clear it in any case. */
int slurm_settings_decode(json_t *settings, struct slurm_settings *s, struct pkb_error *err);
void slurm_settings_clear(struct slurm_settings *s);

bool slurm_settings_build_by_jobs(const struct slurm_settings *s);

#endif
