/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a shard attempt, as agent 0 keeps them. */
#ifndef PKB_NODE_AGENT_STORE_H
#define PKB_NODE_AGENT_STORE_H

#include "node_agent/agent.h"

#define STORE_DRIFT 0.05 /* a baseline that moved by more is flagged */

/* Creates this attempt's file. */
int store_open(struct agent *a, struct pkb_error *err);

/* Appends a line (taken over; NULL counts as out of memory). A full disk is waited for: about 30 s, or $PKB_RECORD_RETRY_SECONDS.
 * Then -1: the attempt ends, and the line is not in the file. */
int store_append(struct agent *a, json_t *value, struct pkb_error *err);

/* Whether this attempt still owns the shard: -1 when a newer one exists or the file is gone (AGENT_EXIT_FENCED). */
int store_check_lease(struct agent *a, struct pkb_error *err);

/* Which cells of the plan in memory have a final record in any attempt's file: done[i] for cells[i]. */
int store_load_done(struct agent *a, bool *done, struct pkb_error *err);

/* Members that all records of this attempt share: nodes, versions. */
void store_add_world(const struct agent *a, json_t *more);

/* Names of a setting, in the sizes of struct record. */
void store_describe_setting(const struct agent *a, const struct plan_setting *s, char problem[64], char family[32],
                            char dtype[16], char shape[64], char device[16]);

#endif
