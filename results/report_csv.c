/* SPDX-License-Identifier: Apache-2.0 */
/* The report as CSV (RFC 4180, with plain newlines). Column names are stable: they are only ever added, at the end. */
#include <string.h>

#include "results/report_sheets.h"

static void put_at_k(FILE *out, const struct metrics_at_k *m)
{
    double e = metrics_estimate(m);
    (void)fprintf(out, ",%lld,%lld,%lld,%lld,", (long long)m->solved, (long long)m->failed, (long long)m->undecided,
                  (long long)m->absent);
    if (e >= 0)
        (void)fprintf(out, "%.9g", e);
    (void)fprintf(out, ",%lld,%lld", (long long)m->counted, (long long)m->short_of_k);
}

static void put_groups(const struct report_data *d, const struct report_groups *g, const char *by, FILE *out)
{
    for (size_t i = 0; i < g->n; i++)
        for (int k = 1; k <= d->k_max; k++) {
            const struct metrics *m = &g->items[i].metrics;
            sheet_escape_csv(out, d->models[g->items[i].model]);
            (void)fprintf(out, ",%s,", by);
            sheet_escape_csv(out, g->items[i].key);
            (void)fprintf(out, ",%g,%d,%lld,%lld,%lld,%lld,%lld,%lld,%lld", d->p, k, (long long)m->tasks, (long long)m->samples,
                          (long long)m->cells, (long long)m->missing, (long long)m->outcome[OUTCOME_INFRA_ERROR],
                          (long long)m->outcome[OUTCOME_NOT_RUN], (long long)m->untimed);
            put_at_k(out, &m->pass[k - 1]);
            put_at_k(out, &m->fast[k - 1]);
            (void)fputc('\n', out);
        }
}

static int csv_metrics(const struct report_data *d, FILE *out)
{
    (void)fputs("model,by,part,p,k,tasks,samples,cells,missing,infra_error,not_run,untimed,"
                "pass_solved,pass_failed,pass_undecided,pass_absent,pass_estimate,pass_counted,pass_short,"
                "fast_solved,fast_failed,fast_undecided,fast_absent,fast_estimate,fast_counted,fast_short\n",
                out);
    put_groups(d, &d->total, "", out);
    put_groups(d, &d->parts, report_by_name(d->by), out);
    return 0;
}

static void put_positive(FILE *out, double value)
{
    if (value > 0)
        (void)fprintf(out, ",%.9g", value);
    else
        (void)fputc(',', out);
}

static int csv_problems(const struct report_data *d, FILE *out)
{
    (void)fputs("problem,world,dtype,shape,baseline_ns,best_model,best_sample,best_time_ns,best_speedup,model,marks\n", out);
    for (size_t i = 0; i < d->n_problems; i++)
        for (int m = 0; m < d->n_models; m++) {
            const struct report_problem *p = &d->problems[i];
            if (!p->marks[m])
                continue;
            sheet_escape_csv(out, p->name);
            (void)fprintf(out, ",%d,%s,", p->world, p->dtype);
            sheet_escape_csv(out, p->shape);
            put_positive(out, p->baseline_ns);
            (void)fputc(',', out);
            if (p->best_model >= 0) {
                sheet_escape_csv(out, d->models[p->best_model]);
                (void)fprintf(out, ",%d", p->best_sample);
            } else {
                (void)fputc(',', out);
            }
            put_positive(out, p->best_ns);
            put_positive(out, p->best_speedup);
            (void)fputc(',', out);
            sheet_escape_csv(out, d->models[m]);
            (void)fprintf(out, ",%s\n", p->marks[m]);
        }
    return 0;
}

/* One row. There may be a million of them: characters are copied without taking the stream's lock for each. */
static void put_row(FILE *out, sqlite3_stmt *q, int n)
{
    for (int i = 0; i < n; i++) {
        const char *text = (const char *)sqlite3_column_text(q, i);
        size_t size = (size_t)sqlite3_column_bytes(q, i);
        if (i > 0)
            (void)fputc_unlocked(',', out);
        if (text && sqlite3_column_type(q, i) == SQLITE_TEXT && strpbrk(text, ",\"\r\n"))
            sheet_escape_csv(out, text);
        else if (text)
            (void)fwrite_unlocked(text, 1, size, out);
    }
    (void)fputc_unlocked('\n', out);
}

int report_csv_cells(struct report_data *d, FILE *out, struct pkb_error *err)
{
    static const char columns[] =
        "cell,digest,problem,problem_id,family,model,sample,world,dtype,shape,device,state,outcome,detail,rank,"
        "speedup,baseline_ns,time_ns,shared,records,infra_errors";
    char sql[512];
    (void)snprintf(sql, sizeof(sql), "SELECT %s FROM results ORDER BY cell", columns);
    sqlite3_stmt *q = database_prepare(&d->db, sql, err);
    int rc = q ? 1 : -1, n = q ? sqlite3_column_count(q) : 0;
    (void)fprintf(out, "%s\n", columns);
    while (rc == 1) {
        rc = database_step(&d->db, q, err);
        if (rc == 1)
            put_row(out, q, n);
    }
    (void)sqlite3_finalize(q);
    return rc;
}

const char *const report_csv_tables[] = {"metrics",   "problems", "cells",       "paper",     "models",        "parts",
                                         "estimates", "speedups", "curves",      "scaling",   "utilisation",   "new",
                                         "families",  "outcomes", "not_counted", "published", "change_models", "changes"};
const int report_csv_table_count = (int)(sizeof(report_csv_tables) / sizeof(report_csv_tables[0]));

int report_csv(struct report_data *d, const struct report_sheets *s, const char *table, FILE *out, struct pkb_error *err)
{
    if (!table || strcmp(table, "metrics") == 0)
        return csv_metrics(d, out);
    if (strcmp(table, "problems") == 0)
        return csv_problems(d, out);
    if (strcmp(table, "cells") == 0)
        return report_csv_cells(d, out, err);
    const struct sheet *sheet = report_sheets_find(s, table);
    if (!sheet)
        return pkb_error_set(err, "this run has no table '%s' (%s)", table,
                             strncmp(table, "change", 6) == 0 || strcmp(table, "published") == 0 ? "it needs --compare"
                                                                                                 : "it would have no rows");
    return sheet_print_csv(sheet, out, err);
}
