/* SPDX-License-Identifier: Apache-2.0 */
/* The run directory. Formats are versioned; files are replaced by write-to-temporary and rename, or appended and fsynced.
 *
 *   run.json            {"format":1,"name":...,"sweep":{"path":...,"digest":...,"source":...},"created":UTC,"host":...,"user":...,
 *                        "version":...,"build":BUILD_ID,"argv":[...],"launcher":"local","build_cache":PATH or null,
 *                        "environment":{variables of util/tuning.h},
 *                        "topology":{"name":...,"digest":...,"content":{...}} or null}
 *   plan/               sweeps/plan.h
 *   candidates/DIGEST.KIND   sources, content-addressed
 *   builds/KEY/         node_agent/build.h (unless run.json names a shared cache)
 *   records/            results/record.h
 *   logs/shard-SSSSSS.AAA/agent-RRR.log, runner-RRR.log    per shard attempt; launch.log: the launcher's own words
 *   results.db          made by merge, disposable
 *   lock                flock'ed while the run is driven; holds the driver's "HOST PID UTC" for the message
 */
#ifndef PKB_ORCHESTRATOR_RUNDIR_H
#define PKB_ORCHESTRATOR_RUNDIR_H

#include <stdbool.h>

#include "sweeps/plan.h"
#include "topology/topology.h"
#include "util/error.h"

#define RUNDIR_FORMAT 1

struct rundir {
    char *path;        /* absolute */
    char *name;        /* of the sweep */
    char *build_id;    /* of the pkb that made it */
    char *build_cache; /* absolute */
    char *created;     /* UTC */
    char *environment; /* tuning_text of what it was made with; "" for older runs */
    int lock_fd;       /* -1: not locked */
};

struct rundir_options {
    const char *path;        /* to be created; must not exist, or be empty */
    const char *build_cache; /* NULL: RUN/builds */
    const char *launcher;
    const struct topology *topology; /* of the machine that it runs on; NULL: not known */
    int argc;
    char **argv;
};

/* Creates a run from a sweep and its plan: copies the candidates (whose digests must still be the plan's) and writes run.json last, so
 * that a folder with a run.json is complete. On failure what was created is removed. */
struct rundir *rundir_create(const struct rundir_options *o, const struct sweep *s, const struct plan *p, struct pkb_error *err);

/* Opens an existing run ("no run directory: run.json is missing; did you mean ...?"). */
struct rundir *rundir_open(const char *path, struct pkb_error *err);

/* Takes the run's lock. The lock belongs to the open descriptor r->lock_fd: a launcher and agents that inherit it keep it, so that it
 * is free only once everything that could still write a record is gone. 0; -1 on failure; -2 when somebody else drives the run (the
 * error says who). A driver that has just died is waited for, some seconds at most, until its processes are gone too. */
int rundir_lock(struct rundir *r, struct pkb_error *err);

/* Gives up this process's hold on the lock. */
void rundir_unlock(struct rundir *r);

/* Whether somebody drives the run now, and "HOST PID UTC" of the last that did ("" : nobody ever). Takes the lock for an instant. */
int rundir_driver(const struct rundir *r, bool *driven, char *who, size_t size, struct pkb_error *err);

/* The description of its machine that the run keeps. 1; 0: it keeps none; -1: it is damaged. */
int rundir_topology(const struct rundir *r, struct topology *t, struct pkb_error *err);

/* NULL-safe; gives up this process's hold on the lock. */
void rundir_destroy(struct rundir *r);

/* Path of a candidate's source in the run. The caller frees. */
char *rundir_candidate(const struct rundir *r, const struct plan_candidate *c, struct pkb_error *err);

#endif
