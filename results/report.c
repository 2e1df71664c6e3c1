/* SPDX-License-Identifier: Apache-2.0 */
#include "results/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/report_compare.h"
#include "results/report_sheets.h"
#include "util/file.h"

#define SUMMARY_PROBLEMS 120
#define TEXT_ROWS 20

bool report_wants_colour(FILE *out)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no && no[0])
        return false;
    return isatty(fileno(out)) && term && strcmp(term, "dumb") != 0;
}

static int merge_if_stale(const char *run, struct pkb_error *err)
{
    bool stale = true;
    if (merge_is_stale(run, &stale, err) < 0)
        return -1;
    return stale ? merge_run(run, NULL, err) : 0;
}

/* Tables that the text report does not lay out itself. */
static int print_sheets(const struct report_sheets *s, FILE *out, const struct report_options *o, bool all, struct pkb_error *err)
{
    static const char *const names[] = {"speedups", "published", "change_models", "changes", "utilisation", "scaling", "new"};
    size_t n = all ? sizeof(names) / sizeof(names[0]) : 1;
    for (size_t i = 0; i < n; i++) {
        const struct sheet *sheet = report_sheets_find(s, names[i]);
        if (sheet && sheet_print_text(sheet, out, o->colour, TEXT_ROWS, err) < 0)
            return -1;
    }
    return 0;
}

static int print_text(struct report_data *d, const struct report_sheets *s, FILE *out, const struct report_options *o,
                      bool summary, struct pkb_error *err)
{
    bool with_problems = !summary || d->n_problems <= SUMMARY_PROBLEMS;
    report_text_head(d, out, o->colour);
    if (d->n_models > 0 && report_text_metrics(d, out, o->colour, err) < 0)
        return -1;
    if (d->n_models > 0 && print_sheets(s, out, o, !summary, err) < 0)
        return -1;
    if (d->n_models > 0 && report_text_problems(d, out, o->colour, with_problems, err) < 0)
        return -1;
    report_text_notes(d, out, o->colour);
    return 0;
}

static int print(struct report_data *d, const struct report_sheets *s, FILE *out, const struct report_options *o, bool summary,
                 struct pkb_error *err)
{
    switch (o->format) {
    case REPORT_TEXT:
        return print_text(d, s, out, o, summary, err);
    case REPORT_JSON:
        return report_json(d, s, out, err);
    case REPORT_CSV:
        return report_csv(d, s, o->csv, out, err);
    case REPORT_MARKDOWN:
        return report_markdown(d, s, out, err);
    case REPORT_LATEX:
        return report_latex(d, s, out, err);
    case REPORT_HTML:
        return report_html(d, s, out, err);
    }
    return pkb_error_set(err, "unknown format");
}

static int compare_runs(const struct report_data *d, const struct report_options *o, struct report_sheets *s,
                        struct pkb_error *err)
{
    struct report_data old;
    if (merge_if_stale(o->compare, err) < 0 || report_data_load(&old, o->compare, o, err) < 0)
        return pkb_error_prefix(err, "the run to compare with, %s", o->compare);
    int rc = report_compare_runs(d, &old, s, err);
    report_data_clear(&old);
    return rc;
}

static int make_sheets(const struct report_data *d, const struct report_options *o, struct report_sheets *s,
                       struct pkb_error *err)
{
    int rc = report_sheets_make(d, s, err);
    if (rc == 0 && o->compare)
        rc = strcmp(o->compare, "published") == 0 ? report_compare_published(d, s, err) : compare_runs(d, o, s, err);
    return rc;
}

/* All cells, straight from the database: nothing else of the report is needed for them. */
static int report_cells(const char *run, FILE *out, bool *complete, struct pkb_error *err)
{
    struct report_data d = {.run = run};
    char *path = pkb_format(err, "%s/results.db", run);
    int rc = path ? merge_summary_read(run, &d.summary, err) : -1;
    if (rc == 0)
        rc = database_open(&d.db, path, err);
    if (rc == 0)
        rc = report_csv_cells(&d, out, err);
    if (rc == 0 && (fflush(out) == EOF || ferror(out)))
        rc = pkb_error_errno(err, "the report cannot be written");
    if (complete)
        *complete = d.summary.done == d.summary.cells;
    database_close(&d.db);
    free(path);
    return rc;
}

static int report(const char *run, FILE *out, const struct report_options *o, bool summary, bool *complete, struct pkb_error *err)
{
    struct report_data d;
    struct report_sheets s = {.n = 0};
    if (merge_if_stale(run, err) < 0)
        return -1;
    if (o->format == REPORT_CSV && o->csv && strcmp(o->csv, "cells") == 0)
        return report_cells(run, out, complete, err);
    if (report_data_load(&d, run, o, err) < 0)
        return -1;
    if (complete)
        *complete = d.summary.done == d.summary.cells;
    int rc = make_sheets(&d, o, &s, err);
    if (rc == 0)
        rc = print(&d, &s, out, o, summary, err);
    if (rc == 0 && (fflush(out) == EOF || ferror(out)))
        rc = pkb_error_errno(err, "the report cannot be written");
    report_sheets_clear(&s);
    report_data_clear(&d);
    return rc;
}

int report_print(const char *run, FILE *out, const struct report_options *o, bool *complete, struct pkb_error *err)
{
    return report(run, out, o, false, complete, err);
}

int report_print_summary(const char *run, FILE *out, const struct report_options *o, struct pkb_error *err)
{
    return report(run, out, o, true, NULL, err);
}
