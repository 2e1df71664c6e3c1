/* SPDX-License-Identifier: Apache-2.0 */
/* Whether results.db holds what RUN/records/ has: by names and sizes, because files only grow, and clocks of shared filesystems
 * differ. */
#include <stdlib.h>
#include <string.h>

#include "results/database.h"
#include "results/merge.h"
#include "results/record_files.h"
#include "util/file.h"

/* 1: the rows of `files` are that list. */
static int same_files(struct database *db, const struct record_files *list, struct pkb_error *err)
{
    sqlite3_stmt *query = database_prepare(db, "SELECT name, bytes FROM files ORDER BY id", err);
    size_t i = 0;
    int rc = query ? 1 : -1;
    bool same = true;
    while (rc == 1 && same) {
        rc = database_step(db, query, err);
        if (rc != 1)
            break;
        same = i < list->n && strcmp(list->files[i].name, database_text(query, 0)) == 0 &&
               list->files[i].bytes == sqlite3_column_int64(query, 1);
        i++;
    }
    (void)sqlite3_finalize(query);
    return rc < 0 ? -1 : same && i == list->n;
}

/* 1: up to date; 0: not, or not readable (then it is rebuilt). */
static int is_current(const char *path, const struct record_files *list)
{
    struct database db;
    int64_t version = 0;
    if (!pkb_file_exists(path) || database_open(&db, path, NULL) < 0)
        return 0;
    int current = database_integer(&db, "PRAGMA user_version", &version, NULL) == 0 && version == MERGE_SCHEMA &&
                  same_files(&db, list, NULL) == 1;
    database_close(&db);
    return current;
}

int merge_is_stale(const char *run, bool *stale, struct pkb_error *err)
{
    struct record_files list;
    char *path = pkb_format(err, "%s/results.db", run);
    if (!path)
        return -1;
    int rc = record_files_list(run, &list, err);
    if (rc == 0) {
        *stale = !is_current(path, &list);
        record_files_destroy(&list);
    }
    free(path);
    return rc;
}
