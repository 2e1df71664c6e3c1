/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of rounds.h: the state, and what its two files need of each other. */
#ifndef PKB_NODE_AGENT_ROUNDS_STATE_H
#define PKB_NODE_AGENT_ROUNDS_STATE_H

#include "node_agent/rounds.h"

#define ROUNDS_ENTRY_HEADER 12 /* kind, arrival, size in front of each rank's data in a REPLY */
#define ROUNDS_MAX_TEXT 400

/* What the hub holds of one rank in the current round. */
struct submission {
    bool there;
    uint32_t kind, arrival;
    size_t size, capacity;
    uint8_t *data;
};

struct rounds {
    int rank, world;
    uint64_t number;  /* the current round */
    bool submitted;   /* by this agent in it */
    bool interrupted; /* an INTERRUPT of it is to be reported */
    bool replied;     /* hub: a REPLY is to be reported */
    int lost_rank, lost_code;
    bool over;
    struct round_entry *entries;

    struct frames *hub; /* a member's connection; NULL at the hub */

    struct frames **members; /* the hub's connections, by rank */
    int epoll_fd;
    struct submission *submissions;
    int n_there;
    uint32_t arrivals;
    bool exit_seen;
    uint8_t *reply;
    size_t reply_capacity;
};

/* ---- rounds.c: both sides -------------------------------------------------------------------------------------------- */

/* Sets r->entries to the parts of a REPLY's payload. -1 when it is malformed. */
int rounds_parse_reply(struct rounds *r, const uint8_t *p, size_t size);

/* This agent's state at the beginning of the next round. */
void rounds_next(struct rounds *r);

/* A peer's text, cut and made printable. */
void rounds_copy_text(char *text, size_t size, const uint8_t *data, size_t n);

/* ---- rounds_hub.c: agent 0 ------------------------------------------------------------------------------------------- */

int rounds_hub_open(struct rounds *r, struct pkb_error *err);
int rounds_hub_progress(struct rounds *r, struct pkb_error *err);

/* A rank's submission in the current round. */
int rounds_hub_store(struct rounds *r, int rank, uint32_t kind, const void *data, size_t size, struct pkb_error *err);

/* Tells everybody which agent was lost, and with which code it left (0: it did not say). Returns -1. */
int rounds_hub_lose(struct rounds *r, int rank, int code, const char *why, struct pkb_error *err);

#endif
