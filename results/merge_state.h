/* SPDX-License-Identifier: Apache-2.0 */
/* What a merge in progress knows; shared by the merge_*.c files. */
#ifndef PKB_RESULTS_MERGE_STATE_H
#define PKB_RESULTS_MERGE_STATE_H

#include "results/digest_index.h"
#include "results/merge.h"
#include "results/merge_tables.h"
#include "results/record_files.h"

/* Of one planned cell, 24 bytes: there may be millions. */
struct merge_cell {
    int64_t result;   /* row of attempts with its final record; 0: none */
    uint32_t records; /* of the cell itself */
    uint32_t infra_errors;
    uint8_t outcome; /* of the final record, or of the last one; OUTCOME_COUNT: no record */
};

struct merge {
    const char *run;
    const struct plan *plan;
    struct database db;
    sqlite3_stmt *insert[TABLE_COUNT];
    struct digest_index *cells, *settings;
    struct merge_cell *states; /* per cell of the plan */
    struct merge_summary summary;
    const struct record_file *file; /* being read */
    int64_t file_id;
    int64_t n_attempts, n_baselines, n_problems; /* rows so far */
    struct pkb_error *err;
};

/* What the plan says: settings, candidates, skips, and the indexes (merge_plan.c). */
int merge_plan_load(struct merge *m, struct pkb_error *err);

/* All record files, in order (merge_lines.c). */
int merge_lines_load(struct merge *m, const struct record_files *files, struct pkb_error *err);

/* One row per planned cell, after all records (merge_cells.c). */
int merge_cells_write(struct merge *m, struct pkb_error *err);

/* The table `run` (merge_summary.c). */
int merge_summary_write(struct merge *m, struct pkb_error *err);

#endif
