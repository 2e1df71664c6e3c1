/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/analysis.h"

/* Of one setting: the times of the reference ([0]) and of each model's fastest correct candidate ([model + 1]); 0: none. */
struct tables {
    int n_who;
    double *time, *speedup;  /* [setting][who] */
    int *base;               /* setting: the same series at the smallest world size of the run, -1: none */
    int *worlds, n_worlds;   /* ascending */
    double *log_sum, *log_n; /* [problem]: working space */
};

static void clear(struct tables *t)
{
    free(t->time);
    free(t->speedup);
    free(t->base);
    free(t->worlds);
    free(t->log_sum);
    free(t->log_n);
}

static int allocate(const struct report_data *d, struct tables *t, struct pkb_error *err)
{
    size_t settings = (size_t)d->cells.n_settings;
    t->n_who = d->n_models + 1;
    t->time = calloc(settings * (size_t)t->n_who + 1, sizeof(double));
    t->speedup = calloc(settings * (size_t)t->n_who + 1, sizeof(double));
    t->base = calloc(settings + 1, sizeof(int));
    t->worlds = calloc(settings + 1, sizeof(int));
    t->log_sum = calloc((size_t)d->cells.n_problems + 1, sizeof(double));
    t->log_n = calloc((size_t)d->cells.n_problems + 1, sizeof(double));
    if (t->time && t->speedup && t->base && t->worlds && t->log_sum && t->log_n)
        return 0;
    return pkb_error_set(err, "out of memory for scaling tables");
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void find_worlds(const struct report_cells *c, struct tables *t)
{
    for (int i = 0; i < c->n_settings; i++) {
        bool known = false;
        for (int k = 0; k < t->n_worlds; k++)
            known = known || t->worlds[k] == c->settings[i].world;
        if (!known)
            t->worlds[t->n_worlds++] = c->settings[i].world;
    }
    if (t->n_worlds > 0)
        qsort(t->worlds, (size_t)t->n_worlds, sizeof(int), ascending);
}

/* Settings of a problem stand together. */
static void find_bases(const struct report_cells *c, struct tables *t)
{
    for (int i = 0, start = 0; i < c->n_settings; i++) {
        const struct report_setting *s = &c->settings[i];
        if (s->problem != c->settings[start].problem)
            start = i;
        t->base[i] = -1;
        for (int k = start; k < c->n_settings && c->settings[k].problem == s->problem && t->base[i] < 0; k++) {
            const struct report_setting *o = &c->settings[k];
            if (o->world == t->worlds[0] && strcmp(o->dtype, s->dtype) == 0 && strcmp(o->shape, s->shape) == 0)
                t->base[i] = k;
        }
    }
}

static void find_times(const struct report_data *d, struct tables *t)
{
    for (int i = 0; i < d->cells.n_settings; i++)
        t->time[(size_t)i * (size_t)t->n_who] = d->problems[i].baseline_ns;
    for (size_t i = 0; i < d->cells.n; i++) {
        const struct report_cell *c = &d->cells.cells[i];
        size_t at = (size_t)c->setting * (size_t)t->n_who + (size_t)c->model + 1;
        if (c->sample.outcome != OUTCOME_CORRECT || !c->sample.timed || c->time_ns <= 0)
            continue;
        if (t->time[at] <= 0 || c->time_ns < t->time[at])
            t->time[at] = c->time_ns;
        t->speedup[at] = fmax(t->speedup[at], c->sample.speedup);
    }
}

static void add_speedups(const struct report_data *d, struct tables *t, int who, struct scaling *row)
{
    size_t bytes = (size_t)d->cells.n_problems * sizeof(double);
    double sum = 0;
    memset(t->log_sum, 0, bytes);
    memset(t->log_n, 0, bytes);
    for (int i = 0; i < d->cells.n_settings; i++) {
        double speedup = t->speedup[(size_t)i * (size_t)t->n_who + (size_t)who];
        if (d->cells.settings[i].world != row->world || speedup <= 0)
            continue;
        t->log_sum[d->cells.settings[i].problem] += log(speedup);
        t->log_n[d->cells.settings[i].problem] += 1;
        sum += log(speedup);
        row->speedup.n++;
    }
    if (row->speedup.n == 0)
        return;
    row->speedup.value = exp(sum / (double)row->speedup.n);
    row->speedup.interval = bootstrap_ratio(d->bootstrap, t->log_sum, t->log_n);
    row->speedup.interval.low = exp(row->speedup.interval.low);
    row->speedup.interval.high = exp(row->speedup.interval.high);
}

static void fill_row(const struct report_data *d, struct tables *t, int who, int world, struct scaling *row)
{
    double sum = 0;
    *row = (struct scaling){.model = who - 1, .world = world};
    for (int i = 0; i < d->cells.n_settings; i++) {
        if (d->cells.settings[i].world != world || t->base[i] < 0)
            continue;
        double here = t->time[(size_t)i * (size_t)t->n_who + (size_t)who];
        double base = t->time[(size_t)t->base[i] * (size_t)t->n_who + (size_t)who];
        if (here <= 0 || base <= 0)
            continue;
        sum += log(here / base);
        row->series++;
    }
    if (row->series > 0) {
        row->time_ratio = exp(sum / (double)row->series);
        row->weak = 1 / row->time_ratio;
        row->strong = row->weak * t->worlds[0] / world;
    }
    add_speedups(d, t, who, row);
}

int analysis_scaling(const struct report_data *d, struct scaling **rows, size_t *n, struct pkb_error *err)
{
    struct tables t = {0};
    *rows = NULL;
    *n = 0;
    if (d->n_worlds < 2)
        return 0;
    int rc = allocate(d, &t, err);
    if (rc == 0) {
        find_worlds(&d->cells, &t);
        find_bases(&d->cells, &t);
        find_times(d, &t);
        *rows = calloc((size_t)t.n_who * (size_t)t.n_worlds, sizeof(**rows));
        rc = *rows ? 0 : pkb_error_set(err, "out of memory for scaling tables");
    }
    for (int who = 0; rc == 0 && who < t.n_who; who++)
        for (int w = 0; w < t.n_worlds; w++)
            fill_row(d, &t, who, t.worlds[w], &(*rows)[(*n)++]);
    clear(&t);
    return rc;
}
