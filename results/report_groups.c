/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics per model, and per model and world size, family, ...: the cells once, task by task. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/report_data.h"

/* Which part of a breakdown a setting belongs to. */
struct parts {
    char **keys; /* distinct, sorted (world sizes as numbers) */
    int n;
    int *of_setting;
};

static const char *key_of(const struct report_setting *s, enum report_by by, char *text, size_t size)
{
    switch (by) {
    case REPORT_BY_WORLD:
        (void)snprintf(text, size, "%d", s->world);
        return text;
    case REPORT_BY_FAMILY:
        return s->family;
    case REPORT_BY_DTYPE:
        return s->dtype;
    case REPORT_BY_SHAPE:
        return s->shape;
    case REPORT_BY_DEFAULT:
        break;
    }
    return "";
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_number(const void *a, const void *b)
{
    long x = strtol(*(char *const *)a, NULL, 10), y = strtol(*(char *const *)b, NULL, 10);
    return x < y ? -1 : x > y;
}

static int part_of(const struct parts *p, const char *key)
{
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->keys[i], key) == 0)
            return i;
    return -1;
}

static int find_parts(const struct report_cells *c, enum report_by by, struct parts *p, struct pkb_error *err)
{
    char text[16];
    p->keys = calloc((size_t)c->n_settings + 1, sizeof(*p->keys));
    p->of_setting = calloc((size_t)c->n_settings + 1, sizeof(int));
    if (!p->keys || !p->of_setting)
        return pkb_error_set(err, "out of memory for a breakdown");
    for (int i = 0; i < c->n_settings; i++) {
        const char *key = key_of(&c->settings[i], by, text, sizeof(text));
        if (part_of(p, key) >= 0)
            continue;
        p->keys[p->n] = strdup(key);
        if (!p->keys[p->n++])
            return pkb_error_set(err, "out of memory for a breakdown");
    }
    if (p->n > 1)
        qsort(p->keys, (size_t)p->n, sizeof(*p->keys), by == REPORT_BY_WORLD ? by_number : by_text);
    for (int i = 0; i < c->n_settings; i++)
        p->of_setting[i] = part_of(p, key_of(&c->settings[i], by, text, sizeof(text)));
    return 0;
}

static void clear_parts(struct parts *p)
{
    for (int i = 0; i < p->n; i++)
        free(p->keys[i]);
    free(p->keys);
    free(p->of_setting);
}

/* ---- one group -------------------------------------------------------------------------------------------------------- */

/* Sums per problem: of the estimates and of the tasks that they are the mean of, for pass and fast and every k. */
static double *sums_of(const struct report_data *d, double *sums, int question, int k, int what)
{
    size_t row = (size_t)((question * d->k_max + k) * 2 + what);
    return &sums[row * (size_t)d->cells.n_problems];
}

static int start_group(const struct report_data *d, struct report_group *g, double **sums, struct pkb_error *err)
{
    *sums = calloc((size_t)d->k_max * 4 * (size_t)d->cells.n_problems + 1, sizeof(double));
    g->pass_interval = calloc((size_t)d->k_max, sizeof(struct interval));
    g->fast_interval = calloc((size_t)d->k_max, sizeof(struct interval));
    if (!*sums || !g->pass_interval || !g->fast_interval)
        return pkb_error_set(err, "out of memory for metrics");
    return metrics_init(&g->metrics, d->k_max, d->p, err);
}

static void add_sums(const struct report_data *d, double *sums, int question, const struct metrics_at_k *at, int problem)
{
    for (int k = 0; k < d->k_max; k++) {
        if (at[k].latest < 0)
            continue;
        sums_of(d, sums, question, k, 0)[problem] += at[k].latest;
        sums_of(d, sums, question, k, 1)[problem] += 1;
    }
}

static void find_intervals(const struct report_data *d, struct report_group *g, double *sums)
{
    for (int k = 0; k < d->k_max; k++) {
        g->pass_interval[k] = bootstrap_ratio(d->bootstrap, sums_of(d, sums, 0, k, 0), sums_of(d, sums, 0, k, 1));
        g->fast_interval[k] = bootstrap_ratio(d->bootstrap, sums_of(d, sums, 1, k, 0), sums_of(d, sums, 1, k, 1));
    }
}

/* ---- all groups -------------------------------------------------------------------------------------------------------- */

/* Every model with every part; those without tasks are dropped in the end. */
struct grid {
    struct parts parts;
    struct report_group *groups; /* [model][part] */
    double **sums;               /* the same */
    size_t n;
};

static int add_task(const struct report_data *d, struct grid *x, size_t first, size_t end, struct report_samples *samples,
                    struct pkb_error *err)
{
    const struct report_cell *cell = &d->cells.cells[first];
    size_t i = (size_t)cell->model * (size_t)x->parts.n + (size_t)x->parts.of_setting[cell->setting];
    struct report_group *g = &x->groups[i];
    int problem = d->cells.settings[cell->setting].problem;
    if (!x->sums[i] && start_group(d, g, &x->sums[i], err) < 0)
        return -1;
    if (report_cells_samples(&d->cells, first, end, samples, err) < 0)
        return -1;
    metrics_add_task(&g->metrics, samples->items, (int)(end - first));
    add_sums(d, x->sums[i], 0, g->metrics.pass, problem);
    add_sums(d, x->sums[i], 1, g->metrics.fast, problem);
    return 0;
}

static int fill_grid(const struct report_data *d, struct grid *x, enum report_by by, struct pkb_error *err)
{
    struct report_samples samples = {0};
    if (find_parts(&d->cells, by, &x->parts, err) < 0)
        return -1;
    x->n = (size_t)d->cells.n_models * (size_t)x->parts.n;
    x->groups = calloc(x->n + 1, sizeof(*x->groups));
    x->sums = calloc(x->n + 1, sizeof(*x->sums));
    int rc = x->groups && x->sums ? 0 : pkb_error_set(err, "out of memory for %zu groups", x->n);
    for (size_t first = 0, end; first < d->cells.n && rc == 0; first = end) {
        end = report_cells_task(&d->cells, first);
        rc = add_task(d, x, first, end, &samples, err);
    }
    free(samples.items);
    return rc;
}

/* Moves the groups that have tasks to `g`. */
static int keep_groups(const struct report_data *d, struct grid *x, struct report_groups *g, struct pkb_error *err)
{
    for (size_t i = 0; i < x->n; i++) {
        struct report_group *item = &x->groups[i];
        if (!x->sums[i])
            continue;
        find_intervals(d, item, x->sums[i]);
        item->model = (int)(i / (size_t)x->parts.n);
        item->key = strdup(x->parts.keys[i % (size_t)x->parts.n]);
        if (!item->key)
            return pkb_error_set(err, "out of memory for metrics");
        x->groups[g->n++] = *item; /* g->n <= i */
        if (g->n <= i)
            memset(item, 0, sizeof(*item));
    }
    g->items = x->groups;
    x->groups = NULL;
    return 0;
}

int report_groups_load(const struct report_data *d, struct report_groups *g, enum report_by by, struct pkb_error *err)
{
    struct grid x = {0};
    memset(g, 0, sizeof(*g));
    int rc = fill_grid(d, &x, by, err);
    if (rc == 0)
        rc = keep_groups(d, &x, g, err);
    if (x.groups) {
        struct report_groups rest = {x.groups, x.n};
        report_groups_clear(&rest);
        g->n = 0;
    }
    for (size_t i = 0; x.sums && i < x.n; i++)
        free(x.sums[i]);
    free(x.sums);
    clear_parts(&x.parts);
    return rc;
}

void report_groups_clear(struct report_groups *g)
{
    for (size_t i = 0; i < g->n; i++) {
        metrics_clear(&g->items[i].metrics);
        free(g->items[i].pass_interval);
        free(g->items[i].fast_interval);
        free(g->items[i].key);
    }
    free(g->items);
    memset(g, 0, sizeof(*g));
}
