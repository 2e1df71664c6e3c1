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
    struct record_start done;       /* of it: complete lines so far */
    struct pkb_error *err;
};

/* What the plan says: settings, candidates, skips, and the indexes (merge_plan.c). */
int merge_plan_load(struct merge *m, struct pkb_error *err);

/* All record files, in order (merge_lines.c). */
int merge_lines_load(struct merge *m, const struct record_files *files, struct pkb_error *err);

/* Shared with merge_update.c: a problem found in m->file, a line's row in a table, the row of a file that was read. */
int merge_add_problem(struct merge *m, int64_t line, const char *kind, const char *reason);
int merge_add_attempt(struct merge *m, int64_t cell, const struct record_line *line, const struct record *r, bool duplicate);
int merge_add_baseline(struct merge *m, int64_t setting, const struct record_line *line, const struct record_baseline *b);
int merge_add_file(struct merge *m, int64_t bytes);
void merge_count_line(struct merge *m, const struct record_scan *scan);

/* What a reader was told of the end of a file's complete lines: SHA-256 of the last 4 KiB before `offset`, "" for none. -1: it
 * cannot be read. */
int merge_file_tail(const char *run, const char *name, int64_t offset, char hex[PKB_DIGEST_HEX], struct pkb_error *err);

/* A word for the plan of a run, "" where it has none on disk: SHA-256 of plan/shards, which holds digests of all cells. */
int merge_plan_word(const char *run, char hex[PKB_DIGEST_HEX], struct pkb_error *err);

/* Brings RUN/results.db up to date by what was appended to RUN/records/ since. 1: done, m->summary is the new one; 0: this takes a
 * whole merge (nothing was changed); never fails otherwise (merge_update.c). */
int merge_update(struct merge *m, const struct record_files *files);

/* One row per planned cell, after all records (merge_cells.c). */
int merge_cells_write(struct merge *m, struct pkb_error *err);

/* The table `run` (merge_summary.c). */
int merge_summary_write(struct merge *m, struct pkb_error *err);

#endif
