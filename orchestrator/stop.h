/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C (SIGINT), SIGTERM and SIGHUP of a long-running command, as a descriptor. The first asks it to stop in order, the second to
 * leave at once. */
#ifndef PKB_ORCHESTRATOR_STOP_H
#define PKB_ORCHESTRATOR_STOP_H

#include <stdbool.h>

#include "util/error.h"

struct stop {
    int fd;     /* readable when a signal waits; -1: none */
    int count;  /* signals so far */
    int signal; /* the first */
    bool drain; /* SIGUSR1: asked to stop between two cells */
    bool drain_taken;
};

#define STOP_NONE ((struct stop){.fd = -1})

/* Blocks the signals for this thread and those it creates from now on. Ignores SIGPIPE. */
int stop_open(struct stop *s, struct pkb_error *err);
void stop_close(struct stop *s);

/* Takes note of SIGUSR1 too, from now on. */
int stop_catch_drain(struct stop *s, struct pkb_error *err);

/* Whether SIGUSR1 has come; true once. */
bool stop_take_drain(struct stop *s);

/* Takes what waits, without waiting; whether there has ever been one. */
bool stop_asked(struct stop *s);

#endif
