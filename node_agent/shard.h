/* SPDX-License-Identifier: Apache-2.0 */
/* The work on a shard: cell after cell until all have a record, announced by agent 0 in a round each. */
#ifndef PKB_NODE_AGENT_SHARD_H
#define PKB_NODE_AGENT_SHARD_H

#include "node_agent/agent.h"

/* Returns when the attempt is over: a->code says how, the error why unless it is AGENT_EXIT_DONE. */
void shard_run(struct agent *a, struct pkb_error *err);

#endif
