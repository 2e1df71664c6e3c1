/* SPDX-License-Identifier: Apache-2.0 */
#include "results/merge_tables.h"

#include <stdio.h>
#include <stdlib.h>

#include "results/merge.h"
#include "util/file.h"

#define TIMES(name)                                                                                                              \
    name "_iterations INTEGER," name "_mean REAL," name "_median REAL," name "_min REAL," name "_max REAL," name "_std REAL"

static const struct {
    const char *name, *columns;
    int n;
} tables[TABLE_COUNT] = {
    [TABLE_RUN] = {"run", "key TEXT PRIMARY KEY, value TEXT", 2},
    [TABLE_SETTINGS] = {"settings",
                        "id INTEGER PRIMARY KEY, digest TEXT, problem TEXT, problem_id INTEGER, family TEXT, world INTEGER,"
                        "dtype TEXT, shape TEXT, device TEXT, trials INTEGER, warmup INTEGER, iterations INTEGER, seed INTEGER",
                        13},
    [TABLE_CANDIDATES] = {"candidates",
                          "id INTEGER PRIMARY KEY, digest TEXT, model TEXT, problem TEXT, sample INTEGER, kind TEXT, path TEXT",
                          7},
    [TABLE_SKIPS] = {"skips", "problem TEXT, model TEXT, world INTEGER, cells INTEGER, reason TEXT", 5},
    [TABLE_FILES] = {"files",
                     "id INTEGER PRIMARY KEY, name TEXT, shard INTEGER, attempt INTEGER, bytes INTEGER, lines INTEGER, read "
                     "INTEGER, tail TEXT",
                     8},
    [TABLE_CELLS] = {"cells",
                     "id INTEGER PRIMARY KEY, setting INTEGER, candidate INTEGER, digest TEXT, state TEXT, result INTEGER,"
                     "shared INTEGER, records INTEGER, infra_errors INTEGER",
                     9},
    [TABLE_ATTEMPTS] =
        {"attempts",
         "id INTEGER PRIMARY KEY, cell INTEGER, file INTEGER, line INTEGER, offset INTEGER, bytes INTEGER,"
         "outcome TEXT, duplicate INTEGER, rank INTEGER, nodes INTEGER, detail TEXT, started TEXT, speedup REAL," TIMES(
             "baseline") "," TIMES("time"),
         25},
    [TABLE_BASELINES] = {"baselines",
                         "id INTEGER PRIMARY KEY, setting INTEGER, file INTEGER, line INTEGER, nodes INTEGER, started TEXT,"
                         "drift REAL," TIMES("before") "," TIMES("after"),
                         19},
    [TABLE_PROBLEMS_FOUND] = {"problems_found", "id INTEGER PRIMARY KEY, file TEXT, line INTEGER, kind TEXT, reason TEXT", 5},
};

static int create_table(struct database *db, enum merge_table table, struct pkb_error *err)
{
    char *sql = pkb_format(err, "CREATE TABLE %s (%s)", tables[table].name, tables[table].columns);
    if (!sql)
        return -1;
    int rc = database_exec(db, sql, err);
    free(sql);
    return rc;
}

int merge_tables_create(struct database *db, struct pkb_error *err)
{
    char version[64];
    (void)snprintf(version, sizeof(version), "PRAGMA user_version = %d", MERGE_SCHEMA);
    if (database_exec(db, version, err) < 0)
        return -1;
    for (int t = 0; t < TABLE_COUNT; t++)
        if (create_table(db, (enum merge_table)t, err) < 0)
            return -1;
    return 0;
}

sqlite3_stmt *merge_tables_insert(struct database *db, enum merge_table table, struct pkb_error *err)
{
    char sql[256];
    int used = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES (", tables[table].name);
    for (int i = 0; i < tables[table].n; i++)
        used += snprintf(sql + used, sizeof(sql) - (size_t)used, "%s?", i ? "," : "");
    (void)snprintf(sql + used, sizeof(sql) - (size_t)used, ")");
    return database_prepare(db, sql, err);
}

int merge_tables_finish(struct database *db, struct pkb_error *err)
{
    return database_exec(
        db,
        "CREATE VIEW results AS SELECT c.id AS cell, c.digest, s.problem, s.problem_id, s.family, k.model, k.sample, s.world,"
        " s.dtype, s.shape, s.device, c.state, a.outcome, a.detail, a.rank, a.speedup, a.baseline_mean AS baseline_ns,"
        " a.time_mean AS time_ns, c.shared, c.records, c.infra_errors, c.setting, c.candidate, c.result"
        " FROM cells c JOIN settings s ON s.id = c.setting JOIN candidates k ON k.id = c.candidate"
        " LEFT JOIN attempts a ON a.id = c.result;"
        "CREATE INDEX attempts_duplicate ON attempts (id) WHERE duplicate;"
        "CREATE INDEX attempts_open ON attempts (cell) WHERE outcome IN ('infra_error', 'not_run');"
        "CREATE INDEX cells_pair ON cells (setting, candidate);"
        "CREATE INDEX cells_open ON cells (state) WHERE state <> 'done';"
        "CREATE INDEX settings_digest ON settings (digest);"
        "CREATE INDEX candidates_digest ON candidates (digest);",
        err);
}
