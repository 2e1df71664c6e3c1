/* SPDX-License-Identifier: Apache-2.0 */
#include "sweeps/estimates.h"

#include <stdlib.h>
#include <string.h>

/* Rates of one rank that the cost model assumes, and the time of a cell beyond its calls. Rough: they only size shards. */
static const struct rates {
    const char *device;
    double flops, hbm, link, cell;
} rates[] = {
    {"host", 5e9, 2e9, 1e9, 0.2},
    {"cuda", 2e14, 1.5e12, 5e10, 2.0},
};

/* Which settings take alike. Compared byte by byte: padding is zero. */
struct key {
    const struct problem *problem;
    int world, dtype;
    char device[sizeof(((struct plan_setting *)0)->device)];
    double params[PROBLEM_MAX_PARAMS];
};

/* Sums of multiples of the cost model's estimate. */
struct entry {
    struct key key;
    double cells_took, references_took;
    double cells, references;
};

struct estimates {
    struct entry *list;
    size_t n, capacity;
    bool sorted; /* by key, each once */
};

/* The candidate's calls and as many of the reference. */
static double by_cost(const struct plan_setting *s)
{
    struct problem_setting setting;
    struct problem_cost cost = {0};
    const struct rates *r = strcmp(s->device, rates[0].device) == 0 ? &rates[0] : &rates[1];
    plan_setting_for_rank(s, 0, &setting);
    s->problem->cost(&setting, &cost);
    double call = cost.flops / r->flops + cost.hbm_bytes / r->hbm + cost.link_bytes / r->link;
    return r->cell + 2 * call * (s->trials + s->warmup + s->iterations);
}

static void make_key(const struct plan_setting *s, struct key *key)
{
    memset(key, 0, sizeof(*key));
    key->problem = s->problem;
    key->world = s->world;
    key->dtype = s->dtype;
    memcpy(key->device, s->device, strlen(s->device));
    memcpy(key->params, s->params, sizeof(key->params));
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct key)); /* the first member of an entry */
}

struct estimates *estimates_create(struct pkb_error *err)
{
    struct estimates *e = calloc(1, sizeof(*e));
    if (!e)
        pkb_error_set(err, "out of memory");
    return e;
}

void estimates_destroy(struct estimates *e)
{
    if (!e)
        return;
    free(e->list);
    free(e);
}

int estimates_add(struct estimates *e, const struct plan_setting *s, const struct estimate_sample *m, struct pkb_error *err)
{
    double unit = by_cost(s);
    if (e->n == e->capacity) {
        size_t capacity = e->capacity ? 2 * e->capacity : 64;
        struct entry *grown = reallocarray(e->list, capacity, sizeof(*grown));
        if (!grown)
            return pkb_error_set(err, "out of memory");
        e->list = grown;
        e->capacity = capacity;
    }
    struct entry *entry = &e->list[e->n++];
    make_key(s, &entry->key);
    entry->cells_took = m->cells_took / unit;
    entry->cells = (double)m->cells;
    entry->references_took = m->references_took / unit;
    entry->references = (double)m->references;
    e->sorted = false;
    return 0;
}

static void sort(struct estimates *e)
{
    size_t n = 0;
    if (e->sorted)
        return;
    if (e->n > 0)
        qsort(e->list, e->n, sizeof(*e->list), compare);
    for (size_t i = 0; i < e->n; i++) {
        struct entry *last = n > 0 ? &e->list[n - 1] : NULL, *next = &e->list[i];
        if (last && compare(last, next) == 0) {
            last->cells_took += next->cells_took;
            last->cells += next->cells;
            last->references_took += next->references_took;
            last->references += next->references;
        } else {
            e->list[n++] = *next;
        }
    }
    e->n = n;
    e->sorted = true;
}

bool estimates_find(struct estimates *e, const struct plan_setting *s, struct estimate *out)
{
    struct key key;
    double unit = by_cost(s);
    const struct entry *entry = NULL;
    make_key(s, &key);
    if (e)
        sort(e);
    if (e && e->n > 0)
        entry = bsearch(&key, e->list, e->n, sizeof(*e->list), compare);
    bool known = entry && entry->cells > 0;
    out->reference = known && entry->references > 0 ? unit * entry->references_took / entry->references : 0;
    out->cell = known ? unit * entry->cells_took / entry->cells : unit;
    if (out->cell > s->limit_seconds)
        out->cell = s->limit_seconds;
    return known;
}
