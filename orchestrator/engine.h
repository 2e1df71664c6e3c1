/* SPDX-License-Identifier: Apache-2.0 */
/* What run, resume and eval have in common: a list of stages over one run directory. Every stage can be repeated: what has a final
 * record is not done again. */
#ifndef PKB_ORCHESTRATOR_ENGINE_H
#define PKB_ORCHESTRATOR_ENGINE_H

#include <jansson.h>
#include <stdbool.h>

#include "orchestrator/builds.h"
#include "orchestrator/display.h"
#include "orchestrator/exit.h"
#include "orchestrator/launcher.h"
#include "orchestrator/progress.h"
#include "orchestrator/rundir.h"
#include "orchestrator/stop.h"

#define ENGINE_MAX_IDLE 3 /* attempts at a shard without any new result, after which it is left */

struct engine_options {
    const char *sweep;              /* run: the Lua file */
    const char *run;                /* run: where the run directory is made, NULL: runs/NAME-UTC; resume: the run */
    const char *build_cache;        /* NULL: in the run directory */
    const char *topology;           /* run: of the machine, "none"; NULL: what GPUs of this machine say */
    double shard_seconds;           /* 0: the default */
    struct words learn;             /* run: earlier runs that shards are sized by */
    int build_jobs;                 /* 0: as many as there are processors, 2 at least */
    size_t build_part, build_parts; /* one of several builders; parts 0: the only one */
    bool force_build;               /* resume: with another build than the run was made by */
    const char *launcher;           /* "slurm"; else worlds on this machine */
    const char *site;               /* slurm: the site file */
    struct words slurm;             /* slurm: KEY=VALUE settings */
    bool untried;                   /* slurm: only shards that no attempt was made at */
    bool wait;                      /* slurm: until the jobs are over */
    bool quiet, json;
    int argc; /* for run.json */
    char **argv;
};

struct engine {
    const struct engine_options *o;
    const struct launcher *launcher; /* of worlds on this machine, or within a job of a cluster */
    struct sweep *sweep;
    struct plan *plan;
    struct rundir *run;
    struct progress *progress;
    struct builds *builds;
    struct slurm_launch *slurm; /* orchestrator/slurm/launch.h; NULL: not used */
    bool submitted;             /* jobs do the rest */
    struct display display;
    struct stop stop;
    size_t shards_left; /* given up */
    bool merged;        /* RUN/results.db is up to date */
    int code;           /* enum pkb_exit: of a stage that failed, or of the whole */
};

/* A stage: 0, or -1 with the error set and e->code saying how to exit. */
typedef int engine_stage_fn(struct engine *e, struct pkb_error *err);

engine_stage_fn engine_load;     /* the sweep */
engine_stage_fn engine_plan;     /* cells and shards */
engine_stage_fn engine_create;   /* the run directory */
engine_stage_fn engine_open;     /* an existing one, of this build */
engine_stage_fn engine_lock;     /* nobody else drives it */
engine_stage_fn engine_read;     /* what has a result already */
engine_stage_fn engine_build;    /* candidates */
engine_stage_fn engine_evaluate; /* shards, one after the other */
engine_stage_fn engine_merge;    /* RUN/results.db */

/* Cells of a shard that can be run and have no final result. */
uint64_t engine_open_cells(const struct engine *e, const struct plan_shard *s);

/* Attempts at one shard until all that can be run has a result, or attempts bring none. Sets *hopeless when other shards would fare
 * no better. */
int engine_shard(struct engine *e, const struct plan_shard *s, bool *hopeless, struct pkb_error *err);

struct engine_stage {
    const char *name;
    engine_stage_fn *run;
};

/* Goes through stages (ended by one without a name) until one fails, or a stop is asked for. Messages on the way go to standard
 * error. Returns the exit code; e->code holds it too. */
int engine_go(struct engine *e, const struct engine_stage *stages);

void engine_init(struct engine *e, const struct engine_options *o);
void engine_destroy(struct engine *e);

/* Says on standard error what is missing and how to go on, if anything is. */
void engine_conclude(struct engine *e);

/* {"run":PATH, "name":..., "cells":N, "done":N, "outcomes":{...}, "missing":N, "shards_left":N, "interrupted":BOOL, "exit":CODE}; NULL
 * when memory runs out. */
json_t *engine_summary(const struct engine *e);

/* A whole command: the stages, then what is missing, then the tables or (o->json) the summary on standard output. Returns the exit
 * code. */
int engine_command(const struct engine_options *o, const struct engine_stage *stages);

#endif
