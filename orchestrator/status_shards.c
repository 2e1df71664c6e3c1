/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/status_shards.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct status_shards_group *group_of(struct status_shards *s, int world, const char *state)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->list[i].world == world && strcmp(s->list[i].state, state) == 0)
            return &s->list[i];
    if (s->n == STATUS_SHARDS_GROUPS)
        return NULL;
    struct status_shards_group *g = &s->list[s->n++];
    *g = (struct status_shards_group){.world = world, .state = state};
    return g;
}

static void append_range(char *ids, size_t size, int first, int last)
{
    char range[32];
    size_t used = strlen(ids);
    (void)snprintf(range, sizeof(range), first == last ? "%s%d" : "%s%d-%d", used ? "," : "", first, last);
    if (used >= 3 && strcmp(ids + used - 3, "...") == 0)
        return;
    /* Room is kept for the dots. */
    (void)snprintf(ids + used, size - used, "%s", used + strlen(range) + 5 < size ? range : ",...");
}

void status_shards_add(struct status_shards *s, int id, int world, const char *state, uint64_t cells, uint64_t done)
{
    struct status_shards_group *g = group_of(s, world, state);
    if (!g)
        return;
    if (g->n > 0 && id != g->last + 1)
        append_range(g->ids, sizeof(g->ids), g->first, g->last);
    if (g->n == 0 || id != g->last + 1)
        g->first = id;
    g->last = id;
    g->n++;
    g->cells += cells;
    g->done += done;
}

void status_shards_describe(const struct status_shards_group *g, char *text, size_t size)
{
    char ids[sizeof(g->ids)];
    memcpy(ids, g->ids, sizeof(ids));
    append_range(ids, sizeof(ids), g->first, g->last);
    (void)snprintf(text, size, "%d rank%s, %" PRIu64 " of %" PRIu64 " cells, %s: shard%s %s", g->world, g->world == 1 ? "" : "s",
                   g->done, g->cells, g->state, g->n == 1 ? "" : "s", ids);
}
