/* SPDX-License-Identifier: Apache-2.0 */
/* Agent 0 of a world as a process of this machine, which it is for the local launcher and on the first node of a job. A world is over
 * when its agent 0 is, whatever its launcher knows: srun waits for ever where the daemon that held the ranks was killed, and ranks go
 * on where srun was. */
#ifndef PKB_ORCHESTRATOR_LEADER_H
#define PKB_ORCHESTRATOR_LEADER_H

#include <stdbool.h>
#include <sys/types.h>

struct leader {
    int pidfd; /* -1: not known */
};

#define LEADER_NONE ((struct leader){.pidfd = -1})

/* Remembers the process when it is on this machine and an agent of that attempt; else (another machine, a container) nothing. */
void leader_meet(struct leader *l, pid_t pid, int shard, int attempt);

/* Whether it was here and has ended. */
bool leader_gone(const struct leader *l);

/* Ends it, if it is here: SIGTERM, some seconds, SIGKILL. The other agents end when they lose it. Forgets it. */
void leader_end(struct leader *l);

#endif
