/* SPDX-License-Identifier: Apache-2.0 */
/* The PMIx server of one world on this machine, behind a few functions.
 *
 * libpmix allows one server per process, ever: a process that makes one serves one world and then ends. The library calls back on a
 * thread of its own; what it says is queued here and read by the one thread that owns the world. */
#ifndef PKB_ORCHESTRATOR_LOCAL_SERVER_H
#define PKB_ORCHESTRATOR_LOCAL_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

struct server;

enum server_event_kind {
    SERVER_CONNECTED, /* the rank has called PMIx_Init */
    SERVER_FINALIZED, /* the rank has called PMIx_Finalize */
    SERVER_ABORTED,   /* the rank has called PMIx_Abort */
    SERVER_FENCE,     /* a fence that the library cannot complete alone, since a rank is gone: answer it */
};

/* What the library holds until a fence is answered. */
struct server_fence {
    char *data;
    size_t size;
    void (*done)(int status, const char *data, size_t size, void *arg, void (*release)(void *), void *release_arg);
    void *arg;
};

struct server_event {
    enum server_event_kind kind;
    int rank;
    struct server_fence fence; /* SERVER_FENCE */
};

/* Starts the server and registers a namespace with this many ranks, all on this node. Removes PMIX_* and PMI_* of an outer world from
 * this process's environment. */
struct server *server_create(int ranks, struct pkb_error *err);

/* Readable when an event waits. */
int server_fd(const struct server *s);

/* The next event: true and *e filled, or false when none waits. */
bool server_next(struct server *s, struct server_event *e);

/* Completes a fence with its data, or tells the survivors that a rank is gone. */
void server_answer(const struct server_fence *fence, bool complete);

/* The environment for a rank: this process's own and what connects the rank to the server. For server_environment_free. */
char **server_environment(struct server *s, int rank, struct pkb_error *err);
void server_environment_free(char **env);

/* Only after a world whose ranks all ended well: the library can hang or crash here when clients were killed. Otherwise end the
 * process by _exit. */
void server_destroy(struct server *s);

#endif
