/* SPDX-License-Identifier: Apache-2.0 */
/* Merge: RUN/plan and RUN/records/ -> RUN/results.db, a SQLite file that reports and people query (tables: docs/records.md).
 *
 * The database is a view: disposable, rebuilt at any time, also while the run is in progress, and put in place with one rename. Where
 * record files have only grown since, their new lines alone are read and added in one transaction; the contents are those that a
 * whole merge would give. Bad lines are never fatal and never dropped in silence: each becomes a row of problems_found.
 *
 * Where a cell has several final records, the first in the order (attempt, shard, line) counts; later ones are marked as
 * duplicates. Cells whose candidates have the same source have the same digest: each takes the first record of its own model and
 * sample, and where there is none, the first one with its digest.
 */
#ifndef PKB_RESULTS_MERGE_H
#define PKB_RESULTS_MERGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "results/record_scan.h"
#include "sweeps/plan.h"
#include "util/error.h"

#define MERGE_SCHEMA 2

struct merge_summary {
    int64_t cells;                          /* planned; the sum of the next four */
    int64_t done;                           /* with a final record */
    int64_t infra_error, not_run;           /* whose last record says so, without a final one */
    int64_t missing;                        /* without any record */
    int64_t shared;                         /* of done: took the result of a cell with the same source */
    int64_t files, lines;                   /* read */
    int64_t cell_records, baseline_records; /* accepted */
    int64_t duplicates;                     /* final records of cells that had one */
    int64_t disagreeing;                    /* of them: with another outcome than the one that counts */
    int64_t torn, malformed, schema;        /* lines */
    int64_t foreign;                        /* lines of cells that are not in the plan, files that are no files of records */
    int64_t unreadable;                     /* files */
};

/* Builds RUN/results.db, or brings it up to date. `s` may be NULL. On failure (no plan, disk full, ...) an older results.db stays. */
int merge_run(const char *run, struct merge_summary *s, struct pkb_error *err);

/* The same, but always as a whole. */
int merge_run_whole(const char *run, struct merge_summary *s, struct pkb_error *err);

/* The same with a plan that the caller has. */
int merge_run_plan(const char *run, const struct plan *plan, struct merge_summary *s, struct pkb_error *err);

/* Whether RUN/results.db is missing, of another schema, or does not hold what RUN/records/ has by now. */
int merge_is_stale(const char *run, bool *stale, struct pkb_error *err);

/* The summary of the RUN/results.db that there is. */
int merge_summary_read(const char *run, struct merge_summary *s, struct pkb_error *err);

/* As an object with a member per count (new reference; NULL when memory runs out). */
json_t *merge_summary_json(const struct merge_summary *s);

#endif
