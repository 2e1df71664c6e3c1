/* SPDX-License-Identifier: Apache-2.0 */
#include "results/report_compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/published.h"
#include "util/file.h"

#define WORTH_A_LINE 0.05 /* relative change of a speedup */

/* ---- published figures ---------------------------------------------------------------------------------------------------- */

static void published_arrow(struct sheet *s, int first, int last)
{
    if (first < 0 && last < 0)
        sheet_unknown(s);
    else if (first < 0)
        sheet_text(s, TONE_NONE, "? -> %d", last);
    else
        sheet_text(s, TONE_NONE, "%d -> %d", first, last);
}

static void measured_arrow(struct sheet *s, const struct report_group *g, bool fast, int k_max)
{
    if (!g) {
        sheet_unknown(s);
        return;
    }
    const struct metrics_at_k *at = fast ? g->metrics.fast : g->metrics.pass;
    int64_t open = at[k_max - 1].undecided + at[k_max - 1].absent;
    char more[32] = "";
    if (open > 0)
        (void)snprintf(more, sizeof(more), "+%lld?", (long long)open);
    if (k_max == 1)
        sheet_text(s, TONE_NONE, "%lld%s", (long long)at[0].solved, more);
    else
        sheet_text(s, TONE_NONE, "%lld -> %lld%s", (long long)at[0].solved, (long long)at[k_max - 1].solved, more);
}

static void published_row(struct sheet *s, const struct report_data *d, const struct report_group *g, const struct published *p)
{
    int k = d->k_max < 3 ? d->k_max : 3;
    sheet_text(s, TONE_NONE, "%s", p ? p->model : d->models[g->model]);
    sheet_number_or_unknown(s, g != NULL, g ? (double)g->metrics.tasks : 0);
    measured_arrow(s, g, false, k);
    published_arrow(s, p ? p->pass_1 : -1, p ? p->pass_3 : -1);
    measured_arrow(s, g, true, k);
    published_arrow(s, p ? p->fast_1 : -1, p ? p->fast_3 : -1);
    sheet_number_or_unknown(s, g != NULL, g ? (double)(g->metrics.missing + g->metrics.outcome[OUTCOME_NOT_RUN]) : 0);
    sheet_number_or_unknown(s, g != NULL, g ? (double)g->metrics.outcome[OUTCOME_INFRA_ERROR] : 0);
    sheet_text(s, TONE_FAINT, "%s", p ? p->remark : "");
}

static const struct report_group *group_of(const struct report_data *d, const struct published *p)
{
    for (size_t i = 0; i < d->total.n; i++)
        if (published_is(p, d->models[d->total.items[i].model]))
            return &d->total.items[i];
    return NULL;
}

static bool is_published(const char *model)
{
    for (int i = 0; i < published_count; i++)
        if (published_is(&published_table[i], model))
            return true;
    return false;
}

int report_compare_published(const struct report_data *d, struct report_sheets *s, struct pkb_error *err)
{
    char note[256], fast[32];
    (void)snprintf(
        note, sizeof(note),
        "Published: problems of %d on 8 H100s, by the first sample and the first three, fast1. They compare only with a run "
        "of the same problems, world size, shapes and tolerances.",
        PUBLISHED_PROBLEMS);
    (void)snprintf(fast, sizeof(fast), "fast%g", d->p);
    struct sheet *t = sheet_create("published", "Measured and published", note);
    sheet_column(t, "model", "model", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(t, "tasks", report_tasks_are_problems(d) ? "problems" : "tasks", SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(t, "pass", "pass", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(t, "pass_published", "published", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(t, "fast", fast, SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(t, "fast_published", "published", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(t, "missing", "missing", SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(t, "infra_error", "infra", SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(t, "remark", "remark", SHEET_TEXT, SHEET_EVERYWHERE);
    for (int i = 0; i < published_count; i++)
        published_row(t, d, group_of(d, &published_table[i]), &published_table[i]);
    for (size_t i = 0; i < d->total.n; i++)
        if (!is_published(d->models[d->total.items[i].model]))
            published_row(t, d, &d->total.items[i], NULL);
    return report_sheets_add(s, t, err);
}

/* ---- another run ------------------------------------------------------------------------------------------------------------- */

/* Of one model. */
struct change {
    int64_t both, open;                   /* cells with a result in both runs; in both plans, but without one of the results */
    int64_t only_new, only_old;           /* planned in one of the runs */
    int64_t correct, gained, lost, wrong; /* correct in both, in the new one alone, in the old one alone, in none */
    int64_t timed, faster, slower;
    double *log_ratio, *n; /* per problem: of the speedups, new / old */
};

static int compare_settings(const struct report_setting *a, const struct report_setting *b)
{
    if (a->problem_id != b->problem_id)
        return a->problem_id < b->problem_id ? -1 : 1;
    if (a->world != b->world)
        return a->world < b->world ? -1 : 1;
    int order = strcmp(a->dtype, b->dtype);
    return order ? order : strcmp(a->shape, b->shape);
}

/* Cells of both runs are in the same order, so that they are merged like sorted lists. */
static int compare_cells(const struct report_data *x, const struct report_cell *a, const struct report_data *y,
                         const struct report_cell *b)
{
    int order = compare_settings(&x->cells.settings[a->setting], &y->cells.settings[b->setting]);
    if (order == 0)
        order = strcmp(x->models[a->model], y->models[b->model]);
    return order ? order : (a->sample.number > b->sample.number) - (a->sample.number < b->sample.number);
}

static bool is_known(const struct metrics_sample *s)
{
    return s->outcome >= 0 && outcome_is_final((enum outcome)s->outcome);
}

static bool both_timed(const struct metrics_sample *a, const struct metrics_sample *b)
{
    return a->outcome == OUTCOME_CORRECT && b->outcome == OUTCOME_CORRECT && a->timed && b->timed && a->speedup > 0 &&
           b->speedup > 0;
}

static void outcome_values(struct sheet *s, const struct metrics_sample *m)
{
    enum sheet_tone tone = m->outcome == OUTCOME_CORRECT ? TONE_GOOD : is_known(m) ? TONE_BAD : TONE_FAINT;
    sheet_text(s, tone, "%s", m->outcome < 0 ? "missing" : outcome_name((enum outcome)m->outcome));
    sheet_number_or_unknown(s, m->timed, m->speedup);
}

static void change_row(struct sheet *s, const struct report_data *d, const struct report_cell *now, const struct report_cell *was)
{
    bool timed = both_timed(&now->sample, &was->sample);
    double ratio = timed ? now->sample.speedup / was->sample.speedup : 0;
    if (now->sample.outcome == was->sample.outcome && (!timed || fabs(ratio - 1) <= WORTH_A_LINE))
        return;
    report_cell_values(s, d, now->setting, now->model, now->sample.number);
    outcome_values(s, &was->sample);
    outcome_values(s, &now->sample);
    if (timed)
        sheet_number(s, ratio > 1 ? TONE_GOOD : TONE_BAD, ratio);
    else
        sheet_unknown(s);
}

static void count_pair(struct change *c, int problem, const struct metrics_sample *now, const struct metrics_sample *was)
{
    if (!is_known(now) || !is_known(was)) {
        c->open++;
        return;
    }
    bool new_right = now->outcome == OUTCOME_CORRECT, old_right = was->outcome == OUTCOME_CORRECT;
    c->both++;
    c->correct += new_right && old_right;
    c->gained += new_right && !old_right;
    c->lost += !new_right && old_right;
    c->wrong += !new_right && !old_right;
    if (!both_timed(now, was))
        return;
    c->timed++;
    c->faster += now->speedup > was->speedup;
    c->slower += now->speedup < was->speedup;
    c->log_ratio[problem] += log(now->speedup / was->speedup);
    c->n[problem] += 1;
}

static void walk(const struct report_data *d, const struct report_data *old, struct change *changes, struct sheet *rows)
{
    size_t i = 0, k = 0;
    while (i < d->cells.n || k < old->cells.n) {
        const struct report_cell *now = &d->cells.cells[i], *was = &old->cells.cells[k];
        int order = i == d->cells.n ? 1 : k == old->cells.n ? -1 : compare_cells(d, now, old, was);
        if (order < 0) {
            changes[now->model].only_new++;
        } else if (order > 0) {
            int model = report_cells_model(&d->cells, old->models[was->model]);
            if (model >= 0)
                changes[model].only_old++;
        } else {
            count_pair(&changes[now->model], d->cells.settings[now->setting].problem, &now->sample, &was->sample);
            change_row(rows, d, now, was);
        }
        i += order <= 0;
        k += order >= 0;
    }
}

static void model_row(struct sheet *s, const struct report_data *d, int model, const struct change *c)
{
    double sum = 0;
    for (int p = 0; p < d->cells.n_problems; p++)
        sum += c->log_ratio[p];
    struct interval x = bootstrap_ratio(d->bootstrap, c->log_ratio, c->n);
    double p_outcome = sign_test(c->gained, c->lost), p_speed = sign_test(c->faster, c->slower);
    sheet_text(s, TONE_NONE, "%s", d->models[model]);
    sheet_number(s, TONE_NONE, (double)c->both);
    sheet_number(s, TONE_NONE, (double)c->correct);
    sheet_number(s, c->gained ? TONE_GOOD : TONE_NONE, (double)c->gained);
    sheet_number(s, c->lost ? TONE_BAD : TONE_NONE, (double)c->lost);
    sheet_number(s, TONE_NONE, (double)c->wrong);
    sheet_number(s, p_outcome < 0.05 ? TONE_FAIR : TONE_NONE, p_outcome);
    sheet_number_or_unknown(s, c->timed > 0, c->timed > 0 ? exp(sum / (double)c->timed) : 0);
    sheet_number_or_unknown(s, x.known, exp(x.low));
    sheet_number_or_unknown(s, x.known, exp(x.high));
    sheet_number(s, TONE_NONE, (double)c->timed);
    sheet_number(s, TONE_NONE, (double)c->faster);
    sheet_number(s, TONE_NONE, (double)c->slower);
    sheet_number(s, p_speed < 0.05 ? TONE_FAIR : TONE_NONE, p_speed);
    sheet_number(s, c->open ? TONE_BAD : TONE_FAINT, (double)c->open);
    sheet_number(s, c->only_new ? TONE_BAD : TONE_FAINT, (double)c->only_new);
    sheet_number(s, c->only_old ? TONE_BAD : TONE_FAINT, (double)c->only_old);
}

static struct sheet *models_sheet(const struct report_data *d, const struct report_data *old)
{
    static const struct sheet_column columns[] = {
        {"model", "model", SHEET_TEXT, SHEET_EVERYWHERE},      {"cells", "cells", SHEET_COUNT, SHEET_EVERYWHERE},
        {"correct", "still", SHEET_COUNT, SHEET_EVERYWHERE},   {"gained", "gained", SHEET_COUNT, SHEET_EVERYWHERE},
        {"lost", "lost", SHEET_COUNT, SHEET_EVERYWHERE},       {"wrong", "never", SHEET_COUNT, SHEET_EVERYWHERE},
        {"p_outcome", "p", SHEET_P, SHEET_EVERYWHERE},         {"ratio", "speed", SHEET_SPEEDUP, SHEET_EVERYWHERE},
        {"ratio_low", "low", SHEET_SPEEDUP, SHEET_EVERYWHERE}, {"ratio_high", "high", SHEET_SPEEDUP, SHEET_EVERYWHERE},
        {"timed", "of", SHEET_COUNT, SHEET_EVERYWHERE},        {"faster", "faster", SHEET_COUNT, SHEET_DATA},
        {"slower", "slower", SHEET_COUNT, SHEET_DATA},         {"p_speed", "p", SHEET_P, SHEET_EVERYWHERE},
        {"open", "open", SHEET_COUNT, SHEET_EVERYWHERE},       {"only_new", "new", SHEET_COUNT, SHEET_EVERYWHERE},
        {"only_old", "old", SHEET_COUNT, SHEET_EVERYWHERE},
    };
    static const char note[] =
        "Cells with a result in both runs: correct still, gained, lost, never (McNemar's exact p); speed: new / "
        "old speedup, geometric mean with 95 % bootstrap over problems (p of the sign test); open: a result "
        "is missing in one of the runs; new, old: planned there alone.";
    bool alike = strcmp(d->environment, old->environment) == 0;
    char *text = alike ? strdup(note)
                       : pkb_format(NULL, "%s The environments differ, times with them: new '%s', old '%s'.", note,
                                    d->environment, old->environment);
    struct sheet *s = text ? sheet_create("change_models", "What changed, by model", text) : NULL;
    free(text);
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        sheet_column(s, columns[i].key, columns[i].title, columns[i].kind, columns[i].use);
    return s;
}

static struct sheet *cells_sheet(const struct report_data *d)
{
    struct sheet *s =
        sheet_create("changes", "What changed, cell by cell", "Another outcome, or a speedup that changed by more than 5 %.");
    report_cell_columns(s, d);
    sheet_column(s, "was", "was", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "speedup_was", "speedup", SHEET_SPEEDUP, SHEET_EVERYWHERE);
    sheet_column(s, "now", "now", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "speedup_now", "speedup", SHEET_SPEEDUP, SHEET_EVERYWHERE);
    sheet_column(s, "ratio", "ratio", SHEET_SPEEDUP, SHEET_EVERYWHERE);
    return s;
}

int report_compare_runs(const struct report_data *d, const struct report_data *old, struct report_sheets *s,
                        struct pkb_error *err)
{
    size_t models = (size_t)d->n_models, problems = (size_t)d->cells.n_problems;
    struct change *changes = calloc(models + 1, sizeof(*changes));
    double *block = calloc(models * problems * 2 + 1, sizeof(double));
    if (!changes || !block) {
        free(changes);
        free(block);
        return pkb_error_set(err, "out of memory for a comparison");
    }
    for (size_t m = 0; m < models; m++) {
        changes[m].log_ratio = &block[m * problems * 2];
        changes[m].n = &block[(m * 2 + 1) * problems];
    }
    struct sheet *summary = models_sheet(d, old), *cells = cells_sheet(d);
    walk(d, old, changes, cells);
    for (int m = 0; m < d->n_models; m++)
        model_row(summary, d, m, &changes[m]);
    int rc = report_sheets_add(s, summary, err);
    if (rc < 0)
        sheet_destroy(cells);
    else
        rc = report_sheets_add(s, cells, err);
    free(changes);
    free(block);
    return rc;
}
