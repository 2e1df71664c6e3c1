/* SPDX-License-Identifier: Apache-2.0 */
/* The world of a shard's agents: who is where, and the rounds between them. */
#ifndef PKB_NODE_AGENT_WORLD_H
#define PKB_NODE_AGENT_WORLD_H

#include "node_agent/rounds.h"
#include "util/error.h"

struct agent_world {
    int rank, world;
    int nodes;           /* different host names */
    int *node_of_rank;   /* numbered in the order of the ranks */
    char **hosts;        /* host name of every rank */
    int local_rank;      /* among the ranks of this node */
    char shm_prefix[64]; /* of shared memory names of this world on this node: node_agent/leftovers.h */
    struct rounds *rounds;
};

/* Joins: exchanges cards through the launcher, then connects to agent 0. Every rank must be of the build `build_id`, and there must be
 * `expected` ranks (0: any number); otherwise all ranks fail with the same explanation. Takes at most about two times timeout_s. */
struct agent_world *agent_world_join(const char *build_id, int expected, int timeout_s, struct pkb_error *err);

/* NULL-safe. */
void agent_world_destroy(struct agent_world *w);

#endif
