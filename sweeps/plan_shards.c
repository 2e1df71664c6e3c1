/* SPDX-License-Identifier: Apache-2.0 */
/* Shards: ranges of cells with one world size that take about as long as asked for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sweeps/plan_parts.h"

/* Rates of one rank that the estimate assumes, and the time of a cell beyond its calls. Rough: they only size shards. */
static const struct rates {
    const char *device;
    double flops, hbm, link, cell;
} rates[] = {
    {"host", 5e9, 2e9, 1e9, 0.2},
    {"cuda", 2e14, 1.5e12, 5e10, 2.0},
};

/* The candidate's calls and as many of the reference, within the limit. */
static double estimate(const struct plan_setting *s)
{
    struct problem_setting setting;
    struct problem_cost cost = {0};
    const struct rates *r = strcmp(s->device, rates[0].device) == 0 ? &rates[0] : &rates[1];
    plan_setting_for_rank(s, 0, &setting);
    s->problem->cost(&setting, &cost);
    double call = cost.flops / r->flops + cost.hbm_bytes / r->hbm + cost.link_bytes / r->link;
    double seconds = r->cell + 2 * call * (s->trials + s->warmup + s->iterations);
    return seconds < s->limit_seconds ? seconds : s->limit_seconds;
}

struct packing {
    struct plan *plan;
    const float *seconds; /* per cell, or NULL */
    double limit;
    struct plan_shard open; /* count 0: none */
};

static double cell_seconds(const struct packing *k, uint64_t cell, double setting_seconds)
{
    return k->seconds ? (double)k->seconds[cell] : setting_seconds;
}

static int close_shard(struct packing *k, struct pkb_error *err)
{
    struct plan *p = k->plan;
    if (k->open.count == 0)
        return 0;
    /* The array doubles at powers of two. */
    if ((p->n_shards & (p->n_shards - 1)) == 0) {
        struct plan_shard *grown = reallocarray(p->shards, p->n_shards ? 2 * p->n_shards : 1, sizeof(*grown));
        if (!grown)
            return pkb_error_set(err, "out of memory");
        p->shards = grown;
    }
    k->open.id = (int)p->n_shards;
    k->open.seconds = round(k->open.seconds * 1000) / 1000; /* as plan/shards holds it */
    p->shards[p->n_shards++] = k->open;
    k->open = (struct plan_shard){0};
    return 0;
}

/* Puts cells behind those of the open shard, or into a new one. */
static void extend(struct packing *k, uint64_t first, uint64_t count, int world, double seconds)
{
    if (k->open.count == 0)
        k->open = (struct plan_shard){.world = world, .first = first};
    k->open.count += count;
    k->open.seconds += seconds;
}

/* A setting that is larger than a shard: cell by cell. */
static int split(struct packing *k, uint64_t first, uint64_t last, int world, double each, struct pkb_error *err)
{
    for (uint64_t i = first; i < last; i++) {
        double t = cell_seconds(k, i, each);
        if (k->open.seconds + t > k->limit && close_shard(k, err) < 0)
            return -1;
        extend(k, i, 1, world, t);
    }
    return 0;
}

static int pack_setting(struct packing *k, uint64_t first, uint64_t last, struct pkb_error *err)
{
    const struct plan_setting *s = &k->plan->settings[k->plan->cells[first].setting];
    double each = k->seconds ? 0 : estimate(s);
    double total = 0;
    for (uint64_t i = first; i < last; i++)
        total += cell_seconds(k, i, each);
    bool other = k->open.count && k->open.world != s->world;
    if ((other || k->open.seconds + total > k->limit) && close_shard(k, err) < 0)
        return -1;
    if (total > k->limit)
        return split(k, first, last, s->world, each, err);
    extend(k, first, last - first, s->world, total);
    return 0;
}

int plan_make_shards(struct plan *p, const float *seconds, double shard_seconds, struct pkb_error *err)
{
    struct packing k = {.plan = p, .seconds = seconds, .limit = shard_seconds};
    uint64_t first = 0;
    while (first < p->n_cells) {
        uint64_t last = first + 1;
        while (last < p->n_cells && p->cells[last].setting == p->cells[first].setting)
            last++;
        if (pack_setting(&k, first, last, err) < 0)
            return -1;
        first = last;
    }
    return close_shard(&k, err);
}
