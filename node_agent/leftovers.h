/* SPDX-License-Identifier: Apache-2.0 */
/* What a runner may leave behind: processes that escaped its group, and POSIX shared memory. */
#ifndef PKB_NODE_AGENT_LEFTOVERS_H
#define PKB_NODE_AGENT_LEFTOVERS_H

#include <stddef.h>
#include <sys/types.h>

#include "util/error.h"

/* From now on orphans of this process's descendants become its children, so that leftovers_kill finds them. */
int leftovers_adopt(struct pkb_error *err);

/* Kills and reaps all children of this thread but those in `keep`. */
void leftovers_kill(const pid_t *keep, size_t n);

/* Unlinks the shared memory objects whose name starts with "/prefix". */
void leftovers_unlink(const char *prefix);

/* A prefix of names that no other process uses: "/pkb.<pid namespace>.<pid>". */
void leftovers_prefix(char *prefix, size_t size);

/* Unlinks objects of processes of this pid namespace that are gone (an agent that was killed). */
void leftovers_unlink_orphans(void);

#endif
