/* SPDX-License-Identifier: Apache-2.0 */
/* pass@k and fast@k: in the paper's layout, per model and part, as estimates with intervals, by family. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/report_sheets.h"

static const char *tasks_word(const struct report_data *d)
{
    return report_tasks_are_problems(d) ? "problems" : "tasks";
}

static int64_t open_tasks(const struct metrics_at_k *m)
{
    return m->undecided + m->absent;
}

/* "12" or "12+3?" */
static void solved_text(const struct metrics_at_k *m, char *text, size_t size)
{
    if (open_tasks(m) > 0)
        (void)snprintf(text, size, "%lld+%lld?", (long long)m->solved, (long long)open_tasks(m));
    else
        (void)snprintf(text, size, "%lld", (long long)m->solved);
}

static void arrow(struct sheet *s, const struct metrics_at_k *at, int k_max)
{
    char first[48], last[48];
    solved_text(&at[0], first, sizeof(first));
    solved_text(&at[k_max - 1], last, sizeof(last));
    if (k_max == 1)
        sheet_text(s, TONE_NONE, "%s", first);
    else
        sheet_text(s, TONE_NONE, "%s -> %s", first, last);
}

static void arrow_column(struct sheet *s, const char *key, const char *what, int k_max)
{
    char title[64];
    if (k_max == 1)
        (void)snprintf(title, sizeof(title), "%s@1", what);
    else
        (void)snprintf(title, sizeof(title), "%s@1 -> %s@%d", what, what, k_max);
    sheet_column(s, key, title, SHEET_TEXT, SHEET_EVERYWHERE);
}

struct sheet *report_sheet_paper(const struct report_data *d)
{
    char note[256], fast[32];
    (void)snprintf(fast, sizeof(fast), "fast%g", d->p);
    (void)snprintf(note, sizeof(note),
                   "%s solved by at least one of the first k samples; fast: correct and more than %g times as fast as the "
                   "reference. a+b?: a solved, b more undecided because results are missing.",
                   report_tasks_are_problems(d) ? "Problems" : "Tasks", d->p);
    struct sheet *s = sheet_create("paper", "Solved and fast", note);
    sheet_column(s, "model", "Model", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "tasks", tasks_word(d), SHEET_COUNT, SHEET_EVERYWHERE);
    arrow_column(s, "pass", "pass", d->k_max);
    arrow_column(s, "fast", fast, d->k_max);
    report_open_columns(s);
    for (size_t i = 0; i < d->total.n; i++) {
        const struct metrics *m = &d->total.items[i].metrics;
        sheet_text(s, TONE_NONE, "%s", d->models[d->total.items[i].model]);
        sheet_number(s, TONE_NONE, (double)m->tasks);
        arrow(s, m->pass, d->k_max);
        arrow(s, m->fast, d->k_max);
        report_open_values(s, m);
    }
    return s;
}

/* ---- counts per k ------------------------------------------------------------------------------------------------------ */

#define MAX_SHOWN_K 5

static int shown_ks(int k_max, int ks[MAX_SHOWN_K])
{
    static const int some[] = {1, 2, 3, 5};
    int n = 0;
    for (int k = 1; k <= k_max && k_max <= MAX_SHOWN_K; k++)
        ks[n++] = k;
    for (size_t i = 0; k_max > MAX_SHOWN_K && i < sizeof(some) / sizeof(some[0]); i++)
        ks[n++] = some[i];
    if (k_max > MAX_SHOWN_K)
        ks[n++] = k_max;
    return n;
}

/* Keys of columns live as long as the program: k is one of few. */
static const char *k_key(bool fast, int index)
{
    static const char *const pass_keys[] = {"pass_1st_k", "pass_2nd_k", "pass_3rd_k", "pass_4th_k", "pass_5th_k"};
    static const char *const fast_keys[] = {"fast_1st_k", "fast_2nd_k", "fast_3rd_k", "fast_4th_k", "fast_5th_k"};
    return fast ? fast_keys[index] : pass_keys[index];
}

static void k_columns(struct sheet *s, const char *what, bool fast, const int *ks, int n)
{
    for (int i = 0; i < n; i++) {
        char title[48];
        (void)snprintf(title, sizeof(title), "%s@%d", what, ks[i]);
        sheet_column(s, k_key(fast, i), title, SHEET_COUNT, SHEET_EVERYWHERE);
    }
}

static void k_values(struct sheet *s, const struct metrics_at_k *at, const int *ks, int n)
{
    char text[48];
    for (int i = 0; i < n; i++) {
        const struct metrics_at_k *m = &at[ks[i] - 1];
        solved_text(m, text, sizeof(text));
        sheet_number_as(s, open_tasks(m) ? TONE_FAIR : m->solved ? TONE_GOOD : TONE_NONE, (double)m->solved, "%s", text);
    }
}

struct sheet *report_sheet_metrics(const struct report_data *d, const struct report_groups *g, const char *name)
{
    int ks[MAX_SHOWN_K], n = shown_ks(d->k_max, ks);
    bool parts = g == &d->parts;
    char fast[32], title[128];
    (void)snprintf(fast, sizeof(fast), "fast%g", d->p);
    (void)snprintf(title, sizeof(title), "Solved by at least one of the first k samples%s%s", parts ? ", by " : "",
                   parts ? report_by_name(d->by) : "");
    struct sheet *s =
        sheet_create(name, title, "a+b?: a solved, b more undecided, because samples are missing or were not timed.");
    sheet_column(s, "model", "model", SHEET_TEXT, SHEET_EVERYWHERE);
    if (parts)
        sheet_column(s, "part", d->by == REPORT_BY_WORLD ? "ranks" : report_by_name(d->by),
                     d->by == REPORT_BY_WORLD ? SHEET_COUNT : SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "tasks", tasks_word(d), SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(s, "samples", "samples", SHEET_COUNT, SHEET_EVERYWHERE);
    k_columns(s, "pass", false, ks, n);
    k_columns(s, fast, true, ks, n);
    report_open_columns(s);
    for (size_t i = 0; i < g->n; i++) {
        const struct metrics *m = &g->items[i].metrics;
        sheet_text(s, TONE_NONE, "%s", d->models[g->items[i].model]);
        if (parts)
            sheet_number_as(s, TONE_NONE, d->by == REPORT_BY_WORLD ? atof(g->items[i].key) : 0, "%s", g->items[i].key);
        sheet_number(s, TONE_NONE, (double)m->tasks);
        sheet_number(s, TONE_NONE, (double)m->samples);
        k_values(s, m->pass, ks, n);
        k_values(s, m->fast, ks, n);
        report_open_values(s, m);
    }
    return s;
}

/* ---- estimates --------------------------------------------------------------------------------------------------------- */

static void estimate_row(struct sheet *s, const struct report_data *d, const struct report_group *g, bool fast, int k)
{
    const struct metrics_at_k *at = fast ? &g->metrics.fast[k - 1] : &g->metrics.pass[k - 1];
    const struct interval *x = fast ? &g->fast_interval[k - 1] : &g->pass_interval[k - 1];
    struct interval w = interval_wilson(at->solved, at->solved + at->failed);
    double e = metrics_estimate(at);
    char what[32];
    (void)snprintf(what, sizeof(what), fast ? "fast%g" : "pass", d->p);
    sheet_text(s, TONE_NONE, "%s", d->models[g->model]);
    sheet_text(s, TONE_NONE, "%s", what);
    sheet_number(s, TONE_NONE, k);
    sheet_number_or_unknown(s, e >= 0, e);
    sheet_number_or_unknown(s, x->known, x->low);
    sheet_number_or_unknown(s, x->known, x->high);
    sheet_number(s, TONE_NONE, (double)at->counted);
    sheet_number(s, at->short_of_k ? TONE_BAD : TONE_FAINT, (double)at->short_of_k);
    sheet_number(s, TONE_NONE, (double)at->solved);
    sheet_number(s, open_tasks(at) ? TONE_FAIR : TONE_NONE, (double)(at->solved + at->failed));
    sheet_number_or_unknown(s, w.known, w.low);
    sheet_number_or_unknown(s, w.known, w.high);
    report_open_values(s, &g->metrics);
}

struct sheet *report_sheet_intervals(const struct report_data *d)
{
    int ks[MAX_SHOWN_K], n = shown_ks(d->k_max, ks);
    struct sheet *s = sheet_create("estimates", "Unbiased estimates and counts, % with 95 % intervals",
                                   "Estimates: mean over problems, bootstrap over problems. Solved: of the decided ones, by the "
                                   "first k samples, Wilson's interval.");
    sheet_column(s, "model", "model", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "metric", "metric", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "k", "k", SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(s, "estimate", "estimate", SHEET_SHARE, SHEET_EVERYWHERE);
    sheet_column(s, "low", "low", SHEET_SHARE, SHEET_EVERYWHERE);
    sheet_column(s, "high", "high", SHEET_SHARE, SHEET_EVERYWHERE);
    sheet_column(s, "counted", "counted", SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(s, "short", "left out", SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(s, "solved", "solved", SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(s, "decided", "of", SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(s, "solved_low", "low", SHEET_SHARE, SHEET_EVERYWHERE);
    sheet_column(s, "solved_high", "high", SHEET_SHARE, SHEET_EVERYWHERE);
    report_open_columns(s);
    for (size_t i = 0; i < d->total.n; i++)
        for (int f = 0; f < 2; f++)
            for (int x = 0; x < n; x++)
                estimate_row(s, d, &d->total.items[i], f == 1, ks[x]);
    return s;
}

/* ---- families ------------------------------------------------------------------------------------------------------------ */

struct sheet *report_sheet_families(const struct report_data *d)
{
    char pass[48], fast[48];
    (void)snprintf(pass, sizeof(pass), "pass@%d", d->k_max);
    (void)snprintf(fast, sizeof(fast), "fast%g@%d", d->p, d->k_max);
    struct sheet *s = sheet_create("families", "By family", "Solved by at least one of a model's samples.");
    sheet_column(s, "model", "model", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "family", "family", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "tasks", tasks_word(d), SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(s, "pass", pass, SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(s, "fast", fast, SHEET_COUNT, SHEET_EVERYWHERE);
    report_open_columns(s);
    for (size_t i = 0; i < d->families.n; i++) {
        const struct report_group *g = &d->families.items[i];
        int k = d->k_max;
        sheet_text(s, TONE_NONE, "%s", d->models[g->model]);
        sheet_text(s, TONE_NONE, "%s", g->key);
        sheet_number(s, TONE_NONE, (double)g->metrics.tasks);
        k_values(s, g->metrics.pass, &k, 1);
        k_values(s, g->metrics.fast, &k, 1);
        report_open_values(s, &g->metrics);
    }
    return s;
}
