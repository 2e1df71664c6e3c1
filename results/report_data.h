/* SPDX-License-Identifier: Apache-2.0 */
/* What a report shows, read from results.db; shared by the report_*.c files. */
#ifndef PKB_RESULTS_REPORT_DATA_H
#define PKB_RESULTS_REPORT_DATA_H

#include <jansson.h>

#include "results/database.h"
#include "results/interval.h"
#include "results/merge.h"
#include "results/metrics.h"
#include "results/report.h"
#include "results/report_cells.h"

#define NOTE_EXAMPLES 3

/* Figures of a model, or of a part of its tasks. */
struct report_group {
    int model; /* number in report_data.models */
    char *key; /* the world size, family, ...; "" for all */
    struct metrics metrics;
    struct interval *pass_interval, *fast_interval; /* [k - 1]: of the estimates */
};

struct report_groups {
    struct report_group *items;
    size_t n;
};

/* One setting: a problem at one world size, dtype and shape. */
struct report_problem {
    int64_t setting;
    const char *name, *dtype, *shape; /* of report_data.cells */
    int world;
    double baseline_ns; /* 0: not measured */
    int best_model;     /* of the fastest correct candidate; -1: none */
    int best_sample;
    double best_ns, best_speedup; /* 0: not measured */
    char **marks;                 /* per model: one mark (report_mark) per sample in order; NULL: no cells */
};

/* Something that no figure counts: how often, examples, and what to do about it. */
struct report_note {
    const char *kind; /* "missing", ...: stable, for JSON */
    int64_t count;
    const char *what; /* "cells without a record" */
    char *advice;     /* what to do about it */
    char *examples[NOTE_EXAMPLES];
    int n_examples;
};

struct report_data {
    const char *run;
    struct database db;
    struct merge_summary summary;
    char *name;        /* of the sweep, or "" */
    char *environment; /* variables that change what is measured (util/tuning.h), or "" */
    struct report_cells cells;
    char **models; /* those of the cells */
    int n_models;
    int64_t n_problems_named; /* problems that have cells */
    int n_worlds, n_dtypes, n_shapes;
    int64_t most_samples; /* of a task */
    int k_max;
    double p;
    enum report_by by;
    const struct report_machine *machine; /* the options' */
    struct bootstrap *bootstrap;
    struct report_groups total, parts; /* per model; per model and key */
    struct report_groups families;     /* per model and family */
    struct report_problem *problems;
    size_t n_problems;
    struct report_note *notes;
    size_t n_notes;
};

int report_data_load(struct report_data *d, const char *run, const struct report_options *o, struct pkb_error *err);
void report_data_clear(struct report_data *d);

/* Parts of loading. */
int report_groups_load(const struct report_data *d, struct report_groups *g, enum report_by by, struct pkb_error *err);
void report_groups_clear(struct report_groups *g);
int report_problems_load(struct report_data *d, struct pkb_error *err);
void report_problems_clear(struct report_data *d);
int report_notes_load(struct report_data *d, struct pkb_error *err);
void report_notes_clear(struct report_data *d);

/* "world", "family", ... */
const char *report_by_name(enum report_by by);

/* Whether tasks are problems: one setting per problem. */
bool report_tasks_are_problems(const struct report_data *d);

/* A cell as one character, and what marks mean. */
#define MARK_FAST '+'
#define MARK_SLOW '='
#define MARK_UNTIMED '~'
#define MARK_MISSING '.'
char report_mark(const struct metrics_sample *s, double p);
char report_outcome_mark(enum outcome o);

/* "45.1 us"; "-" for 0. */
void report_format_ns(double ns, char *text, size_t size);

/* Parts of the text report: its first lines, counts and estimates, outcomes and problems, what is not counted. */
void report_text_head(const struct report_data *d, FILE *out, bool colour);
int report_text_metrics(const struct report_data *d, FILE *out, bool colour, struct pkb_error *err);
int report_text_problems(const struct report_data *d, FILE *out, bool colour, bool with_problems, struct pkb_error *err);
void report_text_notes(const struct report_data *d, FILE *out, bool colour);

struct report_sheets;
int report_json(const struct report_data *d, const struct report_sheets *s, FILE *out, struct pkb_error *err);
int report_csv_cells(struct report_data *d, FILE *out, struct pkb_error *err);
int report_csv(struct report_data *d, const struct report_sheets *s, const char *table, FILE *out, struct pkb_error *err);

#endif
