/* SPDX-License-Identifier: Apache-2.0 */
/* The candidate store: DIR/<model>/<NN_name>/<sample>.{c,cu,py}. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sweeps/plan_parts.h"
#include "util/file.h"

/* A source larger than this is no kernel. */
#define MAX_SOURCE ((off_t)16 << 20)

#define N_KINDS 3

static const struct kind {
    const char *suffix, *device;
} kinds[N_KINDS] = {{"c", "host"}, {"cu", "cuda"}, {"py", "cuda"}};

struct search {
    const struct sweep *sweep;
    struct plan *plan;
    size_t capacity; /* of plan->candidates */
    bool *found;     /* per model of the sweep: it has a candidate */
};

enum sample { SAMPLE_ABSENT, SAMPLE_OTHER_DEVICE, SAMPLE_FOUND };

/* Is there a file for this sample and kind? 1, 0, or -1 for something that cannot be read as a source. */
static int look(const char *folder, int sample, const struct kind *k, struct pkb_error *err)
{
    char path[4096];
    struct stat st;
    int n = snprintf(path, sizeof(path), "%s/%d.%s", folder, sample, k->suffix);
    if (n < 0 || (size_t)n >= sizeof(path))
        return pkb_error_set(err, "%s: the path is too long", folder);
    if (stat(path, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : pkb_error_errno(err, "%s", path);
    if (!S_ISREG(st.st_mode))
        return pkb_error_set(err, "%s is not a regular file", path);
    if (st.st_size > MAX_SOURCE)
        return pkb_error_set(err, "%s: %lld bytes, more than the limit of 16 MiB", path, (long long)st.st_size);
    return 1;
}

/* The one kind of this sample that the sweep's device runs. */
static int find_kind(const struct search *q, const char *folder, int sample, enum sample *result, const struct kind **kind,
                     struct pkb_error *err)
{
    *result = SAMPLE_ABSENT;
    *kind = NULL;
    for (int i = 0; i < N_KINDS; i++) {
        int there = look(folder, sample, &kinds[i], err);
        if (there < 0)
            return -1;
        if (!there)
            continue;
        if (strcmp(kinds[i].device, q->sweep->device) != 0) {
            *result = *result == SAMPLE_ABSENT ? SAMPLE_OTHER_DEVICE : *result;
            continue;
        }
        if (*kind)
            return pkb_error_set(err, "%s holds %d.%s and %d.%s, two candidates for one sample; keep one", folder, sample,
                                 (*kind)->suffix, sample, kinds[i].suffix);
        *result = SAMPLE_FOUND;
        *kind = &kinds[i];
    }
    return 0;
}

static struct plan_candidate *new_candidate(struct search *q, struct pkb_error *err)
{
    struct plan *p = q->plan;
    if (p->n_candidates >= PLAN_MAX) {
        pkb_error_set(err, "more than %u candidates", PLAN_MAX);
        return NULL;
    }
    if (p->n_candidates == q->capacity) {
        size_t capacity = q->capacity ? 2 * q->capacity : 64;
        struct plan_candidate *grown = reallocarray(p->candidates, capacity, sizeof(*grown));
        if (!grown) {
            pkb_error_set(err, "out of memory");
            return NULL;
        }
        p->candidates = grown;
        q->capacity = capacity;
    }
    struct plan_candidate *c = &p->candidates[p->n_candidates++];
    memset(c, 0, sizeof(*c));
    return c;
}

static int add_candidate(struct search *q, const struct problem *problem, const char *model, int sample, const char *folder,
                         const struct kind *kind, struct pkb_error *err)
{
    struct plan_candidate *c = new_candidate(q, err);
    if (!c)
        return -1;
    c->problem = problem;
    c->sample = sample;
    (void)snprintf(c->kind, sizeof(c->kind), "%s", kind->suffix);
    c->model = strdup(model);
    c->path = pkb_format(err, "%s/%d.%s", folder, sample, kind->suffix);
    if (!c->model || !c->path)
        return pkb_error_set(err, "out of memory");
    return pkb_digest_file(c->path, c->digest, err);
}

static int add_missing(struct plan_range *range, const char *model, int samples, bool other_device, struct pkb_error *err)
{
    if (samples == 0)
        return 0;
    struct plan_missing *grown = reallocarray(range->missing, range->n_missing + 1, sizeof(*grown));
    if (!grown)
        return pkb_error_set(err, "out of memory");
    range->missing = grown;
    grown[range->n_missing++] = (struct plan_missing){model, samples, other_device};
    return 0;
}

/* All samples of one model and problem. */
static int search_folder(struct search *q, const struct problem *problem, int model, struct plan_range *range,
                         struct pkb_error *err)
{
    const struct sweep *s = q->sweep;
    const char *name = s->models[model];
    int missing[SAMPLE_FOUND] = {0};
    int rc = 0;
    char *folder = pkb_format(err, "%s/%s/%s", s->candidates, name, problem->name);
    if (!folder)
        return -1;
    for (int i = 0; rc == 0 && i < s->n_samples; i++) {
        enum sample result;
        const struct kind *kind;
        rc = find_kind(q, folder, s->samples[i], &result, &kind, err);
        if (rc == 0 && result == SAMPLE_FOUND)
            rc = add_candidate(q, problem, name, s->samples[i], folder, kind, err);
        else if (rc == 0)
            missing[result]++;
    }
    free(folder);
    if (rc == 0)
        rc = add_missing(range, name, missing[SAMPLE_ABSENT], false, err);
    if (rc == 0)
        rc = add_missing(range, name, missing[SAMPLE_OTHER_DEVICE], true, err);
    q->found[model] |= missing[SAMPLE_ABSENT] + missing[SAMPLE_OTHER_DEVICE] < s->n_samples;
    return rc;
}

static int search_problems(struct search *q, struct plan_range *ranges, struct pkb_error *err)
{
    for (int i = 0; i < q->sweep->n_problems; i++) {
        ranges[i].first = (uint32_t)q->plan->n_candidates;
        for (int m = 0; m < q->sweep->n_models; m++) {
            if (search_folder(q, q->sweep->problems[i], m, &ranges[i], err) < 0)
                return -1;
        }
        ranges[i].count = (uint32_t)q->plan->n_candidates - ranges[i].first;
    }
    return 0;
}

/* A model that the sweep names and that has nothing is a mistake; one that a pattern brought in is not. */
static int check_models(const struct search *q, struct pkb_error *err)
{
    const struct sweep *s = q->sweep;
    for (int m = 0; m < s->n_models; m++) {
        if (q->found[m] || !s->models_named[m])
            continue;
        return pkb_error_set(
            err, "model \"%s\" has no candidate for device %s and any problem of the sweep; expected files like %s/%s/%s/%d.%s",
            s->models[m], s->device, s->candidates, s->models[m], s->problems[0]->name, s->samples[0],
            strcmp(s->device, "host") == 0 ? "c" : "cu");
    }
    return 0;
}

int plan_find_candidates(const struct sweep *s, struct plan *p, struct plan_range **ranges, struct pkb_error *err)
{
    struct search q = {.sweep = s, .plan = p};
    q.found = calloc((size_t)s->n_models + 1, sizeof(*q.found));
    *ranges = calloc((size_t)s->n_problems + 1, sizeof(**ranges));
    int rc = q.found && *ranges ? search_problems(&q, *ranges, err) : pkb_error_set(err, "out of memory");
    if (rc == 0)
        rc = check_models(&q, err);
    free(q.found);
    if (rc < 0) {
        plan_ranges_destroy(*ranges, s->n_problems);
        *ranges = NULL;
    }
    return rc;
}

void plan_ranges_destroy(struct plan_range *ranges, int n)
{
    if (!ranges)
        return;
    for (int i = 0; i < n; i++)
        free(ranges[i].missing);
    free(ranges);
}

int plan_drop_unused(struct plan *p, struct pkb_error *err)
{
    uint32_t *place = calloc(p->n_candidates + 1, sizeof(*place));
    uint32_t kept = 0;
    if (!place)
        return pkb_error_set(err, "out of memory");
    for (size_t i = 0; i < p->n_cells; i++)
        place[p->cells[i].candidate] = 1;
    for (size_t i = 0; i < p->n_candidates; i++) {
        struct plan_candidate c = p->candidates[i];
        if (!place[i]) {
            free(c.model);
            free(c.path);
            continue;
        }
        place[i] = kept;
        p->candidates[kept++] = c;
    }
    p->n_candidates = kept;
    for (size_t i = 0; i < p->n_cells; i++)
        p->cells[i].candidate = place[p->cells[i].candidate];
    free(place);
    return 0;
}
