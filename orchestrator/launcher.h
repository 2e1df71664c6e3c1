/* SPDX-License-Identifier: Apache-2.0 */
/* How the agents of one world are started: a command that runs one program in every rank under PMIx, whose standard output is agent
 * 0's and which ends with the code of the worst rank. It passes SIGTERM on to the ranks. */
#ifndef PKB_ORCHESTRATOR_LAUNCHER_H
#define PKB_ORCHESTRATOR_LAUNCHER_H

#include <stdbool.h>

#include "util/error.h"
#include "util/words.h"

struct launcher_world {
    int ranks;
    const char *log_dir; /* agent-RRR.log: standard error of each rank */
    bool hold;           /* descriptor 3 of the command is a lock, to be held as long as the ranks live */
};

struct launcher {
    const char *name;
    /* Appends the command; program and arguments of the ranks follow it. */
    int (*add_words)(const struct launcher *l, const struct launcher_world *w, struct words *command, struct pkb_error *err);
    const void *data; /* the launcher's own */
    bool drains;      /* passes SIGUSR1 on too */
};

extern const struct launcher launcher_local; /* pkb-launch-local: on this machine */

#endif
