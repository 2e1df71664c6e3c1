/* SPDX-License-Identifier: Apache-2.0 */
#include "results/report_sheets.h"

#include <stdlib.h>
#include <string.h>

int report_sheets_add(struct report_sheets *s, struct sheet *sheet, struct pkb_error *err)
{
    if (s->n == SHEETS_MAX) {
        sheet_destroy(sheet);
        return pkb_error_set(err, "a report has at most %d tables", SHEETS_MAX);
    }
    if (sheet)
        s->items[s->n++] = sheet;
    return sheet_check(sheet, err);
}

/* Like report_sheets_add, but a sheet without rows is left out. */
static int add_filled(struct report_sheets *s, struct sheet *sheet, struct pkb_error *err)
{
    if (sheet && !sheet->failed && sheet_rows(sheet) == 0) {
        sheet_destroy(sheet);
        return 0;
    }
    return report_sheets_add(s, sheet, err);
}

static int add_analyses(const struct report_data *d, struct report_sheets *s, struct pkb_error *err)
{
    struct scaling *scaling = NULL;
    struct new_kernel *kernels = NULL;
    size_t n_scaling = 0, n_kernels = 0;
    struct speeds *speeds = analysis_speeds(d, err);
    struct curve *curves = speeds ? analysis_curves(d, err) : NULL;
    int rc = curves ? analysis_scaling(d, &scaling, &n_scaling, err) : -1;
    if (rc == 0)
        rc = analysis_new(d, &kernels, &n_kernels, err);
    if (rc == 0)
        rc = add_filled(s, report_sheet_speeds(d, speeds), err);
    if (rc == 0)
        rc = add_filled(s, report_sheet_curves(d, curves), err);
    if (rc == 0)
        rc = add_filled(s, report_sheet_scaling(d, scaling, n_scaling), err);
    if (rc == 0 && d->machine)
        rc = add_filled(s, report_sheet_utilisation(d), err);
    if (rc == 0)
        rc = add_filled(s, report_sheet_new(d, kernels, n_kernels), err);
    free(speeds);
    free(curves);
    free(scaling);
    free(kernels);
    return rc;
}

int report_sheets_make(const struct report_data *d, struct report_sheets *s, struct pkb_error *err)
{
    memset(s, 0, sizeof(*s));
    int rc = add_filled(s, report_sheet_paper(d), err);
    if (rc == 0)
        rc = add_filled(s, report_sheet_metrics(d, &d->total, "models"), err);
    if (rc == 0)
        rc = add_filled(s, report_sheet_metrics(d, &d->parts, "parts"), err);
    if (rc == 0)
        rc = add_filled(s, report_sheet_intervals(d), err);
    if (rc == 0)
        rc = add_analyses(d, s, err);
    if (rc == 0)
        rc = add_filled(s, report_sheet_families(d), err);
    if (rc == 0)
        rc = add_filled(s, report_sheet_outcomes(d), err);
    if (rc == 0)
        rc = add_filled(s, report_sheet_problems(d), err);
    if (rc == 0)
        rc = add_filled(s, report_sheet_notes(d), err);
    if (rc < 0)
        report_sheets_clear(s);
    return rc;
}

void report_sheets_clear(struct report_sheets *s)
{
    for (int i = 0; i < s->n; i++)
        sheet_destroy(s->items[i]);
    memset(s, 0, sizeof(*s));
}

const struct sheet *report_sheets_find(const struct report_sheets *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->items[i]->name, name) == 0)
            return s->items[i];
    return NULL;
}

void report_open_columns(struct sheet *s)
{
    sheet_column(s, "cells", "cells", SHEET_COUNT, SHEET_DATA);
    sheet_column(s, "missing", "missing", SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(s, "infra_error", "infra", SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(s, "untimed", "untimed", SHEET_COUNT, SHEET_DATA);
}

void report_open_values(struct sheet *s, const struct metrics *m)
{
    int64_t missing = m->missing + m->outcome[OUTCOME_NOT_RUN], infra = m->outcome[OUTCOME_INFRA_ERROR];
    sheet_number(s, TONE_NONE, (double)m->cells);
    sheet_number(s, missing ? TONE_BAD : TONE_FAINT, (double)missing);
    sheet_number(s, infra ? TONE_BAD : TONE_FAINT, (double)infra);
    sheet_number(s, TONE_NONE, (double)m->untimed);
}

void report_setting_columns(struct sheet *s, const struct report_data *d)
{
    sheet_column(s, "problem", "problem", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "world", "ranks", SHEET_COUNT, SHEET_EVERYWHERE);
    sheet_column(s, "dtype", "dtype", SHEET_TEXT, d->n_dtypes > 1 ? SHEET_EVERYWHERE : SHEET_DATA);
    sheet_column(s, "shape", "shape", SHEET_TEXT, d->n_shapes > 1 ? SHEET_EVERYWHERE : SHEET_DATA);
}

void report_cell_columns(struct sheet *s, const struct report_data *d)
{
    report_setting_columns(s, d);
    sheet_column(s, "model", "model", SHEET_TEXT, SHEET_EVERYWHERE);
    sheet_column(s, "sample", "sample", SHEET_COUNT, SHEET_EVERYWHERE);
}

void report_cell_values(struct sheet *s, const struct report_data *d, int setting, int model, int sample)
{
    const struct report_setting *x = &d->cells.settings[setting];
    sheet_text(s, TONE_NONE, "%s", x->name);
    sheet_number(s, TONE_NONE, x->world);
    sheet_text(s, TONE_NONE, "%s", x->dtype);
    sheet_text(s, TONE_NONE, "%s", x->shape);
    sheet_text(s, TONE_NONE, "%s", d->models[model]);
    sheet_number(s, TONE_NONE, sample);
}
