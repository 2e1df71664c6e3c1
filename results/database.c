/* SPDX-License-Identifier: Apache-2.0 */
#include "results/database.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_MS 5000

int database_error(const struct database *db, struct pkb_error *err)
{
    return pkb_error_set(err, "%s: %s", db->path, db->handle ? sqlite3_errmsg(db->handle) : "out of memory");
}

static int open_with(struct database *db, const char *path, int flags, struct pkb_error *err)
{
    memset(db, 0, sizeof(*db));
    db->path = strdup(path);
    if (!db->path)
        return pkb_error_set(err, "%s: out of memory", path);
    /* One thread at a time uses a database. */
    if (sqlite3_open_v2(path, &db->handle, flags | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK)
        return 0;
    (void)database_error(db, err);
    database_close(db);
    return -1;
}

int database_create(struct database *db, const char *path, struct pkb_error *err)
{
    if (open_with(db, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err) < 0)
        return -1;
    if (database_exec(db,
                      "PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                      "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -65536; PRAGMA temp_store = FILE;",
                      err) == 0)
        return 0;
    database_close(db);
    return -1;
}

int database_open(struct database *db, const char *path, struct pkb_error *err)
{
    if (open_with(db, path, SQLITE_OPEN_READONLY, err) < 0)
        return -1;
    (void)sqlite3_busy_timeout(db->handle, BUSY_MS);
    return 0;
}

int database_open_writable(struct database *db, const char *path, struct pkb_error *err)
{
    if (open_with(db, path, SQLITE_OPEN_READWRITE, err) < 0)
        return -1;
    (void)sqlite3_busy_timeout(db->handle, BUSY_MS);
    return 0;
}

void database_close(struct database *db)
{
    if (!db)
        return;
    (void)sqlite3_close_v2(db->handle);
    free(db->path);
    memset(db, 0, sizeof(*db));
}

int database_exec(struct database *db, const char *sql, struct pkb_error *err)
{
    return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : database_error(db, err);
}

sqlite3_stmt *database_prepare(struct database *db, const char *sql, struct pkb_error *err)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK)
        (void)database_error(db, err);
    return statement;
}

static int bind_integer(sqlite3_stmt *insert, int column, int64_t value, bool null_if_zero)
{
    return null_if_zero && value == 0 ? sqlite3_bind_null(insert, column) : sqlite3_bind_int64(insert, column, value);
}

static int bind_real(sqlite3_stmt *insert, int column, double value, bool null_if_zero)
{
    return null_if_zero && value == 0 ? sqlite3_bind_null(insert, column) : sqlite3_bind_double(insert, column, value);
}

int database_insert(struct database *db, sqlite3_stmt *insert, struct pkb_error *err, const char *format, ...)
{
    int rc = SQLITE_OK;
    va_list ap;
    va_start(ap, format);
    for (int i = 0; format[i] && rc == SQLITE_OK; i++) {
        if (format[i] == 'i' || format[i] == 'z')
            rc = bind_integer(insert, i + 1, va_arg(ap, int64_t), format[i] == 'z');
        else if (format[i] == 'd' || format[i] == 'r')
            rc = bind_real(insert, i + 1, va_arg(ap, double), format[i] == 'r');
        else
            rc = sqlite3_bind_text(insert, i + 1, va_arg(ap, const char *), -1, SQLITE_STATIC);
    }
    va_end(ap);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(insert);
    if (rc != SQLITE_DONE)
        (void)database_error(db, err);
    (void)sqlite3_reset(insert);
    return rc == SQLITE_DONE ? 0 : -1;
}

int database_step(struct database *db, sqlite3_stmt *query, struct pkb_error *err)
{
    int rc = sqlite3_step(query);
    if (rc == SQLITE_ROW)
        return 1;
    return rc == SQLITE_DONE ? 0 : database_error(db, err);
}

const char *database_text(sqlite3_stmt *query, int column)
{
    const char *text = (const char *)sqlite3_column_text(query, column);
    return text ? text : "";
}

int database_integer(struct database *db, const char *sql, int64_t *value, struct pkb_error *err)
{
    sqlite3_stmt *query = database_prepare(db, sql, err);
    if (!query)
        return -1;
    int rc = database_step(db, query, err);
    if (rc == 1)
        *value = sqlite3_column_int64(query, 0);
    else if (rc == 0)
        rc = pkb_error_set(err, "%s: no row for: %s", db->path, sql);
    (void)sqlite3_finalize(query);
    return rc == 1 ? 0 : -1;
}
