/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPU a rank's runners use, and what all agents say of their GPUs. */
#ifndef PKB_NODE_AGENT_GPU_PLACE_H
#define PKB_NODE_AGENT_GPU_PLACE_H

#include "node_agent/agent.h"
#include "node_agent/decide.h"
#include "node_agent/gpu_state.h"

/* The CUDA ordinal of a rank among `visible` GPUs (-1: not known): its local rank, or 0 where the launcher shows each rank one GPU;
 * with `shared` (PKB_COMM=staged) ranks take turns. -1 with the error set when there are too few. Whether ranks that see one GPU
 * each see the same one shows only when they compare. */
int gpu_place_choose(int local_rank, int local_world, int visible, bool shared, struct pkb_error *err);

/* The first two ranks of one node with the same UUID ("" is like no other). true: *a and *b are set. */
bool gpu_place_same(const char *const *uuids, const int *node_of_rank, int world, int *a, int *b);

/* Before anything is run on GPUs: places this rank and compares with the others. Collective. Fills a->gpu and a->gpu_ordinal. 0, or
 * -1 when the attempt ends. */
int gpu_place(struct agent *a, struct pkb_error *err);

/* After a cell: what all ranks say of their GPUs since `before`. When a GPU was to blame *d becomes an infra_error, else it stays.
 * *states becomes the list of the ranks' {before, after}. Collective. 0, or -1 when the attempt ends. */
int gpu_compare(struct agent *a, const struct gpu_state *before, const struct gpu_state *after, struct decision *d,
                json_t **states, struct pkb_error *err);

/* This rank's GPU now. */
void gpu_look(const struct agent *a, struct gpu_state *s);

#endif
