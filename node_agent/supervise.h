/* SPDX-License-Identifier: Apache-2.0 */
/* A runner as its agent sees it: a child that may crash, hang, flood, lie or refuse to die, and never holds the agent up.
 *
 * The caller polls runner_pollfds together with its own descriptors and calls runner_progress after every poll. What the runner
 * prints goes to a bounded log. Nothing here waits for a runner, except for one that has closed its socket (at most half a second,
 * to hear how it ended) and one that was killed.
 */
#ifndef PKB_NODE_AGENT_SUPERVISE_H
#define PKB_NODE_AGENT_SUPERVISE_H

#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "node_agent/protocol.h"
#include "util/error.h"

#define RUNNER_POLLFDS 3
#define RUNNER_TEXT 512

/* What all runners of an agent have in common. */
struct supervisor;

/* `program` is the runner's path, `shm_prefix` what the ranks of this node have in common. Adopts orphans (node_agent/leftovers.h), and removes what killed agents left in shared memory. */
struct supervisor *supervisor_create(const char *program, const char *shm_prefix, struct pkb_error *err);
/* NULL-safe. All its runners must be destroyed before. */
void supervisor_destroy(struct supervisor *s);

struct runner_spec {
    const char *title;      /* for the log: "cell 12 direct/01_allreduce/1, rank 0" */
    const char *log_path;   /* appended to */
    uint64_t number;        /* the same on all ranks, another for each runner */
    int inputs, results;    /* descriptors of the shared memory; stay the caller's */
    uint64_t address_space; /* bytes; 0: unlimited */
    uint64_t data_bytes;    /* the same for private memory that can be written */
};

struct runner;

struct runner *runner_start(struct supervisor *s, const struct runner_spec *spec, struct pkb_error *err);

/* NULL-safe. Kills the runner with everything that it started, and removes its shared memory. */
void runner_destroy(struct runner *r);

/* Kills the runner; it stays to be asked. Remembers where it was. */
void runner_kill(struct runner *r);

/* Prefix for the names of the runner's shared memory objects. */
const char *runner_shm_prefix(const struct runner *r);
pid_t runner_pid(const struct runner *r);
bool runner_alive(const struct runner *r);

/* Queues a message. A runner that does not read gets no more than a bounded amount: then -1. */
int runner_send(struct runner *r, const json_t *value, struct pkb_error *err);

enum runner_event {
    RUNNER_QUIET,
    RUNNER_MESSAGE, /* a JSON object: *message, the caller decrefs */
    RUNNER_ENDED,   /* by itself: runner_end */
    RUNNER_BROKEN,  /* sent what is not the protocol, or closed its socket and lives on: runner_end has the text; it is killed */
};

/* Fills fds[RUNNER_POLLFDS]; entries that are not used have fd -1. */
void runner_pollfds(const struct runner *r, struct pollfd *fds);

/* Drains the log, sends what is queued, and returns the next event. Call until RUNNER_QUIET. */
enum runner_event runner_progress(struct runner *r, json_t **message);

/* How a runner ended. */
struct runner_end {
    bool broken;            /* RUNNER_BROKEN */
    int status;             /* wait status of one that ended by itself */
    bool refused;           /* an allocation of the process had failed */
    bool inside;            /* it was in the candidate's code */
    bool oom_killer;        /* the system's out-of-memory killer was at work while it ran */
    char stage[128];        /* where it was: "in pkb_solution, trial 2" */
    char text[RUNNER_TEXT]; /* of a broken one: why */
};
void runner_end(const struct runner *r, struct runner_end *end);

/* Where it is now, or was when it ended. */
void runner_stage(const struct runner *r, char *text, size_t size);

/* The last lines that it printed, printable. */
void runner_output(const struct runner *r, char *text, size_t size);

#endif
