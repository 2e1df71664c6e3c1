/* SPDX-License-Identifier: Apache-2.0 */
/* Bringing results.db up to date by what was appended since: the plain cases of a run in progress. Whatever is not plain (a record of
 * an unknown cell, one that counts before others, a file that changed otherwise) is left to a whole merge: the transaction is rolled
 * back as if nothing had been tried. Identifiers are functions of file and line, so that both ways give the same contents. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/merge_state.h"
#include "runtime/dtype.h"
#include "util/clock.h"
#include "util/file.h"

#define TAIL_BYTES 4096

int merge_file_tail(const char *run, const char *name, int64_t offset, char hex[PKB_DIGEST_HEX], struct pkb_error *err)
{
    char buffer[TAIL_BYTES];
    size_t size = offset < TAIL_BYTES ? (size_t)offset : TAIL_BYTES;
    char *path = pkb_format(err, "%s/records/%s", run, name);
    hex[0] = '\0';
    if (!path || size == 0) {
        free(path);
        return path ? 0 : -1;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : pread(fd, buffer, size, offset - (int64_t)size);
    int rc = n == (ssize_t)size ? pkb_digest_buffer(buffer, size, hex, err) : pkb_error_errno(err, "%s", path);
    if (fd >= 0)
        (void)close(fd);
    free(path);
    return rc;
}

int merge_plan_word(const char *run, char hex[PKB_DIGEST_HEX], struct pkb_error *err)
{
    char *path = pkb_format(err, "%s/plan/shards", run);
    if (!path)
        return -1;
    hex[0] = '\0';
    int rc = pkb_file_exists(path) ? pkb_digest_file(path, hex, err) : 0;
    free(path);
    return rc;
}

/* ---- one record --------------------------------------------------------------------------------------------------------- */

struct update {
    struct merge *m;
    sqlite3_stmt *find_cell, *find_setting, *last_open, *outcome, *set_cell, *same_source, *share;
    bool declined; /* this takes a whole merge */
};

/* A cell as the database has it. */
struct known {
    int64_t id, setting, candidate, result, shared, records, infra_errors;
    char state[16];
};

static int decline(struct update *u)
{
    u->declined = true;
    return -1;
}

static int64_t one_number(struct update *u, sqlite3_stmt *q, int64_t argument)
{
    (void)sqlite3_reset(q);
    (void)sqlite3_bind_int64(q, 1, argument);
    int64_t value = database_step(&u->m->db, q, u->m->err) == 1 ? sqlite3_column_int64(q, 0) : 0;
    (void)sqlite3_reset(q);
    return value;
}

/* The planned cell that the record says it is of; everything that it says about the cell must be what the plan says. */
static int find_cell(struct update *u, const struct record *r, struct known *k)
{
    sqlite3_stmt *q = u->find_cell;
    const char *const texts[] = {r->candidate, r->model, r->setting, r->problem, r->family,
                                 r->dtype,     r->shape, r->device,  r->cell};
    (void)sqlite3_reset(q);
    for (int i = 0; i < 9; i++)
        (void)sqlite3_bind_text(q, i + 1, texts[i], -1, SQLITE_STATIC);
    (void)sqlite3_bind_int(q, 10, r->sample);
    (void)sqlite3_bind_int(q, 11, r->world);
    if (database_step(&u->m->db, q, u->m->err) != 1)
        return decline(u);
    *k = (struct known){.id = sqlite3_column_int64(q, 0),
                        .setting = sqlite3_column_int64(q, 1),
                        .candidate = sqlite3_column_int64(q, 2),
                        .result = sqlite3_column_int64(q, 3),
                        .shared = sqlite3_column_int64(q, 4),
                        .records = sqlite3_column_int64(q, 5),
                        .infra_errors = sqlite3_column_int64(q, 6)};
    (void)snprintf(k->state, sizeof(k->state), "%s", database_text(q, 7));
    bool more = database_step(&u->m->db, q, u->m->err) != 0;
    (void)sqlite3_reset(q);
    return more ? decline(u) : 0;
}

static int64_t *count_of_state(struct merge_summary *s, const char *state)
{
    if (strcmp(state, "done") == 0)
        return &s->done;
    if (strcmp(state, "infra_error") == 0)
        return &s->infra_error;
    return strcmp(state, "not_run") == 0 ? &s->not_run : &s->missing;
}

static int set_cell(struct update *u, const struct known *k, const char *state)
{
    (*count_of_state(&u->m->summary, k->state))--;
    (*count_of_state(&u->m->summary, state))++;
    return database_insert(&u->m->db, u->set_cell, u->m->err, "tziiii", state, k->result, k->shared, k->records, k->infra_errors,
                           k->id);
}

/* Other cells with the same source and no result of their own take this one, if it comes before what they have. */
static int share(struct update *u, const struct known *from, int64_t result)
{
    sqlite3_stmt *q = u->same_source;
    int rc = 1;
    (void)sqlite3_reset(q);
    (void)sqlite3_bind_int64(q, 1, from->setting);
    (void)sqlite3_bind_int64(q, 2, from->candidate);
    (void)sqlite3_bind_int64(q, 3, from->id);
    while (rc == 1) {
        rc = database_step(&u->m->db, q, u->m->err);
        int64_t had = rc == 1 ? sqlite3_column_int64(q, 1) : 0;
        const char *state = rc == 1 ? database_text(q, 2) : "";
        if (rc != 1 || (had && had < result))
            continue;
        if (!had) {
            (*count_of_state(&u->m->summary, state))--;
            u->m->summary.done++;
            u->m->summary.shared++;
        }
        if (database_insert(&u->m->db, u->share, u->m->err, "ii", result, sqlite3_column_int64(q, 0)) < 0)
            rc = -1;
    }
    (void)sqlite3_reset(q);
    return rc;
}

static int add_final(struct update *u, struct known *k, const struct record *r, int64_t key)
{
    struct merge_summary *s = &u->m->summary;
    bool own = k->result && !k->shared;
    if (own) {
        s->duplicates++;
        s->disagreeing += one_number(u, u->outcome, k->result) != (int64_t)r->outcome;
        return set_cell(u, k, "done");
    }
    s->shared -= k->shared;
    k->shared = 0;
    k->result = key;
    return set_cell(u, k, "done") < 0 ? -1 : share(u, k, key);
}

static int add_cell_line(struct update *u, const struct record_line *line, const struct record *r)
{
    struct known k;
    int64_t key = record_line_key(u->m->file, line->number);
    bool final = outcome_is_final(r->outcome);
    if (r->attempt != u->m->file->attempt)
        return decline(u);
    if (find_cell(u, r, &k) < 0)
        return -1;
    bool own = k.result && !k.shared;
    if ((own && k.result > key) || one_number(u, u->last_open, k.id) > key)
        return decline(u); /* it counts before others */
    if (merge_add_attempt(u->m, k.id, line, r, final && own) < 0)
        return -1;
    u->m->summary.cell_records++;
    k.records++;
    k.infra_errors += r->outcome == OUTCOME_INFRA_ERROR;
    if (final)
        return add_final(u, &k, r, key);
    return set_cell(u, &k, k.result ? "done" : outcome_name(r->outcome));
}

static int add_baseline_line(struct update *u, const struct record_line *line, const struct record_baseline *b)
{
    sqlite3_stmt *q = u->find_setting;
    (void)sqlite3_reset(q);
    (void)sqlite3_bind_text(q, 1, b->setting, -1, SQLITE_STATIC);
    int rc = b->attempt == u->m->file->attempt ? database_step(&u->m->db, q, u->m->err) : 0;
    int64_t setting = rc == 1 ? sqlite3_column_int64(q, 0) : 0;
    (void)sqlite3_reset(q);
    return rc == 1 ? merge_add_baseline(u->m, setting, line, b) : decline(u);
}

static int add_line(void *arg, const struct record_scan *scan)
{
    struct update *u = arg;
    if (scan->line->number > RECORD_MAX_LINES)
        return decline(u);
    merge_count_line(u->m, scan);
    if (scan->kind == LINE_CELL)
        return add_cell_line(u, scan->line, &scan->cell);
    if (scan->kind == LINE_BASELINE)
        return add_baseline_line(u, scan->line, &scan->baseline);
    return merge_add_problem(u->m, scan->line->number, record_line_kind_name(scan->kind), scan->reason.text);
}

/* ---- files ---------------------------------------------------------------------------------------------------------------- */

static int read_tail(struct update *u)
{
    struct merge *m = u->m;
    int64_t bytes = 0;
    char *path = pkb_format(m->err, "%s/records/%s", m->run, m->file->name);
    struct record_start start = m->done;
    int rc = path ? record_file_scan_from(path, &start, add_line, u, &bytes, m->err) : -1;
    free(path);
    return rc == 0 ? merge_add_file(m, bytes) : -1;
}

/* Forgets the incomplete last line of a file, and the file's row, which is written anew. */
static int forget_end(struct update *u)
{
    struct merge *m = u->m;
    char sql[160];
    (void)snprintf(sql, sizeof(sql), "DELETE FROM problems_found WHERE id = %lld AND kind = 'torn'",
                   (long long)record_line_key(m->file, m->done.lines + 1));
    if (database_exec(&m->db, sql, m->err) < 0)
        return -1;
    int torn = sqlite3_changes(m->db.handle);
    m->summary.torn -= torn;
    m->summary.lines -= torn;
    (void)snprintf(sql, sizeof(sql), "DELETE FROM files WHERE id = %lld", (long long)m->file->key);
    return database_exec(&m->db, sql, m->err);
}

/* 0: brought up to date; -1 otherwise. `q` stands on the row of the file, or is NULL: it is new. */
static int update_file(struct update *u, sqlite3_stmt *q)
{
    struct merge *m = u->m;
    char tail[PKB_DIGEST_HEX];
    m->done = (struct record_start){0, 0};
    if (!q) {
        m->summary.files++;
        return m->file->attempt > 0 && m->file->bytes >= 0 ? read_tail(u) : decline(u);
    }
    int64_t bytes = sqlite3_column_int64(q, 2);
    if (m->file->bytes == bytes)
        return bytes < 0 ? decline(u) : 0;
    m->done = (struct record_start){sqlite3_column_int64(q, 4), sqlite3_column_int64(q, 3)};
    if (m->file->attempt == 0 || bytes < 0 || m->file->bytes < bytes)
        return decline(u);
    if (merge_file_tail(m->run, m->file->name, m->done.offset, tail, m->err) < 0 || strcmp(tail, database_text(q, 5)) != 0)
        return decline(u);
    return forget_end(u) < 0 ? -1 : read_tail(u);
}

/* Rows of `files` before anything is changed, walked in the order of the list: both are sorted by key. */
static int update_files(struct update *u, const struct record_files *files)
{
    struct merge *m = u->m;
    sqlite3_stmt *q = database_prepare(&m->db, "SELECT id, name, bytes, lines, read, tail FROM old_files ORDER BY id", m->err);
    int rc = q ? database_step(&m->db, q, m->err) : -1;
    for (size_t i = 0; i < files->n && rc >= 0; i++) {
        m->file = &files->files[i];
        bool known = rc == 1 && sqlite3_column_int64(q, 0) == m->file->key;
        if (rc == 1 && sqlite3_column_int64(q, 0) < m->file->key)
            rc = decline(u); /* a file is gone */
        else if (known && strcmp(database_text(q, 1), m->file->name) != 0)
            rc = decline(u);
        else if (update_file(u, known ? q : NULL) < 0)
            rc = -1;
        else if (known)
            rc = database_step(&m->db, q, m->err);
    }
    (void)sqlite3_finalize(q);
    return rc == 1 ? decline(u) : rc;
}

/* ---- the whole ---------------------------------------------------------------------------------------------------------------- */

/* CROSS JOIN keeps the order, from few rows to few: a fresh database has no statistics to find it by. */
static int prepare(struct update *u)
{
    struct database *db = &u->m->db;
    struct pkb_error *err = u->m->err;
    u->find_cell = database_prepare(
        db,
        "SELECT c.id, c.setting, c.candidate, c.result, c.shared, c.records, c.infra_errors, c.state"
        " FROM candidates k INDEXED BY candidates_digest CROSS JOIN settings s ON s.digest = ?3"
        " CROSS JOIN cells c ON c.setting = s.id AND c.candidate = k.id"
        " WHERE k.digest = ?1 AND k.model = ?2 AND k.sample = ?10 AND k.problem = ?4 AND s.problem = ?4 AND s.family = ?5"
        " AND s.dtype = ?6 AND s.shape = ?7 AND s.device = ?8 AND s.world = ?11 AND c.digest = ?9",
        err);
    u->find_setting = database_prepare(db, "SELECT id FROM settings WHERE digest = ?1", err);
    u->last_open = database_prepare(
        db, "SELECT max(+id) FROM attempts INDEXED BY attempts_open WHERE outcome IN ('infra_error', 'not_run') AND cell = ?1",
        err);
    u->outcome = database_prepare(db, "SELECT outcome_number(outcome) FROM attempts WHERE id = ?1", err);
    u->set_cell = database_prepare(
        db, "UPDATE cells SET state = ?1, result = ?2, shared = ?3, records = ?4, infra_errors = ?5 WHERE id = ?6", err);
    u->same_source =
        database_prepare(db,
                         "SELECT c.id, c.result, c.state FROM candidates o CROSS JOIN candidates k ON k.digest = o.digest"
                         " CROSS JOIN cells c ON c.setting = ?1 AND c.candidate = k.id WHERE o.id = ?2 AND c.id <> ?3"
                         " AND (c.shared OR c.result IS NULL)",
                         err);
    u->share = database_prepare(db, "UPDATE cells SET state = 'done', shared = 1, result = ?1 WHERE id = ?2", err);
    for (int t = 0; t < TABLE_COUNT; t++)
        u->m->insert[t] = merge_tables_insert(db, (enum merge_table)t, err);
    return u->find_cell && u->find_setting && u->last_open && u->outcome && u->set_cell && u->same_source && u->share &&
                   u->m->insert[TABLE_ATTEMPTS] && u->m->insert[TABLE_BASELINES] && u->m->insert[TABLE_FILES] &&
                   u->m->insert[TABLE_PROBLEMS_FOUND] && u->m->insert[TABLE_RUN]
               ? 0
               : -1;
}

static void finalize(struct update *u)
{
    sqlite3_stmt *const all[] = {u->find_cell, u->find_setting, u->last_open, u->outcome, u->set_cell, u->same_source, u->share};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        (void)sqlite3_finalize(all[i]);
    for (int t = 0; t < TABLE_COUNT; t++)
        (void)sqlite3_finalize(u->m->insert[t]);
}

/* SQL's outcome_number('correct') = 0, ... */
static void outcome_number(sqlite3_context *context, int n, sqlite3_value **values)
{
    const char *name = n == 1 ? (const char *)sqlite3_value_text(values[0]) : NULL;
    sqlite3_result_int(context, name ? outcome_parse(name) : -1);
}

/* Whether the database is one of this schema and plan. */
static bool is_ours(struct update *u)
{
    struct merge *m = u->m;
    int64_t version = 0, same = 0;
    char word[PKB_DIGEST_HEX];
    char *sql = NULL;
    bool ours = database_integer(&m->db, "PRAGMA user_version", &version, m->err) == 0 && version == MERGE_SCHEMA &&
                merge_plan_word(m->run, word, m->err) == 0;
    if (ours)
        sql = pkb_format(m->err, "SELECT count(*) FROM run WHERE key = 'plan' AND value = '%s'", word);
    ours = sql && database_integer(&m->db, sql, &same, m->err) == 0 && same == 1;
    free(sql);
    return ours;
}

static int apply(struct update *u, const struct record_files *files)
{
    struct merge *m = u->m;
    if (sqlite3_create_function(m->db.handle, "outcome_number", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, outcome_number, NULL,
                                NULL) != SQLITE_OK)
        return -1;
    if (database_exec(&m->db, "CREATE TEMP TABLE old_files AS SELECT * FROM files; BEGIN IMMEDIATE", m->err) < 0 || !is_ours(u))
        return -1;
    if (prepare(u) < 0 || update_files(u, files) < 0)
        return -1;
    if (database_exec(&m->db, "DELETE FROM run", m->err) < 0 || merge_summary_write(m, m->err) < 0)
        return -1;
    return database_exec(&m->db, "COMMIT", m->err);
}

int merge_update(struct merge *m, const struct record_files *files)
{
    struct pkb_error err = {{0}};
    struct update u = {.m = m};
    char *path = pkb_format(&err, "%s/results.db", m->run);
    m->err = &err;
    if (!path || !pkb_file_exists(path) || merge_summary_read(m->run, &m->summary, &err) < 0 ||
        database_open_writable(&m->db, path, &err) < 0) {
        free(path);
        return 0;
    }
    int done = apply(&u, files) == 0;
    finalize(&u);
    if (!done)
        (void)sqlite3_exec(m->db.handle, "ROLLBACK", NULL, NULL, NULL);
    database_close(&m->db);
    free(path);
    return done;
}
