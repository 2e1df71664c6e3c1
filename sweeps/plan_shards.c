/* SPDX-License-Identifier: Apache-2.0 */
/* Shards: ranges of cells with one world size that take about as long as asked for. */
#include <math.h>
#include <stdlib.h>

#include "sweeps/estimates.h"
#include "sweeps/plan_parts.h"

struct packing {
    struct plan *plan;
    const float *seconds; /* per cell, or NULL */
    struct estimates *learned;
    double limit;
    struct plan_shard open; /* count 0: none */
};

static double cell_seconds(const struct packing *k, uint64_t cell, const struct estimate *e)
{
    return k->seconds ? (double)k->seconds[cell] : e->cell;
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

/* A setting that is larger than a shard: cell by cell. The reference is run in each shard. */
static int split(struct packing *k, uint64_t first, uint64_t last, int world, const struct estimate *e, struct pkb_error *err)
{
    double reference = e->reference;
    for (uint64_t i = first; i < last; i++) {
        double t = cell_seconds(k, i, e);
        if (k->open.count > 0 && k->open.seconds + reference + t > k->limit) {
            if (close_shard(k, err) < 0)
                return -1;
            reference = e->reference;
        }
        extend(k, i, 1, world, reference + t);
        reference = 0;
    }
    return 0;
}

static void estimate(struct packing *k, const struct plan_setting *s, struct estimate *e)
{
    *e = (struct estimate){0};
    if (!k->seconds && estimates_find(k->learned, s, e))
        k->plan->n_learned++;
}

static int pack_setting(struct packing *k, uint64_t first, uint64_t last, struct pkb_error *err)
{
    const struct plan_setting *s = &k->plan->settings[k->plan->cells[first].setting];
    struct estimate e;
    estimate(k, s, &e);
    double total = e.reference;
    for (uint64_t i = first; i < last; i++)
        total += cell_seconds(k, i, &e);
    bool other = k->open.count && k->open.world != s->world;
    if ((other || k->open.seconds + total > k->limit) && close_shard(k, err) < 0)
        return -1;
    if (total > k->limit)
        return split(k, first, last, s->world, &e, err);
    extend(k, first, last - first, s->world, total);
    return 0;
}

int plan_make_shards(struct plan *p, const float *seconds, double shard_seconds, struct estimates *learned, struct pkb_error *err)
{
    struct packing k = {.plan = p, .seconds = seconds, .limit = shard_seconds, .learned = learned};
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
