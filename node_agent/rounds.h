/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds: how agents agree. In every round each agent submits one {kind, data}; when all have, everybody gets everybody's. So all
 * agents know the same facts and decide alike.
 *
 * When an EXIT is submitted, agents that have not submitted in that round are interrupted at once: they kill their runner and submit
 * ABORTED in its place, so a dead or hung runner never blocks the others. An agent that has submitted something else may still
 * replace it by an EXIT while the round lasts; the reply says which counted.
 *
 * A lost connection is a lost agent, and the world is over: every function then returns -1. Nothing here blocks but rounds_wait
 * and rounds_destroy.
 */
#ifndef PKB_NODE_AGENT_ROUNDS_H
#define PKB_NODE_AGENT_ROUNDS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node_agent/frames.h"

#define ROUNDS_MAX_DATA (4u << 20)

enum round_kind {
    ROUND_CELL = 1, /* what to do next: agent 0 decides, the others say that they are ready */
    ROUND_EXCHANGE, /* the runner wants all blobs; data: its blob */
    ROUND_DONE,     /* the runner has finished the command; data: its result */
    ROUND_EXIT,     /* the runner failed or was killed over the limit; data: outcome, detail, stage */
    ROUND_ABORTED,  /* killed because of somebody's EXIT; data: stage */
    ROUND_VERDICT,  /* what this rank's judge says */
};

struct round_entry {
    uint32_t kind;
    uint32_t arrival; /* 0 for the first submission that reached agent 0 in this round, then 1, ... */
    const uint8_t *data;
    size_t size;
};

enum rounds_event {
    ROUNDS_NONE,
    ROUNDS_REPLY,     /* the round is complete: rounds_entry */
    ROUNDS_INTERRUPT, /* somebody submitted an EXIT in the round that this agent has not submitted in yet */
};

struct rounds;

/* Agent 0: takes over the connections in members[1..world-1] (members[0] is ignored), also when it fails. */
struct rounds *rounds_create_hub(int world, struct frames *const *members, struct pkb_error *err);

/* Any other agent: takes over its connection to the hub. */
struct rounds *rounds_create_member(int rank, int world, struct frames *hub, struct pkb_error *err);

/* NULL-safe. Sends what is still queued first, at most five seconds. */
void rounds_destroy(struct rounds *r);

/* The largest payload of a connection, for star.h: what a member may send, and what the hub may send to it. */
size_t rounds_member_limit(void);
size_t rounds_hub_limit(int world);

/* Submits in the current round. A second submission in a round must be an EXIT. */
int rounds_submit(struct rounds *r, enum round_kind kind, const void *data, size_t size, struct pkb_error *err);

/* The current round's number; the same on all agents between two rounds. */
uint64_t rounds_number(const struct rounds *r);

/* Whether this agent has submitted in the current round. */
bool rounds_submitted(const struct rounds *r);

/* What to poll for. */
struct pollfd rounds_pollfd(const struct rounds *r);

/* Handles what has arrived. Call after every poll until it answers ROUNDS_NONE. Returns an event, or -1 when the world is lost (the
 * error says which agent). */
int rounds_progress(struct rounds *r, struct pkb_error *err);

/* Waits for the reply. 0: it is there; 1: timeout; -1: lost. Interrupts are swallowed. timeout_ms -1: for ever. */
int rounds_wait(struct rounds *r, int timeout_ms, struct pkb_error *err);

/* What a rank submitted in the round that has just been answered; valid until the next rounds_submit or rounds_progress. */
const struct round_entry *rounds_entry(const struct rounds *r, int rank);

/* Tells the others that this agent stops, why, and with which code (above 0); the world is then over for all. */
void rounds_leave(struct rounds *r, int code, const char *why);

/* Rank of the agent that was lost, -1: none; and the code that it left with, 0: it did not say. */
int rounds_lost_rank(const struct rounds *r);
int rounds_lost_code(const struct rounds *r);

#endif
