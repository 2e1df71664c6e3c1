/* SPDX-License-Identifier: Apache-2.0 */
/* Wire-up: which rank this process is, and one card of text from every rank to every rank. PMIx is used in wireup.c alone, and
 * only until wireup_destroy: a process that is still connected takes its whole step along when it dies.
 *
 * Without a PMIx server in the environment the world is this process alone.
 */
#ifndef PKB_NODE_AGENT_WIREUP_H
#define PKB_NODE_AGENT_WIREUP_H

#include <stdbool.h>

#include "util/error.h"

#define WIREUP_MAX_CARD 4096
#define WIREUP_MAX_WORLD 4096

struct wireup;

struct wireup *wireup_create(struct pkb_error *err);

/* NULL-safe. Leaves the PMIx world. */
void wireup_destroy(struct wireup *w);

int wireup_rank(const struct wireup *w);
int wireup_world(const struct wireup *w);

/* Whether a launcher started this process as part of a world. */
bool wireup_launched(const struct wireup *w);

/* Whether all ranks are known to share this machine. */
bool wireup_one_node(const struct wireup *w);

/* Gives this rank's card to all and gets everybody's. Once per world; waits for all ranks, at most timeout_s. */
int wireup_exchange(struct wireup *w, const char *card, int timeout_s, struct pkb_error *err);

/* The card of a rank, after the exchange. */
const char *wireup_card(const struct wireup *w, int rank);

#endif
