/* SPDX-License-Identifier: Apache-2.0 */
/* The number of an attempt at a shard: its fencing token. */
#ifndef PKB_ORCHESTRATOR_ATTEMPT_CLAIM_H
#define PKB_ORCHESTRATOR_ATTEMPT_CLAIM_H

#include "util/error.h"

/* Takes the lowest number that no attempt at the shard has, on any host, by making its folder RUN/logs/shard-SSSSSS.AAA. From now on
 * agents of earlier attempts stop by themselves (node_agent/store.h). -1 also when the shard has had 999 attempts. */
int attempt_claim(const char *run, int shard, int *number, struct pkb_error *err);

/* RUN/logs/shard-SSSSSS.AAA. The caller frees. */
char *attempt_log_dir(const char *run, int shard, int number, struct pkb_error *err);

#endif
