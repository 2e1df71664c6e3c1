/* SPDX-License-Identifier: Apache-2.0 */
/* The star: agent 0 listens, every other agent connects and proves with the cookie that it belongs to the world.
 * Connecting blocks, at most for the given time; afterwards the connections belong to rounds.h. */
#ifndef PKB_NODE_AGENT_STAR_H
#define PKB_NODE_AGENT_STAR_H

#include <stdbool.h>
#include <stdint.h>

#include "node_agent/frames.h"

#define STAR_COOKIE 32
#define STAR_HANDSHAKE_MS 5000 /* a connection that has not said who it is by then is closed */

enum frame_type {
    FRAME_HELLO = 0x31424b50, /* cookie, rank, world */
    FRAME_WELCOME = 1,
    FRAME_SUBMIT,    /* kind, data */
    FRAME_REPLY,     /* per rank: kind, arrival, size, data */
    FRAME_INTERRUPT, /* somebody submitted an EXIT in this round */
    FRAME_LOST,      /* rank, code, text: the world is broken */
    FRAME_BYE,       /* code, text: this member stops, and why */
};

/* Listens on a free port, of the loopback interface alone or of all. Returns the descriptor, or -1. */
int star_listen(bool loopback_only, int *port, struct pkb_error *err);

/* Accepts the other world-1 agents: members[r] for r >= 1 (members[0] stays NULL). Strangers (wrong cookie, garbage, silence, a rank
 * twice) are turned away and do not count; `strangers` (may be NULL) counts them. On failure the error names the missing ranks
 * and nothing stays open. `payload_limit` is the largest payload accepted from a member. */
int star_accept(int listen_fd, int world, const uint8_t cookie[STAR_COOKIE], size_t payload_limit, int timeout_ms,
                struct frames **members, int *strangers, struct pkb_error *err);

/* Connects to the hub, trying the numeric addresses in order. NULL with the error of the last try. */
struct frames *star_connect(const char *const *addresses, int n, int port, int rank, int world, const uint8_t cookie[STAR_COOKIE],
                            size_t payload_limit, int timeout_ms, struct pkb_error *err);

#endif
