/* SPDX-License-Identifier: Apache-2.0 */
/* Outcomes, speedups, curves, scaling, new kernels, problems, and what is not counted. */
#include <stdio.h>
#include <string.h>

#include "results/report_sheets.h"

static void interval_columns(struct sheet *s, const char *low, const char *high, enum sheet_kind kind)
{
    sheet_column(s, low, "low", kind, SHEET_EVERYWHERE);
    sheet_column(s, high, "high", kind, SHEET_EVERYWHERE);
}

static void interval_values(struct sheet *s, const struct interval *x)
{
    sheet_number_or_unknown(s, x->known, x->low);
    sheet_number_or_unknown(s, x->known, x->high);
}

/* ---- outcomes ------------------------------------------------------------------------------------------------------------ */

static void outcome_row(struct sheet *s, const struct report_data *d, const struct report_group *g, char mark, const char *what,
                        int64_t count)
{
    if (count == 0)
        return;
    sheet_text(s, TONE_NONE, "%s", d->models[g->model]);
    sheet_text(s, TONE_NONE, "%c", mark);
    sheet_text(s, TONE_NONE, "%s", what);
    sheet_number(s,
                 mark == MARK_FAST                           ? TONE_GOOD
                 : mark == MARK_SLOW || mark == MARK_UNTIMED ? TONE_FAIR
                                                             : TONE_BAD,
                 (double)count);
    sheet_number(s, TONE_NONE, (double)count / (double)g->metrics.cells);
}

static void count_correct(const struct report_data *d, int model, int64_t *fast, int64_t *slow)
{
    for (size_t i = 0; i < d->n_problems; i++)
        for (const char *m = d->problems[i].marks[model]; m && *m; m++) {
            *fast += *m == MARK_FAST;
            *slow += *m == MARK_SLOW;
        }
}

struct sheet *report_sheet_outcomes(const struct report_data *d)
{
    struct sheet *s = sheet_create("outcomes", "Outcomes of cells", "Share of the planned cells of a model, %.");
    sheet_column(s, "model", "model", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "mark", "mark", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "outcome", "outcome", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "cells", "cells", SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(s, "share", "%", SHEET_SHARE, SHEET_EVERYWHERE);
    for (size_t i = 0; i < d->total.n; i++) {
        const struct report_group *g = &d->total.items[i];
        int64_t fast = 0, slow = 0;
        count_correct(d, g->model, &fast, &slow);
        outcome_row(s, d, g, MARK_FAST, "correct, fast", fast);
        outcome_row(s, d, g, MARK_SLOW, "correct, not fast", slow);
        outcome_row(s, d, g, MARK_UNTIMED, "correct, not timed", g->metrics.untimed);
        for (int o = OUTCOME_CORRECT + 1; o < OUTCOME_COUNT; o++)
            outcome_row(s, d, g, report_outcome_mark((enum outcome)o), outcome_name((enum outcome)o), g->metrics.outcome[o]);
        outcome_row(s, d, g, MARK_MISSING, "missing", g->metrics.missing);
    }
    return s;
}

/* ---- speedups and curves --------------------------------------------------------------------------------------------------- */

static void geomean_values(struct sheet *s, const struct geomean *g)
{
    sheet_number_or_unknown(s, g->n > 0, g->value);
    interval_values(s, &g->interval);
    sheet_number(s, TONE_NONE, (double)g->n);
}

struct sheet *report_sheet_speeds(const struct report_data *d, const struct speeds *speeds)
{
    char title[32];
    struct sheet *s = sheet_create("speedups", "Speedup over the reference",
                                   "Geometric means over correct, timed candidates, and over the fastest of a problem's first k; "
                                   "95 % bootstrap over problems.");
    sheet_column(s, "model", "model", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "correct", "correct", SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(s, "geomean", "mean", SHEET_SPEEDUP, SHEET_EVERYWHERE);
    interval_columns(s, "geomean_low", "geomean_high", SHEET_SPEEDUP);
    sheet_column(s, "timed", "of", SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(s, "best_1", "best of 1", SHEET_SPEEDUP, SHEET_EVERYWHERE);
    sheet_column(s, "best_1_low", "low", SHEET_SPEEDUP, SHEET_DATA);
    sheet_column(s, "best_1_high", "high", SHEET_SPEEDUP, SHEET_DATA);
    sheet_column(s, "best_1_tasks", "of", SHEET_COUNT, SHEET_EVERYWHERE);
    (void)snprintf(title, sizeof(title), "best of %d", d->k_max);
    sheet_column(s, "best_k", title, SHEET_SPEEDUP, SHEET_EVERYWHERE);
    sheet_column(s, "best_k_low", "low", SHEET_SPEEDUP, SHEET_DATA);
    sheet_column(s, "best_k_high", "high", SHEET_SPEEDUP, SHEET_DATA);
    sheet_column(s, "best_k_tasks", "of", SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(s, "largest", "largest", SHEET_SPEEDUP, SHEET_EVERYWHERE);
    report_open_columns(s);
    for (size_t i = 0; i < d->total.n; i++) {
        const struct speeds *x = &speeds[d->total.items[i].model];
        sheet_text(s, TONE_NONE, "%s", d->models[d->total.items[i].model]);
        sheet_number(s, TONE_NONE, (double)x->correct);
        geomean_values(s, &x->all);
        geomean_values(s, &x->best);
        geomean_values(s, &x->best_k);
        sheet_number_or_unknown(s, x->largest > 0, x->largest);
        report_open_values(s, &d->total.items[i].metrics);
    }
    return s;
}

struct sheet *report_sheet_curves(const struct report_data *d, const struct curve *curves)
{
    char title[48];
    struct sheet *s =
        sheet_create("curves", "fast_p over the threshold p, %", "Unbiased estimates, as in the table above; p = 1 is fast1.");
    sheet_column(s, "model", "model", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "p", "p", SHEET_REAL, SHEET_EVERYWHERE);
    sheet_column(s, "fast_1", "fast_p@1", SHEET_SHARE, SHEET_EVERYWHERE);
    sheet_column(s, "counted_1", "counted", SHEET_COUNT, SHEET_EVERYWHERE);
    (void)snprintf(title, sizeof(title), "fast_p@%d", d->k_max);
    sheet_column(s, "fast_k", title, SHEET_SHARE, SHEET_EVERYWHERE);
    sheet_column(s, "counted_k", "counted", SHEET_COUNT, SHEET_EVERYWHERE);
    report_open_columns(s);
    for (size_t i = 0; i < d->total.n; i++)
        for (int p = 0; p < CURVE_POINTS; p++) {
            const struct curve *c = &curves[d->total.items[i].model];
            sheet_text(s, TONE_NONE, "%s", d->models[d->total.items[i].model]);
            sheet_number(s, TONE_NONE, analysis_threshold(p));
            sheet_number_or_unknown(s, c->at_1[p] >= 0, c->at_1[p]);
            sheet_number(s, TONE_NONE, (double)c->counted_1);
            sheet_number_or_unknown(s, c->at_k[p] >= 0, c->at_k[p]);
            sheet_number(s, TONE_NONE, (double)c->counted_k);
            report_open_values(s, &d->total.items[i].metrics);
        }
    return s;
}

/* ---- scaling, new kernels ------------------------------------------------------------------------------------------------- */

struct sheet *report_sheet_scaling(const struct report_data *d, const struct scaling *rows, size_t n)
{
    struct sheet *s = sheet_create(
        "scaling", "Scaling over world sizes",
        "T: time of the reference, or of a model's fastest correct candidate. T/T(min): to the time at the smallest "
        "world size, over the series (problem, dtype, shape) timed at both. Parallel efficiency: strong where the total "
        "work is fixed, weak where it grows with the ranks.");
    sheet_column(s, "who", "who", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "world", "ranks", SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(s, "series", "series", SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(s, "time_ratio", "T/T(min)", SHEET_REAL, SHEET_EVERYWHERE);
    sheet_column(s, "strong", "strong %", SHEET_SHARE, SHEET_EVERYWHERE);
    sheet_column(s, "weak", "weak %", SHEET_SHARE, SHEET_EVERYWHERE);
    sheet_column(s, "speedup", "speedup", SHEET_SPEEDUP, SHEET_EVERYWHERE);
    interval_columns(s, "speedup_low", "speedup_high", SHEET_SPEEDUP);
    sheet_column(s, "speedup_tasks", "of", SHEET_COUNT, SHEET_EVERYWHERE);
    for (size_t i = 0; i < n; i++) {
        const struct scaling *x = &rows[i];
        sheet_text(s, x->model < 0 ? TONE_FAINT : TONE_NONE, "%s", x->model < 0 ? "(reference)" : d->models[x->model]);
        sheet_number(s, TONE_NONE, x->world);
        sheet_number(s, TONE_NONE, (double)x->series);
        sheet_number_or_unknown(s, x->series > 0, x->time_ratio);
        sheet_number_or_unknown(s, x->series > 0, x->strong);
        sheet_number_or_unknown(s, x->series > 0, x->weak);
        geomean_values(s, &x->speedup);
    }
    return s;
}

struct sheet *report_sheet_new(const struct report_data *d, const struct new_kernel *rows, size_t n)
{
    char note[160];
    (void)snprintf(
        note, sizeof(note),
        "Correct and more than %g times as fast as the reference, where no other model has such a candidate; open: samples "
        "of the others without an answer.",
        d->p);
    struct sheet *s = sheet_create("new", "New kernels: fast where no other model is", note);
    report_cell_columns(s, d);
    sheet_column(s, "speedup", "speedup", SHEET_SPEEDUP, SHEET_EVERYWHERE);
    sheet_column(s, "open", "open", SHEET_COUNT, SHEET_EVERYWHERE);
    for (size_t i = 0; i < n; i++) {
        report_cell_values(s, d, rows[i].setting, rows[i].model, rows[i].sample);
        sheet_number(s, TONE_GOOD, rows[i].speedup);
        sheet_number(s, rows[i].unknown ? TONE_FAIR : TONE_FAINT, (double)rows[i].unknown);
    }
    return s;
}

/* ---- problems, notes ------------------------------------------------------------------------------------------------------ */

static void problem_row(struct sheet *s, const struct report_data *d, const struct report_problem *p)
{
    sheet_text(s, TONE_NONE, "%s", p->name);
    sheet_number(s, TONE_NONE, p->world);
    sheet_text(s, TONE_NONE, "%s", p->dtype);
    sheet_text(s, TONE_NONE, "%s", p->shape);
    sheet_number_or_unknown(s, p->baseline_ns > 0, p->baseline_ns);
    if (p->best_model >= 0)
        sheet_text(s, TONE_NONE, "%s/%d", d->models[p->best_model], p->best_sample);
    else
        sheet_unknown(s);
    sheet_number_or_unknown(s, p->best_ns > 0, p->best_ns);
    if (p->best_speedup > 0)
        sheet_number(s, p->best_speedup > d->p ? TONE_GOOD : TONE_FAIR, p->best_speedup);
    else
        sheet_unknown(s);
    for (int m = 0; m < d->n_models; m++) {
        const char *marks = p->marks[m] ? p->marks[m] : "";
        if (strlen(marks) <= 32)
            sheet_text(s, TONE_NONE, "%s", marks);
        else
            sheet_text(s, TONE_NONE, "%.29s...", marks);
    }
}

struct sheet *report_sheet_problems(const struct report_data *d)
{
    struct sheet *s = sheet_create(
        "problems", "Problems", "The fastest correct candidate, and one mark per sample: the marks are those of the outcomes.");
    report_setting_columns(s, d);
    sheet_column(s, "baseline_ns", "baseline", SHEET_TIME, SHEET_EVERYWHERE);
    sheet_column(s, "best", "fastest", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "best_ns", "time", SHEET_TIME, SHEET_EVERYWHERE);
    sheet_column(s, "best_speedup", "speedup", SHEET_SPEEDUP, SHEET_EVERYWHERE);
    for (int m = 0; m < d->n_models; m++)
        sheet_column(s, d->models[m], d->models[m], SHEET_TEXT, SHEET_EVERYWHERE);
    for (size_t i = 0; i < d->n_problems; i++)
        problem_row(s, d, &d->problems[i]);
    return s;
}

struct sheet *report_sheet_notes(const struct report_data *d)
{
    struct sheet *s = sheet_create("not_counted", "Not counted", "What no figure counts, why, and what to do about it.");
    sheet_column(s, "kind", "kind", SHEET_TEXT, SHEET_DATA);
    sheet_column(s, "what", "what", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "count", "how many", SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(s, "example", "for instance", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "advice", "what to do", SHEET_TEXT, SHEET_EVERYWHERE);
    for (size_t i = 0; i < d->n_notes; i++) {
        const struct report_note *n = &d->notes[i];
        sheet_text(s, TONE_NONE, "%s", n->kind);
        sheet_text(s, TONE_NONE, "%s", n->what);
        sheet_number(s, TONE_BAD, (double)n->count);
        sheet_text(s, TONE_NONE, "%s", n->n_examples > 0 ? n->examples[0] : "");
        sheet_text(s, TONE_NONE, "%s", n->advice);
    }
    return s;
}
