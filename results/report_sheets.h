/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a report as sheets, in the order in which documents show them. */
#ifndef PKB_RESULTS_REPORT_SHEETS_H
#define PKB_RESULTS_REPORT_SHEETS_H

#include "results/analysis.h"
#include "results/report_data.h"
#include "results/sheet.h"

#define SHEETS_MAX 16

struct report_sheets {
    struct sheet *items[SHEETS_MAX];
    int n;
};

/* All of them; those that say nothing about this run (scaling with one world size, ...) are left out. */
int report_sheets_make(const struct report_data *d, struct report_sheets *s, struct pkb_error *err);
void report_sheets_clear(struct report_sheets *s);

/* By name; NULL: this run has none. */
const struct sheet *report_sheets_find(const struct report_sheets *s, const char *name);

/* Adds a sheet, which belongs to `s` from then on. -1 when it could not be filled. */
int report_sheets_add(struct report_sheets *s, struct sheet *sheet, struct pkb_error *err);

/* One per file report_sheet_*.c. */
struct sheet *report_sheet_paper(const struct report_data *d);
struct sheet *report_sheet_metrics(const struct report_data *d, const struct report_groups *g, const char *name);
struct sheet *report_sheet_intervals(const struct report_data *d);
struct sheet *report_sheet_families(const struct report_data *d);
struct sheet *report_sheet_outcomes(const struct report_data *d);
struct sheet *report_sheet_speeds(const struct report_data *d, const struct speeds *speeds);
struct sheet *report_sheet_curves(const struct report_data *d, const struct curve *curves);
struct sheet *report_sheet_scaling(const struct report_data *d, const struct scaling *rows, size_t n);
struct sheet *report_sheet_new(const struct report_data *d, const struct new_kernel *rows, size_t n);
struct sheet *report_sheet_utilisation(const struct report_data *d); /* NULL also when memory runs out */
struct sheet *report_sheet_problems(const struct report_data *d);
struct sheet *report_sheet_notes(const struct report_data *d);

/* Whole reports. */
int report_html(const struct report_data *d, const struct report_sheets *s, FILE *out, struct pkb_error *err);
int report_markdown(const struct report_data *d, const struct report_sheets *s, FILE *out, struct pkb_error *err);
int report_latex(const struct report_data *d, const struct report_sheets *s, FILE *out, struct pkb_error *err);

/* Beside every figure: planned cells without a result, and those of them that are infra errors. */
void report_open_columns(struct sheet *s);
void report_open_values(struct sheet *s, const struct metrics *m);

/* Which problem on how many ranks, with a dtype and a shape where the run has several; and of which cell. */
void report_setting_columns(struct sheet *s, const struct report_data *d);
void report_cell_columns(struct sheet *s, const struct report_data *d);
void report_cell_values(struct sheet *s, const struct report_data *d, int setting, int model, int sample);

#endif
