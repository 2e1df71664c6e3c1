/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes fail, from the records of a run: infra errors by the host of the rank that saw them first. */
#ifndef PKB_ORCHESTRATOR_NODES_H
#define PKB_ORCHESTRATOR_NODES_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

#define NODES_MAX 512 /* hosts that are told apart; later ones are left out */

struct node {
    char host[128];
    uint64_t records; /* of cells that had a rank there, as far as they were looked at */
    uint64_t errors;  /* infra errors that a rank there saw first */
    char last[200];   /* the latest of them */
};

struct nodes {
    struct node list[NODES_MAX];
    size_t n;
};

/* Reads all infra errors, and enough other records to know which hosts work. */
int nodes_read(struct nodes *nodes, const char *run, struct pkb_error *err);

/* The hosts with `limit` or more errors, separated by commas. "" when there is none, or when they are more than half of the hosts:
 * what they share is then the more likely cause. `limit` 0: never any. */
void nodes_failing(const struct nodes *nodes, uint64_t limit, char *list, size_t size);

#endif
