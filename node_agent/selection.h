/* SPDX-License-Identifier: Apache-2.0 */
/* The cells of a shard that are to be run, and which iterations are checked. Agent 0's. */
#ifndef PKB_NODE_AGENT_SELECTION_H
#define PKB_NODE_AGENT_SELECTION_H

#include "node_agent/agent.h"
#include "node_agent/build.h"
#include "node_agent/cell.h"

struct selection {
    bool *skip; /* per cell of the shard: done, or not asked for */
    size_t next;
    struct build_toolchain *toolchain; /* found at the first cell that needs it */
};

/* Reads the records that there are and the --cells option. */
int selection_open(struct agent *a, struct selection *s, struct pkb_error *err);
void selection_close(struct selection *s);

/* The next cell whose candidate has been built (or builds now). Cells that do not get so far are recorded on the way. 1 with *task
 * filled (task->object is the caller's), 0: no cell is left, -1: the attempt ends. */
int selection_next(struct agent *a, struct selection *s, struct cell_task *task, struct pkb_error *err);

/* Marks the cells of a list like "3,5-9" (numbers of the plan; `first` is that of wanted[0]). Unknown numbers are an error. */
int selection_parse(const char *list, uint64_t first, size_t n, bool *wanted, struct pkb_error *err);

#endif
