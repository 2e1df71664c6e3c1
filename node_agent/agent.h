/* SPDX-License-Identifier: Apache-2.0 */
/* pkb-agent: one rank of the world that works through a shard.
 *
 * Exit codes, for the launcher and the controller. All but 0 mean that cells of the shard may still lack a final record; another
 * attempt takes over what is left. */
#ifndef PKB_NODE_AGENT_AGENT_H
#define PKB_NODE_AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "node_agent/supervise.h"
#include "node_agent/world.h"
#include "results/record.h"
#include "sweeps/plan.h"
#include "util/error.h"

enum agent_exit {
    AGENT_EXIT_DONE = 0,    /* every cell that was asked for has a record */
    AGENT_EXIT_USAGE = 2,   /* wrong arguments */
    AGENT_EXIT_FAILED = 3,  /* cannot begin or go on: run directory, plan, number of ranks, another build, no memory */
    AGENT_EXIT_LOST = 4,    /* the agent of another rank was lost; the current cell is an infra_error */
    AGENT_EXIT_STOPPED = 5, /* SIGTERM or SIGINT: the current cell was abandoned */
    AGENT_EXIT_DRAINED = 6, /* SIGUSR1: stopped between two cells */
    AGENT_EXIT_FENCED = 7,  /* the shard has a newer attempt, or this one's record file exists already or is gone */
    AGENT_EXIT_STORAGE = 8, /* a record could not be written: disk full */
};

struct agent_options {
    const char *run;
    int shard, attempt;
    const char *device; /* NULL: as the plan says */
    const char *cells;  /* "all", or numbers within the plan: "3,5-9" */
};

struct reference;
struct gpu_watch;

/* What an agent has while it works. */
struct agent {
    struct agent_options options;
    struct agent_world *world;
    struct plan *plan; /* this shard's cells alone */
    const struct plan_shard *shard;
    struct supervisor *supervisor;
    char *build_cache;
    char *log_path; /* of the runners of this rank */
    int signal_fd;
    int gpu_ordinal;             /* of this rank's GPU; -1: the device is the host */
    struct gpu_watch *gpu;       /* NULL: none */
    bool drain;                  /* SIGUSR1 was received by this rank */
    bool draining;               /* all ranks know that one has received it */
    enum agent_exit code;        /* why the attempt ends, once a function has returned -1 */
    struct record_log *log;      /* agent 0 */
    struct reference *reference; /* of the current setting; NULL: none */
};

/* The device backend that a setting is run on. */
const char *agent_device(const struct agent *a, const struct plan_setting *s);

/* Ends the attempt with a code and a text (fmt NULL: the error as it is); the first end stays. Returns -1. */
int agent_end(struct agent *a, enum agent_exit code, struct pkb_error *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Waits for the reply of a round in which this rank has submitted, awake for signals. 0, or -1 when the attempt ends. */
int agent_wait(struct agent *a, struct pkb_error *err);

/* Takes note of signals that have arrived. 0, or -1 when one of them ends the attempt. */
int agent_signals(struct agent *a, struct pkb_error *err);

#endif
