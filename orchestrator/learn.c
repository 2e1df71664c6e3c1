/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/learn.h"

#include <stdio.h>
#include <stdlib.h>

#include "orchestrator/rundir.h"
#include "results/digest_index.h"
#include "results/plan_settings.h"
#include "results/record_files.h"
#include "util/json.h"

#define ENOUGH 500             /* cells of one setting that are looked at */
#define REFERENCE_SECONDS 1e-3 /* a cell that finds the reference's results there needs microseconds */

struct reading {
    struct digest_index *index;
    struct estimate_sample *samples; /* per setting of the plan */
};

/* A phase's seconds; 0 where there is none, -1 where it is no time. */
static double seconds_of(const json_t *phases, const char *name)
{
    const json_t *v = json_object_get(phases, name);
    double seconds = json_number_value(v);
    return !v ? 0 : json_is_number(v) && seconds >= 0 && seconds < 1e9 ? seconds : -1;
}

/* A cell that did not get beyond the compiler takes nothing. */
static void count(struct estimate_sample *s, const json_t *phases)
{
    double total = seconds_of(phases, "total"), reference = seconds_of(phases, "reference");
    if (total < 0 || reference < 0 || reference > total)
        return;
    s->cells++;
    s->cells_took += total - reference;
    if (reference < REFERENCE_SECONDS)
        return;
    s->references++;
    s->references_took += reference;
}

static int visit(void *arg, const struct record_scan *scan)
{
    struct reading *r = arg;
    if (scan->kind != LINE_CELL || !outcome_is_final(scan->cell.outcome))
        return 0;
    uint32_t i = digest_index_find(r->index, scan->cell.setting);
    if (i == DIGEST_INDEX_NONE || r->samples[i].cells >= ENOUGH)
        return 0;
    json_t *line = pkb_json_parse(scan->line->text, scan->line->size, NULL);
    const json_t *phases = json_object_get(json_object_get(line, "more"), "phases");
    if (json_is_object(phases))
        count(&r->samples[i], phases);
    json_decref(line);
    return 0;
}

static int add_samples(struct learned *l, const struct plan *p, const struct reading *r, struct pkb_error *err)
{
    for (size_t i = 0; i < p->n_settings; i++) {
        l->cells += r->samples[i].cells;
        if (r->samples[i].cells > 0 && estimates_add(l->estimates, &p->settings[i], &r->samples[i], err) < 0)
            return -1;
    }
    return 0;
}

static int learn_plan(struct learned *l, const char *run, const struct plan *p, struct pkb_error *err)
{
    struct reading r = {.index = digest_index_create(p->n_settings, err),
                        .samples = calloc(p->n_settings + 1, sizeof(*r.samples))};
    int rc = r.index ? 0 : -1;
    if (rc == 0 && !r.samples)
        rc = pkb_error_set(err, "out of memory");
    for (size_t i = 0; i < p->n_settings && rc == 0; i++)
        rc = digest_index_add(r.index, p->settings[i].digest, err);
    if (rc == 0)
        rc = record_files_scan(run, visit, &r, err);
    if (rc == 0)
        rc = add_samples(l, p, &r, err);
    free(r.samples);
    digest_index_destroy(r.index);
    return rc;
}

static int learn_run(struct learned *l, const char *name, struct pkb_error *err)
{
    struct rundir *run = rundir_open(name, err);
    struct plan *p = run ? plan_settings_load(run->path, err) : NULL;
    int rc = p ? learn_plan(l, run->path, p, err) : -1;
    plan_destroy(p);
    rundir_destroy(run);
    l->runs += rc == 0;
    return rc < 0 ? pkb_error_prefix(err, "--learn") : 0;
}

int learn_runs(const struct words *runs, struct learned *l, struct pkb_error *err)
{
    *l = (struct learned){0};
    if (runs->n == 0)
        return 0;
    l->estimates = estimates_create(err);
    int rc = l->estimates ? 0 : -1;
    for (size_t i = 0; i < runs->n && rc == 0; i++)
        rc = learn_run(l, runs->list[i], err);
    return rc;
}

void learned_clear(struct learned *l)
{
    estimates_destroy(l->estimates);
    *l = (struct learned){0};
}

void learn_describe(const struct learned *l, const struct plan *p, bool has_time, char *text, size_t size)
{
    if (has_time)
        (void)snprintf(text, size, "by the sweep's `time`");
    else if (!l->estimates)
        (void)snprintf(text, size, "by the cost model; --learn RUN uses what an earlier run took");
    else
        (void)snprintf(text, size, "%zu of %zu settings as measured (%llu cells of %zu run%s)%s", p->n_learned, p->n_settings,
                       (unsigned long long)l->cells, l->runs, l->runs == 1 ? "" : "s",
                       p->n_learned < p->n_settings ? ", the others by the cost model" : "");
}

json_t *learn_json(const struct learned *l, const struct plan *p, bool has_time)
{
    const char *source = has_time ? "time" : p->n_learned > 0 ? "learned" : "cost";
    return json_pack("{s:s, s:I, s:I, s:I}", "source", source, "settings", (json_int_t)p->n_learned, "cells",
                     (json_int_t)l->cells, "runs", (json_int_t)l->runs);
}
