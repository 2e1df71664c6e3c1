/* SPDX-License-Identifier: Apache-2.0 */
/* pkb-probe FOLDER: one rank of a world that joins as agents do, looks around and ends. Rank 0 prints a JSON line per rank
 * (node_agent/probe.h). What cannot be had is said on standard error, with exit code 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build-id.h"
#include "node_agent/probe.h"
#include "node_agent/world.h"

#define JOIN_SECONDS 60
#define ROUND_MS 60000

static int next_round(struct agent_world *w, const char *data, struct pkb_error *err)
{
    if (rounds_submit(w->rounds, ROUND_DONE, data, strlen(data), err) < 0)
        return -1;
    int rc = rounds_wait(w->rounds, ROUND_MS, err);
    return rc > 0 ? pkb_error_set(err, "the other ranks do not answer") : rc;
}

static int print_all(const struct agent_world *w)
{
    for (int q = 0; w->rank == 0 && q < w->world; q++) {
        const struct round_entry *e = rounds_entry(w->rounds, q);
        (void)printf("%.*s\n", (int)e->size, (const char *)e->data);
    }
    return fflush(stdout);
}

/* Every rank leaves a file; each then looks for that of its right neighbour. */
static int look_around(struct agent_world *w, const char *folder, struct pkb_error *err)
{
    struct pkb_error trouble = {""};
    bool left = probe_leave(folder, w->rank, &trouble) == 0;
    if (next_round(w, left ? "left" : "", err) < 0)
        return -1;
    int right = (w->rank + 1) % w->world;
    if (left && rounds_entry(w->rounds, right)->size > 0)
        (void)probe_find(folder, right, &trouble);
    if (next_round(w, "", err) < 0) /* clocks are read together, and nobody looks for files any more */
        return -1;
    json_t *report = probe_report(w->rank, w->hosts[w->rank], trouble.text);
    char *text = report ? json_dumps(report, JSON_COMPACT) : NULL;
    probe_remove(folder, w->rank);
    int rc = text ? next_round(w, text, err) : pkb_error_set(err, "out of memory");
    free(text);
    json_decref(report);
    return rc < 0 ? -1 : print_all(w);
}

int main(int argc, char **argv)
{
    struct pkb_error err;
    if (argc != 2) {
        (void)fprintf(stderr, "usage: pkb-probe FOLDER\n");
        return 2;
    }
    struct agent_world *w = agent_world_join(PKB_BUILD_ID, 0, JOIN_SECONDS, &err);
    int rc = w ? look_around(w, argv[1], &err) : -1;
    if (rc < 0)
        (void)fprintf(stderr, "pkb-probe: %s\n", err.text);
    agent_world_destroy(w);
    return rc < 0 ? 1 : 0;
}
