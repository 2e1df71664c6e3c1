/* SPDX-License-Identifier: Apache-2.0 */
/* Which plots the HTML report has, from the sheets: a plot shows what a table says, and nothing else. */
#include "results/report_plots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/plot.h"

#define SCATTER_MAX 500        /* marks of a model */
#define LEAST_UTILISATION 1e-4 /* what is below would stretch the axes over empty decades */

static int column_of(const struct sheet *s, const char *key)
{
    for (int c = 0; c < s->n_columns; c++)
        if (strcmp(s->columns[c].key, key) == 0)
            return c;
    return -1;
}

static double number_at(const struct sheet *s, size_t row, int column)
{
    const struct sheet_value *v = sheet_at(s, row, column);
    return v->known ? v->number : NAN;
}

/* ---- lines ---------------------------------------------------------------------------------------------------------------- */

/* Rows that go on with the same text in the first column are one series. */
static int fill_series(const struct sheet *s, const char *x, const char *y, struct plot_point *points, struct plot_series *series)
{
    int cx = column_of(s, x), cy = column_of(s, y), n = 0;
    for (size_t r = 0; r < sheet_rows(s); r++) {
        const char *name = sheet_at(s, r, 0)->text;
        points[r] = (struct plot_point){number_at(s, r, cx), number_at(s, r, cy)};
        if (n == 0 || strcmp(series[n - 1].name, name) != 0)
            series[n++] = (struct plot_series){.name = name, .points = &points[r], .lines = true};
        series[n - 1].n++;
    }
    return n;
}

static double highest(const struct plot_point *points, size_t n, bool of_x)
{
    double high = 0;
    for (size_t i = 0; i < n; i++) {
        double v = of_x ? points[i].x : points[i].y;
        if (isfinite(v))
            high = fmax(high, v);
    }
    return high;
}

static int lines_of(const struct sheet *s, struct plot p, const char *x, const char *y, FILE *out, struct pkb_error *err)
{
    size_t n = s ? sheet_rows(s) : 0;
    if (n == 0)
        return 0;
    struct plot_point *points = calloc(n, sizeof(*points));
    struct plot_series *series = calloc(n, sizeof(*series));
    if (points && series) {
        p.n_series = fill_series(s, x, y, points, series);
        p.series = series;
        if (p.x.high <= p.x.low)
            p.x.high = fmax(highest(points, n, true), p.x.low + 1);
        if (p.y.high <= p.y.low)
            p.y.high = fmax(highest(points, n, false) * 1.08, p.y.low + 0.1);
        plot_print(&p, out);
    }
    int rc = points && series ? 0 : pkb_error_set(err, "out of memory for a plot");
    free(points);
    free(series);
    return rc;
}

/* ---- pass@k over k: from the groups, which have every k --------------------------------------------------------------------- */

static int over_k(const struct report_data *d, bool fast, FILE *out, struct pkb_error *err)
{
    char title[96], label[48];
    size_t n = d->total.n, k_max = (size_t)d->k_max;
    struct plot_point *points = calloc(n * k_max + 1, sizeof(*points));
    struct plot_series *series = calloc(n + 1, sizeof(*series));
    if (!points || !series) {
        free(points);
        free(series);
        return pkb_error_set(err, "out of memory for a plot");
    }
    for (size_t i = 0; i < n; i++) {
        const struct report_group *g = &d->total.items[i];
        series[i] = (struct plot_series){.name = d->models[g->model], .points = &points[i * k_max], .n = d->k_max, .lines = true};
        for (size_t k = 0; k < k_max; k++) {
            double e = metrics_estimate(fast ? &g->metrics.fast[k] : &g->metrics.pass[k]);
            points[i * k_max + k] = (struct plot_point){(double)k + 1, e < 0 ? NAN : e};
        }
    }
    if (fast)
        (void)snprintf(label, sizeof(label), "fast%g@k", d->p);
    else
        (void)snprintf(label, sizeof(label), "pass@k");
    (void)snprintf(title, sizeof(title), "%s over k (unbiased estimates)", label);
    struct plot p = {.id = fast ? "fast-k" : "pass-k",
                     .title = title,
                     .description = "One line per model; the numbers are in the table of estimates.",
                     .x = {.label = "k", .low = 1, .high = k_max > 1 ? (double)k_max : 2, .whole = true},
                     .y = {.label = label, .low = 0, .high = 1, .share = true},
                     .series = series,
                     .n_series = (int)n};
    plot_print(&p, out);
    free(points);
    free(series);
    return 0;
}

/* ---- roofline: every candidate with a bound, against the time that the bound is ------------------------------------------- */

static int candidates_of(const struct report_data *d, int model, struct plot_point *points)
{
    int n = 0;
    for (size_t i = 0; i < d->cells.n && n < SCATTER_MAX; i++) {
        const struct report_cell *c = &d->cells.cells[i];
        if (c->model == model && c->bound_ns > 0)
            points[n++] = (struct plot_point){c->bound_ns / 1000, c->bound_ns / c->time_ns};
    }
    return n;
}

static void widen(struct plot *p, const struct plot_point *points, int n)
{
    for (int i = 0; i < n; i++) {
        if (points[i].y < LEAST_UTILISATION)
            continue;
        p->x.low = fmin(p->x.low, points[i].x);
        p->x.high = fmax(p->x.high, points[i].x);
        p->y.low = fmin(p->y.low, points[i].y);
        p->y.high = fmax(p->y.high, points[i].y);
    }
}

static int scatter(const struct report_data *d, FILE *out, struct pkb_error *err)
{
    size_t n = (size_t)d->n_models;
    struct plot_point *points = calloc(n * SCATTER_MAX + 1, sizeof(*points));
    struct plot_series *series = calloc(n + 1, sizeof(*series));
    struct plot p = {.id = "roofline",
                     .title = "Roofline: utilisation over the time that the hardware needs",
                     .description =
                         "One mark per correct candidate that utilises 0.01 % or more; the quantiles are in the table of "
                         "closeness to the hardware.",
                     .x = {.label = "bound, us", .low = 1e300, .high = 0, .log10 = true},
                     .y = {.label = "bound / measured", .low = 0.1, .high = 1, .share = true, .log10 = true},
                     .series = series,
                     .n_series = d->n_models};
    int rc = points && series ? 0 : pkb_error_set(err, "out of memory for a plot");
    for (int m = 0; m < d->n_models && rc == 0; m++) {
        series[m] = (struct plot_series){.name = d->models[m], .points = &points[(size_t)m * SCATTER_MAX]};
        series[m].n = candidates_of(d, m, &points[(size_t)m * SCATTER_MAX]);
        widen(&p, series[m].points, series[m].n);
    }
    if (rc == 0 && p.x.high > 0) {
        p.x.low = pow(10, floor(log10(p.x.low)));
        p.x.high = pow(10, floor(log10(p.x.high)) + 1);
        p.y.low = pow(10, floor(log10(p.y.low)));
        p.y.high = p.y.high > 1 ? pow(10, ceil(log10(p.y.high))) : 1;
        plot_print(&p, out);
    }
    free(points);
    free(series);
    return rc;
}

/* ---- outcomes and families ---------------------------------------------------------------------------------------------------- */

#define N_PARTS (OUTCOME_COUNT + 3)

static int list_parts(struct plot_part parts[N_PARTS])
{
    int n = 0;
    parts[n++] = (struct plot_part){"correct, fast", MARK_FAST, 0};
    parts[n++] = (struct plot_part){"correct, not fast", MARK_SLOW, 1};
    parts[n++] = (struct plot_part){"correct, not timed", MARK_UNTIMED, 2};
    for (int o = OUTCOME_CORRECT + 1; o < OUTCOME_COUNT; o++, n++)
        parts[n] = (struct plot_part){outcome_name((enum outcome)o), report_outcome_mark((enum outcome)o), n};
    parts[n] = (struct plot_part){"missing", MARK_MISSING, n};
    return n + 1;
}

static int outcome_bars(const struct report_data *d, const struct sheet *s, FILE *out, struct pkb_error *err)
{
    struct plot_part parts[N_PARTS];
    int n = list_parts(parts), mark = s ? column_of(s, "mark") : 0, cells = s ? column_of(s, "cells") : 0;
    double *values = calloc((size_t)d->n_models * (size_t)n + 1, sizeof(double));
    if (!values)
        return pkb_error_set(err, "out of memory for a plot");
    for (size_t r = 0; s && r < sheet_rows(s); r++) {
        int model = report_cells_model(&d->cells, sheet_at(s, r, 0)->text);
        for (int i = 0; i < n && model >= 0; i++)
            if (parts[i].mark == sheet_at(s, r, mark)->text[0])
                values[model * n + i] += number_at(s, r, cells);
    }
    struct plot_bars p = {.id = "outcomes",
                          .title = "Outcomes of each model's cells",
                          .description = "One bar per model, with a part per outcome; the numbers are in the table of outcomes.",
                          .rows = (const char *const *)d->models,
                          .n_rows = d->n_models,
                          .parts = parts,
                          .n_parts = n,
                          .values = values};
    if (d->n_models > 0)
        plot_bars_print(&p, out);
    free(values);
    return 0;
}

/* Families in the order of the groups, which are sorted by model and family. */
static int family_names(const struct report_data *d, const char **names)
{
    int n = 0;
    for (size_t i = 0; i < d->families.n; i++) {
        int k = 0;
        while (k < n && strcmp(names[k], d->families.items[i].key) != 0)
            k++;
        if (k == n)
            names[n++] = d->families.items[i].key;
    }
    return n;
}

static int family_map(const struct report_data *d, FILE *out, struct pkb_error *err)
{
    const char **names = calloc(d->families.n + 1, sizeof(*names));
    double *part = calloc(d->families.n * (size_t)d->n_models + 1, sizeof(double));
    double *whole = calloc(d->families.n * (size_t)d->n_models + 1, sizeof(double));
    int rc = names && part && whole ? 0 : pkb_error_set(err, "out of memory for a plot");
    int n = rc == 0 ? family_names(d, names) : 0;
    char title[96];
    (void)snprintf(title, sizeof(title), "Families: solved by the first %d sample%s / planned", d->k_max,
                   d->k_max == 1 ? "" : "s");
    for (size_t i = 0; i < d->families.n && rc == 0; i++) {
        const struct report_group *g = &d->families.items[i];
        int f = 0;
        while (strcmp(names[f], g->key) != 0)
            f++;
        part[f * d->n_models + g->model] = (double)g->metrics.pass[d->k_max - 1].solved;
        whole[f * d->n_models + g->model] = (double)g->metrics.tasks;
    }
    struct plot_map p = {.id = "families",
                         .title = title,
                         .description = "One row per family, one column per model; the darker, the more are solved.",
                         .rows = names,
                         .columns = (const char *const *)d->models,
                         .n_rows = n,
                         .n_columns = d->n_models,
                         .part = part,
                         .whole = whole};
    if (n > 0)
        plot_map_print(&p, out);
    free(names);
    free(part);
    free(whole);
    return rc;
}

/* Whether anything is timed at more than one world size. */
static bool has_other_worlds(const struct sheet *s)
{
    for (size_t r = 1; s && r < sheet_rows(s); r++)
        if (sheet_at(s, r, column_of(s, "time_ratio"))->known && sheet_at(s, r - 1, column_of(s, "time_ratio"))->known)
            return true;
    return false;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------------------ */

int report_plots(const struct report_data *d, const struct report_sheets *s, FILE *out, struct pkb_error *err)
{
    char label[32];
    (void)snprintf(label, sizeof(label), "fast_p@%d", d->k_max);
    struct plot curve = {.id = "curve-1",
                         .title = "fast_p@1 over the threshold p",
                         .description =
                             "One line per model: the share of problems that one sample solves more than p times as fast "
                             "as the reference; the numbers are in the table of curves.",
                         .x = {.label = "p (speedup over the reference)", .low = 0.5, .high = 4},
                         .y = {.label = "fast_p@1", .low = 0, .high = 1, .share = true}};
    struct plot curve_k = curve;
    curve_k.id = "curve-k";
    curve_k.title = "fast_p over the threshold p, with all samples";
    curve_k.y.label = label;
    struct plot scaling = {.id = "scaling",
                           .title = "Scaling: time relative to the smallest world size",
                           .description =
                               "One line for the reference and one per model; the numbers are in the table of scaling.",
                           .x = {.label = "ranks", .low = 1, .log2 = true},
                           .y = {.label = "T / T(smallest)", .low = 0}};
    const struct sheet *curves = report_sheets_find(s, "curves"), *ranks = report_sheets_find(s, "scaling");
    if (over_k(d, false, out, err) < 0 || over_k(d, true, out, err) < 0)
        return -1;
    if (lines_of(curves, curve, "p", "fast_1", out, err) < 0)
        return -1;
    if (d->k_max > 1 && lines_of(curves, curve_k, "p", "fast_k", out, err) < 0)
        return -1;
    if (family_map(d, out, err) < 0 || outcome_bars(d, report_sheets_find(s, "outcomes"), out, err) < 0)
        return -1;
    if (scatter(d, out, err) < 0)
        return -1;
    return has_other_worlds(ranks) ? lines_of(ranks, scaling, "world", "time_ratio", out, err) : 0;
}
