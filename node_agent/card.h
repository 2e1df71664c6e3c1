/* SPDX-License-Identifier: Apache-2.0 */
/* What every agent tells all others at the start: a small JSON text. Agent 0's also says where it listens and the secret
 * that opens its door. */
#ifndef PKB_NODE_AGENT_CARD_H
#define PKB_NODE_AGENT_CARD_H

#include <stdint.h>

#include "node_agent/star.h"
#include "util/error.h"

#define CARD_ADDRESSES 8

struct card {
    char host[256];
    char build[128];
    int64_t pid;
    char shm_prefix[64]; /* node_agent/leftovers.h */
    int port;            /* 0: does not listen */
    uint8_t cookie[STAR_COOKIE];
    int n_addresses;
    char addresses[CARD_ADDRESSES][64]; /* numeric */
};

/* Of this process: host name, build, pid; with a port also a fresh cookie and this machine's addresses. */
int card_make(struct card *c, const char *build_id, int port, struct pkb_error *err);

/* To text (the caller frees) and back. Decoding validates everything. */
char *card_encode(const struct card *c, struct pkb_error *err);
int card_decode(const char *text, struct card *c, struct pkb_error *err);

#endif
