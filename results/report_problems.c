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

static struct report_problem *start_problem(struct report_data *d, sqlite3_stmt *q, struct pkb_error *err)
{
    struct report_problem *items = reallocarray(d->problems, d->n_problems + 1, sizeof(*items));
    if (items)
        d->problems = items;
    struct report_problem *p = items ? &items[d->n_problems] : NULL;
    if (p)
        *p = (struct report_problem){
            .setting = sqlite3_column_int64(q, 0),
            .name = strdup(database_text(q, 1)),
            .world = sqlite3_column_int(q, 2),
            .dtype = strdup(database_text(q, 3)),
            .shape = strdup(database_text(q, 4)),
            .best_model = -1,
            .marks = calloc((size_t)d->n_models, sizeof(char *)),
        };
    d->n_problems += p != NULL;
    if (p && p->name && p->dtype && p->shape && p->marks)
        return p;
    pkb_error_set(err, "out of memory for %zu problems", d->n_problems);
    return NULL;
}

static int add_mark(char **marks, char mark, struct pkb_error *err)
{
    size_t n = *marks ? strlen(*marks) : 0;
    char *longer = realloc(*marks, n + 2);
    if (!longer)
        return pkb_error_set(err, "out of memory");
    longer[n] = mark;
    longer[n + 1] = '\0';
    *marks = longer;
    return 0;
}

/* Timed candidates by speedup; a correct one without times is better than none. */
static bool is_better(const struct report_problem *p, const struct metrics_sample *s)
{
    if (s->outcome != OUTCOME_CORRECT)
        return false;
    return p->best_model < 0 || (s->timed && s->speedup > p->best_speedup);
}

static int add_cell(struct report_data *d, struct report_problem *p, sqlite3_stmt *q, struct pkb_error *err)
{
    int model = report_model(d, database_text(q, 5));
    struct metrics_sample s = {
        .number = sqlite3_column_int(q, 6),
        .outcome = report_outcome(database_text(q, 7), database_text(q, 8)),
        .timed = sqlite3_column_type(q, 9) != SQLITE_NULL,
        .speedup = sqlite3_column_double(q, 9),
    };
    double time = sqlite3_column_double(q, 10), baseline = sqlite3_column_double(q, 11);
    if (model < 0)
        return pkb_error_set(err, "%s: a cell has a model that no candidate has", d->db.path);
    if (p->baseline_ns <= 0)
        p->baseline_ns = baseline;
    if (is_better(p, &s)) {
        p->best_model = model;
        p->best_sample = s.number;
        p->best_ns = time;
        p->best_speedup = s.timed ? s.speedup : 0;
        /* So that the line's three figures agree with each other. */
        p->baseline_ns = s.timed ? baseline : p->baseline_ns;
    }
    return add_mark(&p->marks[model], report_mark(&s, d->p), err);
}

static int read_cells(struct report_data *d, sqlite3_stmt *q, struct pkb_error *err)
{
    struct report_problem *p = NULL;
    int rc = 1;
    while (rc == 1) {
        rc = database_step(&d->db, q, err);
        if (rc != 1)
            break;
        if (!p || p->setting != sqlite3_column_int64(q, 0))
            p = start_problem(d, q, err);
        if (!p || add_cell(d, p, q, err) < 0)
            rc = -1;
    }
    return rc;
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
    sqlite3_stmt *q =
        database_prepare(&d->db,
                         "SELECT c.setting, s.problem, s.world, s.dtype, s.shape, k.model, k.sample, c.state, a.outcome,"
                         " a.speedup, a.time_mean, a.baseline_mean FROM cells c JOIN settings s ON s.id = c.setting"
                         " JOIN candidates k ON k.id = c.candidate LEFT JOIN attempts a ON a.id = c.result"
                         " ORDER BY s.problem_id, s.world, s.dtype, s.shape, s.id, k.model, k.sample, c.id",
                         err);
    int rc = q ? read_cells(d, q, err) : -1;
    (void)sqlite3_finalize(q);
    return rc < 0 ? -1 : read_baselines(d, err);
}

void report_problems_clear(struct report_data *d)
{
    for (size_t i = 0; i < d->n_problems; i++) {
        struct report_problem *p = &d->problems[i];
        for (int k = 0; p->marks && k < d->n_models; k++)
            free(p->marks[k]);
        free(p->marks);
        free(p->name);
        free(p->dtype);
        free(p->shape);
    }
    free(d->problems);
    d->problems = NULL;
    d->n_problems = 0;
}
