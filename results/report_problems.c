/* SPDX-License-Identifier: Apache-2.0 */
/* One line per setting: the baseline, the fastest correct candidate, and a mark per sample of each model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/report_data.h"

char report_outcome_mark(enum outcome o)
{
    static const char marks[OUTCOME_COUNT + 1] = "+BLRCMDSVTIN";
    return (unsigned)o < OUTCOME_COUNT ? marks[o] : MARK_MISSING;
}

char report_mark(const struct metrics_sample *s, double p)
{
    if (s->outcome < 0)
        return MARK_MISSING;
    if (s->outcome != OUTCOME_CORRECT)
        return report_outcome_mark((enum outcome)s->outcome);
    if (!s->timed)
        return MARK_UNTIMED;
    return s->speedup > p ? MARK_FAST : MARK_SLOW;
}

void report_format_ns(double ns, char *text, size_t size)
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    int i = 0;
    if (ns <= 0) {
        (void)snprintf(text, size, "-");
        return;
    }
    /* 999.95 us prints as 1.00 ms */
    while (i < 3 && ns < units[i].ns * 0.9995)
        i++;
    double value = ns / units[i].ns;
    (void)snprintf(text, size, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[i].unit);
}

static struct report_problem *start_problem(struct report_data *d, const struct report_setting *setting, struct pkb_error *err)
{
    struct report_problem *p = &d->problems[d->n_problems++];
    *p = (struct report_problem){
        .setting = setting->id,
        .name = setting->name,
        .dtype = setting->dtype,
        .shape = setting->shape,
        .world = setting->world,
        .best_model = -1,
        .marks = calloc((size_t)d->n_models, sizeof(char *)),
    };
    if (p->marks)
        return p;
    pkb_error_set(err, "out of memory for %zu problems", d->n_problems);
    return NULL;
}

/* One mark per sample of a task. */
static char *marks_of(const struct report_data *d, size_t first, size_t end, struct pkb_error *err)
{
    char *marks = malloc(end - first + 1);
    if (!marks) {
        pkb_error_set(err, "out of memory for the marks of samples");
        return NULL;
    }
    for (size_t i = first; i < end; i++)
        marks[i - first] = report_mark(&d->cells.cells[i].sample, d->p);
    marks[end - first] = '\0';
    return marks;
}

/* Timed candidates by speedup; a correct one without times is better than none. */
static bool is_better(const struct report_problem *p, const struct metrics_sample *s)
{
    if (s->outcome != OUTCOME_CORRECT)
        return false;
    return p->best_model < 0 || (s->timed && s->speedup > p->best_speedup);
}

static void add_cell(struct report_problem *p, const struct report_cell *c)
{
    if (p->baseline_ns <= 0)
        p->baseline_ns = c->baseline_ns;
    if (!is_better(p, &c->sample))
        return;
    p->best_model = c->model;
    p->best_sample = c->sample.number;
    p->best_ns = c->time_ns;
    p->best_speedup = c->sample.timed ? c->sample.speedup : 0;
    /* So that the line's three figures agree with each other. */
    p->baseline_ns = c->sample.timed ? c->baseline_ns : p->baseline_ns;
}

static int read_cells(struct report_data *d, struct pkb_error *err)
{
    const struct report_cells *c = &d->cells;
    struct report_problem *p = NULL;
    for (size_t first = 0, end; first < c->n; first = end) {
        const struct report_setting *setting = &c->settings[c->cells[first].setting];
        end = report_cells_task(c, first);
        if (!p || p->setting != setting->id)
            p = start_problem(d, setting, err);
        if (!p)
            return -1;
        for (size_t i = first; i < end; i++)
            add_cell(p, &c->cells[i]);
        p->marks[c->cells[first].model] = marks_of(d, first, end, err);
        if (!p->marks[c->cells[first].model])
            return -1;
    }
    return 0;
}

/* Baselines of settings whose cells brought none: nothing was correct. */
static int read_baselines(struct report_data *d, struct pkb_error *err)
{
    sqlite3_stmt *q = database_prepare(
        &d->db, "SELECT setting, before_mean, min(id) FROM baselines WHERE before_mean > 0 GROUP BY setting", err);
    int rc = q ? 1 : -1;
    while (rc == 1) {
        rc = database_step(&d->db, q, err);
        for (size_t i = 0; rc == 1 && i < d->n_problems; i++)
            if (d->problems[i].setting == sqlite3_column_int64(q, 0) && d->problems[i].baseline_ns <= 0)
                d->problems[i].baseline_ns = sqlite3_column_double(q, 1);
    }
    (void)sqlite3_finalize(q);
    return rc;
}

int report_problems_load(struct report_data *d, struct pkb_error *err)
{
    d->problems = calloc((size_t)d->cells.n_settings + 1, sizeof(*d->problems));
    if (!d->problems)
        return pkb_error_set(err, "out of memory for %d problems", d->cells.n_settings);
    return read_cells(d, err) < 0 ? -1 : read_baselines(d, err);
}

void report_problems_clear(struct report_data *d)
{
    for (size_t i = 0; i < d->n_problems; i++) {
        struct report_problem *p = &d->problems[i];
        for (int k = 0; p->marks && k < d->n_models; k++)
            free(p->marks[k]);
        free(p->marks);
    }
    free(d->problems);
    d->problems = NULL;
    d->n_problems = 0;
}
