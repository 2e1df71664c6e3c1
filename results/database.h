/* SPDX-License-Identifier: Apache-2.0 */
/* The few things that we want of SQLite, with our errors. */
#ifndef PKB_RESULTS_DATABASE_H
#define PKB_RESULTS_DATABASE_H

#include <sqlite3.h>
#include <stdint.h>

#include "util/error.h"

struct database {
    sqlite3 *handle;
    char *path;
};

/* A new database for one bulk load: no journal, nothing synced; whoever is interrupted throws the file away. */
int database_create(struct database *db, const char *path, struct pkb_error *err);

/* An existing one, read only. */
int database_open(struct database *db, const char *path, struct pkb_error *err);

/* An existing one, to be changed in transactions; waits up to five seconds for others. */
int database_open_writable(struct database *db, const char *path, struct pkb_error *err);
void database_close(struct database *db);

/* "PATH: what SQLite says"; -1. */
int database_error(const struct database *db, struct pkb_error *err);

/* Statements without results. */
int database_exec(struct database *db, const char *sql, struct pkb_error *err);

/* One statement, to be finalized by the caller with sqlite3_finalize. */
sqlite3_stmt *database_prepare(struct database *db, const char *sql, struct pkb_error *err);

/* Runs an INSERT once, with the values that a format letter each describes, and readies it for the next row:
 *     i int64_t   z int64_t, NULL where it is 0   d double   r double, NULL where it is 0   t const char *, NULL allowed */
int database_insert(struct database *db, sqlite3_stmt *insert, struct pkb_error *err, const char *format, ...);

/* Next row of a query: 1: there is one; 0: no more; -1. */
int database_step(struct database *db, sqlite3_stmt *query, struct pkb_error *err);

/* A column's text, "" for NULL; borrowed until the next step. */
const char *database_text(sqlite3_stmt *query, int column);

/* The single integer that a query gives. */
int database_integer(struct database *db, const char *sql, int64_t *value, struct pkb_error *err);

#endif
