/* SPDX-License-Identifier: Apache-2.0 */
/* All cells of a run in memory, about 90 bytes each, in the order of problem, world size, dtype, shape, model, sample: what every
 * table of a report is computed from, so that a report reads the database once.
 */
#ifndef PKB_RESULTS_REPORT_CELLS_H
#define PKB_RESULTS_REPORT_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "results/database.h"
#include "results/metrics.h"

/* A problem at one world size, dtype, shape, ... that has cells. */
struct report_setting {
    int64_t id; /* in the database */
    char *name, *family, *dtype, *shape, *digest;
    int problem_id, world;
    int problem; /* number among the distinct problems, in their order */
};

struct report_cell {
    int setting; /* number in report_cells.settings */
    int model;   /* number in report_cells.models */
    int id;      /* in the plan */
    int nodes;   /* of the result; 0: none */
    struct metrics_sample sample;
    double time_ns, baseline_ns;    /* 0: not measured */
    double bound_ns;                /* 0: not known; then the next two are "" */
    const char *resource, *verdict; /* constants, as in struct report_bound */
};

struct report_cells {
    char **models; /* sorted */
    int n_models;
    struct report_setting *settings; /* sorted */
    int n_settings;
    int n_problems; /* distinct */
    struct report_cell *cells;
    size_t n;
};

int report_cells_load(struct report_cells *c, struct database *db, struct pkb_error *err);
void report_cells_clear(struct report_cells *c);

/* Number of a model by name, -1: none. */
int report_cells_model(const struct report_cells *c, const char *name);

/* One past the last cell of the task (same setting and model) that starts at `first`. */
size_t report_cells_task(const struct report_cells *c, size_t first);

/* The samples of a task as `out`, which grows as needed and is for the caller to free. */
struct report_samples {
    struct metrics_sample *items;
    size_t capacity;
};
int report_cells_samples(const struct report_cells *c, size_t first, size_t end, struct report_samples *out,
                         struct pkb_error *err);

#endif
