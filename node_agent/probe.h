/* SPDX-License-Identifier: Apache-2.0 */
/* What one rank can say about its node: for pkb doctor. One JSON object per rank:
 *
 *   {"rank", "host", "clock": seconds since 1970, "folder": "" or why the shared folder will not do, "shm_mb": free shared memory,
 *    "memory_mb": memory of the node, "cpus": processors that this process may use, "files": limit of open files,
 *    "locked_kb": limit of locked memory (-1: none), "gpus": visible GPUs} */
#ifndef PKB_NODE_AGENT_PROBE_H
#define PKB_NODE_AGENT_PROBE_H

#include <jansson.h>

#include "util/error.h"

/* Leaves a file of this rank in the folder. */
int probe_leave(const char *folder, int rank, struct pkb_error *err);

/* Whether the file of another rank can be seen: 0, or -1 with the reason. Waits a few seconds for a file system that is late. */
int probe_find(const char *folder, int rank, struct pkb_error *err);

/* Removes this rank's file. */
void probe_remove(const char *folder, int rank);

/* Everything else; `folder` is what was found out about the folder. NULL when memory runs out. */
json_t *probe_report(int rank, const char *host, const char *folder);

#endif
