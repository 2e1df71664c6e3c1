/* SPDX-License-Identifier: Apache-2.0 */
/* A world of PMIx clients on this machine, from start to end: forks, watches and, when it must, kills them.
 *
 * Every rank leads a process group and dies with the calling thread. When a rank ends abnormally (non-zero, by a signal, or
 * without having joined a world that others have joined) the others get `grace_ms` to notice and end by themselves, then all are
 * killed. SIGINT, SIGTERM and SIGHUP are passed on to all ranks, which are killed `stop_ms` later. */
#ifndef PKB_ORCHESTRATOR_LOCAL_WORLD_H
#define PKB_ORCHESTRATOR_LOCAL_WORLD_H

#include "util/error.h"

#define WORLD_MAX_RANKS 1024

/* Exit codes of a world beside the ranks' own. */
enum world_exit {
    WORLD_EXIT_FAILED = 120,     /* the launcher itself failed: no PMIx server, no memory */
    WORLD_EXIT_NOT_JOINED = 121, /* a rank ended with 0 without joining a world that others have joined */
    WORLD_EXIT_NO_COMMAND = 127, /* the command cannot be executed */
    WORLD_EXIT_SIGNAL = 128,     /* + the signal that ended the rank or stopped the launcher */
};

struct world_spec {
    int ranks;
    const char *const *argv; /* argv[0] is a path */
    const char *log_dir;     /* agent-RRR.log each: standard error, and standard output of all but rank 0. NULL: both go to this
                                process's standard error */
    int hold_fd; /* inherited by every rank as descriptor 3, so that a lock on it lasts as long as any of them; 0: none */
    int grace_ms, stop_ms; /* 0: 5000 and 3000 */
};

struct world_result {
    int code; /* 0 when all ranks ended with 0; else of the first rank that a signal ended, else of the first that failed, or of the
                       stopping signal */
    int rank;       /* that rank, -1: none */
    char text[256]; /* what happened, for people; empty when code is 0 */
};

/* Runs a world to its end; rank 0's standard output is this process's. Once per process (libpmix), from a thread that lives as long.
 * 0 with *result filled, or -1 with the error set when the world could not be started (result->code says how to exit). After anything but
 * code 0 the process must end by _exit: see server_destroy. */
int world_run(const struct world_spec *spec, struct world_result *result, struct pkb_error *err);

#endif
