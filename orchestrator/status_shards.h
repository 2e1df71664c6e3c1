/* SPDX-License-Identifier: Apache-2.0 */
/* The shards of a run that lack results, a line for those of one world size and one state: there may be thousands. */
#ifndef PKB_ORCHESTRATOR_STATUS_SHARDS_H
#define PKB_ORCHESTRATOR_STATUS_SHARDS_H

#include <stddef.h>
#include <stdint.h>

#define STATUS_SHARDS_GROUPS 64

struct status_shards_group {
    int world;
    const char *state; /* "waiting", ...; compared as a text, borrowed */
    uint64_t cells, done;
    size_t n;        /* shards */
    int first, last; /* the range of numbers that grows */
    char ids[64];    /* the ranges before it: "0-6,9"; "..." at the end: and more */
};

struct status_shards {
    struct status_shards_group list[STATUS_SHARDS_GROUPS];
    size_t n;
};

/* Counts a shard. Shards come in the order of their numbers. What finds no room in the list is not counted. */
void status_shards_add(struct status_shards *s, int id, int world, const char *state, uint64_t cells, uint64_t done);

/* "2 ranks, 12 of 40 cells, waiting: shards 3-7,9" */
void status_shards_describe(const struct status_shards_group *g, char *text, size_t size);

#endif
