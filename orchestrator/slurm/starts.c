/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/slurm/starts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "orchestrator/slurm/arrays.h"
#include "util/clock.h"

/* Clocks of submitting machines and of the database's may differ. */
#define MARGIN_SECONDS 3600

struct starts {
    struct slurm_start *list; /* that slurmctld told of */
    size_t n, room;
    struct slurm_jobs_entry *entries;
    size_t n_entries, i; /* i: the job that is asked about */
    slurm_starts_fn *visit;
    void *arg;
    bool out_of_memory;
};

int slurm_start_compare(const void *a, const void *b)
{
    const struct slurm_start *x = a, *y = b;
    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    if (x->element != y->element)
        return x->element < y->element ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

struct slurm_start slurm_start_of(const struct slurm_state *s)
{
    return (struct slurm_start){s->job, (uint32_t)strtoul(s->elements, NULL, 10), s->start};
}

size_t slurm_starts_elements(const struct slurm_state *s)
{
    return *s->elements ? slurm_arrays_count(s->elements) : 1;
}

void *slurm_starts_grow(void *list, size_t n, size_t *room, size_t size)
{
    size_t wanted = *room ? 2 * *room : 64;
    if (n < *room)
        return list;
    void *more = reallocarray(list, wanted, size);
    *room = more ? wanted : *room;
    return more;
}

static void remember(struct starts *all, const struct slurm_state *s)
{
    struct slurm_start *list = slurm_starts_grow(all->list, all->n, &all->room, sizeof(*list));
    all->out_of_memory = all->out_of_memory || !list;
    if (!list)
        return;
    all->list = list;
    list[all->n++] = slurm_start_of(s);
}

/* ---- slurmctld ------------------------------------------------------------------------------------------------------- */

static void visit_present(void *arg, const struct slurm_state *s)
{
    struct starts *all = arg;
    if (s->start > 0)
        remember(all, s);
    all->visit(all->arg, all->i, &all->entries[all->i], s);
}

static int read_present(struct starts *all, const struct slurm_api *api, struct pkb_error *err)
{
    for (all->i = 0; all->i < all->n_entries; all->i++)
        if (api->states(all->entries[all->i].job, visit_present, all, err) < 0)
            return -1;
    return all->out_of_memory ? pkb_error_set(err, "out of memory") : 0;
}

/* ---- the accounting database ----------------------------------------------------------------------------------------- */

static void visit_past(void *arg, const struct slurm_state *s)
{
    struct starts *all = arg;
    const struct slurm_start key = slurm_start_of(s);
    if (all->n > 0 && bsearch(&key, all->list, all->n, sizeof(key), slurm_start_compare))
        return;
    for (size_t i = 0; i < all->n_entries; i++)
        if (all->entries[i].job == s->job)
            all->visit(all->arg, i, &all->entries[i], s);
}

/* Numbers of jobs are used again after years: what is older than the run is not of it. */
static int64_t first_submitted(const struct starts *all)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < all->n_entries; i++) {
        int64_t at = pkb_utc_seconds(all->entries[i].submitted);
        first = at < first ? at : first;
    }
    return first > MARGIN_SECONDS ? first - MARGIN_SECONDS : 0;
}

static int read_past(struct starts *all, const struct slurm_api *api, struct slurm_past *past, struct pkb_error *err)
{
    struct pkb_error silence = {""};
    uint32_t *ids = calloc(all->n_entries + 1, sizeof(*ids));
    if (!ids)
        return pkb_error_set(err, "out of memory");
    for (size_t i = 0; i < all->n_entries; i++)
        ids[i] = all->entries[i].job;
    if (all->n > 0)
        qsort(all->list, all->n, sizeof(*all->list), slurm_start_compare);
    int rc = api->past(ids, all->n_entries, first_submitted(all), visit_past, all, &silence);
    past->known = rc == 0;
    if (rc < 0)
        (void)snprintf(past->trouble, sizeof(past->trouble), "%.250s", silence.text);
    free(ids);
    return 0;
}

/* ---- both ------------------------------------------------------------------------------------------------------------ */

static int read_entries(struct starts *all, const json_t *jobs, struct pkb_error *err)
{
    all->n_entries = slurm_jobs_count(jobs);
    all->entries = calloc(all->n_entries + 1, sizeof(*all->entries));
    if (!all->entries)
        return pkb_error_set(err, "out of memory");
    for (size_t i = 0; i < all->n_entries; i++)
        if (slurm_jobs_entry(jobs, i, &all->entries[i], err) < 0)
            return -1;
    return 0;
}

int slurm_starts_visit(const struct slurm_api *api, const json_t *jobs, struct slurm_past *past, slurm_starts_fn *visit,
                       void *arg, struct pkb_error *err)
{
    struct starts all = {.visit = visit, .arg = arg};
    int rc = read_entries(&all, jobs, err);
    if (rc == 0)
        rc = read_present(&all, api, err);
    if (past)
        *past = (struct slurm_past){0};
    if (rc == 0 && past && all.n_entries > 0)
        rc = read_past(&all, api, past, err);
    free(all.list);
    free(all.entries);
    return rc;
}
