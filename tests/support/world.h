/* SPDX-License-Identifier: Apache-2.0 */
/* A world of ranks for tests: forked processes of this program, whose exchanges the calling process serves. Nothing here starts
 * threads or UCX before the fork, and callers must not either. */
#ifndef PKB_TESTS_SUPPORT_WORLD_H
#define PKB_TESTS_SUPPORT_WORLD_H

#include "runtime/runtime.h"

#define WORLD_MAX 64

/* What a rank does, with its runtime open. Runs in a child: only what it writes to shared mappings is seen by the caller.
 * Returns 0, or -1 with the error set. */
typedef int world_fn(struct rt *rt, void *arg, struct pkb_error *err);

/* The same without a runtime: for tests that open it themselves, or need the exchange alone. */
typedef int world_raw_fn(const struct rt_options *options, void *arg, struct pkb_error *err);

/* Runs fn on `world` ranks of one node with the backend $PKB_TEST_BACKEND, or else "host". 0 when every rank returned 0 within
 * `seconds`; else -1 with the error of the lowest rank that died, else that failed ("rank 2: ..."). All children have ended when it
 * returns. */
int world_run(int world, int seconds, world_fn *fn, void *arg, struct pkb_error *err);

struct world_spec {
    int world;
    int seconds;             /* then everything is killed */
    const int *node_of_rank; /* NULL: one node */
    const char *backend;     /* NULL: $PKB_TEST_BACKEND, or else "host" */
    world_fn *fn;            /* this or raw */
    world_raw_fn *raw;
    void *arg;
};

enum world_end {
    WORLD_RETURNED,  /* with rc */
    WORLD_DIED,      /* without a result: signal or exit; text says which */
    WORLD_TIMED_OUT, /* killed */
};

struct world_rank {
    enum world_end end;
    int rc;
    char text[1024]; /* the rank's error, or how it died; "" when rc is 0 */
};

/* Runs all ranks and tells how each ended. A rank that ends makes the exchanges of the others fail. 0, or -1 with the error set
 * when they could not be started. */
int world_run_each(const struct world_spec *spec, struct world_rank *ranks, struct pkb_error *err);

#endif
