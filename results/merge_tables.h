/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of results.db and the statements that fill them. */
#ifndef PKB_RESULTS_MERGE_TABLES_H
#define PKB_RESULTS_MERGE_TABLES_H

#include "results/database.h"

enum merge_table {
    TABLE_RUN,
    TABLE_SETTINGS,
    TABLE_CANDIDATES,
    TABLE_SKIPS,
    TABLE_FILES,
    TABLE_CELLS,
    TABLE_ATTEMPTS,
    TABLE_BASELINES,
    TABLE_PROBLEMS_FOUND,
    TABLE_COUNT
};

/* Creates the tables in an empty database. */
int merge_tables_create(struct database *db, struct pkb_error *err);

/* An INSERT of all columns of a table, in the order of its definition. */
sqlite3_stmt *merge_tables_insert(struct database *db, enum merge_table table, struct pkb_error *err);

/* Indexes and views, once the tables are filled. */
int merge_tables_finish(struct database *db, struct pkb_error *err);

#endif
