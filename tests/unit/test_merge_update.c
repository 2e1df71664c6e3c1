/* SPDX-License-Identifier: Apache-2.0 */
/* Merging what was appended: the contents of results.db are those of a whole merge, whatever came in which order; databases that
 * killed merges left behind; lines of every bad kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include <cmocka.h>

#include "results/database.h"
#include "results/merge.h"
#include "runtime/random.h"
#include "tests/support/folder.h"
#include "tests/support/run_records.h"
#include "tests/support/synthetic.h"
#include "util/file.h"

static int set_up(void **state)
{
    static const int worlds[] = {1, 2};
    struct plan *p = synthetic_plan(3, 2, worlds, 2, 3); /* 36 cells; shard 0: cells 0..17 */
    /* Some candidates have the same source. */
    memcpy(p->candidates[4].digest, p->candidates[0].digest, PKB_DIGEST_HEX);
    memcpy(p->candidates[2].digest, p->candidates[0].digest, PKB_DIGEST_HEX);
    *state = p;
    return test_folder_make(NULL);
}

static int tear_down(void **state)
{
    plan_destroy(*state);
    return test_folder_remove(NULL);
}

static char *line_of(const struct plan *p, size_t cell, int attempt, enum outcome outcome)
{
    struct record r;
    synthetic_record(p, cell, attempt, outcome, 0.5 + (double)(cell % 7) / 3, &r);
    return run_records_line(&r);
}

static void append(const struct plan *p, int shard, size_t cell, int attempt, enum outcome outcome)
{
    char *line = line_of(p, cell, attempt, outcome);
    run_records_append(shard, attempt, line);
    free(line);
}

static char *database_path(void)
{
    return pkb_format(NULL, "%s/results.db", test_folder);
}

static void merge(const struct plan *p)
{
    struct pkb_error err = {{0}};
    if (merge_run_plan(test_folder, p, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static void merge_whole(const struct plan *p)
{
    char *path = database_path();
    assert_true(unlink(path) == 0 || !pkb_file_exists(path));
    free(path);
    merge(p);
}

static ino_t inode(void)
{
    struct stat st;
    char *path = database_path();
    assert_int_equal(stat(path, &st), 0);
    free(path);
    return st.st_ino;
}

/* Every row of every table, but for the time of the merge. */
static char *dump(void)
{
    static const char *const queries[] = {
        "SELECT * FROM run WHERE key <> 'merged' ORDER BY key",
        "SELECT * FROM cells ORDER BY id",
        "SELECT * FROM attempts ORDER BY id",
        "SELECT * FROM baselines ORDER BY id",
        "SELECT * FROM files ORDER BY id",
        "SELECT * FROM problems_found ORDER BY id",
        "SELECT * FROM settings ORDER BY id",
        "SELECT * FROM candidates ORDER BY id",
    };
    struct database db;
    struct pkb_error err = {{0}};
    char *path = database_path(), *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(database_open(&db, path, &err), 0);
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        sqlite3_stmt *q = database_prepare(&db, queries[i], &err);
        while (database_step(&db, q, &err) == 1) {
            for (int c = 0; c < sqlite3_column_count(q); c++)
                (void)fprintf(out, "%s|", sqlite3_column_type(q, c) == SQLITE_NULL ? "NULL" : database_text(q, c));
            (void)fputc('\n', out);
        }
        (void)sqlite3_finalize(q);
    }
    database_close(&db);
    free(path);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void expect_as_whole(const struct plan *p, const char *what)
{
    char *have = dump();
    merge_whole(p);
    char *want = dump();
    if (strcmp(have, want) != 0)
        fail_msg("%s: not as a whole merge\n--- updated\n%s\n--- whole\n%s", what, have, want);
    free(have);
    free(want);
}

/* What a run in progress does: the database stays the same file. */
static void test_plain_growth(void **state)
{
    const struct plan *p = *state;
    append(p, 0, 0, 1, OUTCOME_INFRA_ERROR);
    run_records_append(0, 1, "{\"half");
    merge(p);
    ino_t first = inode();
    run_records_append(0, 1, " a line\n");
    append(p, 0, 0, 1, OUTCOME_CORRECT);
    append(p, 0, 0, 1, OUTCOME_CRASH);
    append(p, 0, 1, 1, OUTCOME_DEADLOCK);
    merge(p);
    append(p, 1, 20, 1, OUTCOME_NOT_RUN);
    append(p, 1, 20, 2, OUTCOME_VALUE_MISMATCH);
    run_records_append(1, 2, "{\"schema\":7,\"kind\":\"cell\"}\n{\"to");
    merge(p);
    assert_true(inode() == first);
    expect_as_whole(p, "plain growth");
}

/* Cells that share a source, in every order in which results can come. */
static void test_shared(void **state)
{
    const struct plan *p = *state;
    static const size_t orders[][3] = {{0, 2, 4}, {4, 2, 0}, {2, 4, 0}, {4, 0, 2}};
    for (size_t i = 0; i < 4; i++) {
        char *folder = pkb_format(NULL, "%s/records", test_folder);
        assert_int_equal(pkb_remove_tree(folder, NULL), 0);
        free(folder);
        merge_whole(p);
        for (int k = 0; k < 3; k++) {
            append(p, 0, orders[i][k], 1, k == 1 ? OUTCOME_INFRA_ERROR : OUTCOME_CORRECT);
            merge(p);
        }
        expect_as_whole(p, "shared sources");
    }
}

/* Records that come late but count first, files that shrink, vanish, or belong to nobody. */
static void test_not_plain(void **state)
{
    const struct plan *p = *state;
    append(p, 0, 5, 2, OUTCOME_CORRECT);
    merge(p);
    append(p, 0, 5, 1, OUTCOME_CRASH);
    merge(p);
    expect_as_whole(p, "an earlier attempt");
    append(p, 0, 6, 1, OUTCOME_INFRA_ERROR);
    append(p, 0, 6, 3, OUTCOME_INFRA_ERROR);
    merge(p);
    append(p, 0, 6, 2, OUTCOME_NOT_RUN);
    merge(p);
    expect_as_whole(p, "an attempt between others");
    char *stray = pkb_format(NULL, "%s/records/notes.txt", test_folder),
         *gone = pkb_format(NULL, "%s/records/shard-000000.003.jsonl", test_folder);
    assert_int_equal(pkb_file_write(stray, "x", 1, NULL), 0);
    merge(p);
    expect_as_whole(p, "a file of nobody");
    assert_int_equal(unlink(gone), 0);
    merge(p);
    expect_as_whole(p, "a file less");
    char *line = line_of(p, 7, 1, OUTCOME_CORRECT), *three = pkb_format(NULL, "%s%s%s", line, line, line);
    char *path = pkb_format(NULL, "%s/records/shard-000000.001.jsonl", test_folder);
    assert_int_equal(pkb_file_write(path, three, strlen(three), NULL), 0);
    merge(p);
    expect_as_whole(p, "a file that was written anew");
    free(stray);
    free(gone);
    free(line);
    free(three);
    free(path);
}

/* Random histories: whatever is appended where, merged in between or not. */
static void test_random_histories(void **state)
{
    const struct plan *p = *state;
    static const char *const junk[] = {"garbage\n", "{\"half", "\n", "{\"schema\":9,\"kind\":\"cell\"}\n", "NaN\n", "\xff\n"};
    for (uint32_t history = 0; history < 12; history++) {
        struct rng r = rng_make(1, 7, history, 0, 0);
        char *folder = pkb_format(NULL, "%s/records", test_folder);
        assert_int_equal(pkb_remove_tree(folder, NULL), 0);
        free(folder);
        merge_whole(p);
        for (uint64_t i = 0; i < 120; i += 4) {
            int shard = (int)rng_integer(&r, i, 0, 2), attempt = (int)rng_integer(&r, i + 1, 1, 4);
            size_t cell = (size_t)shard * 18 + (size_t)rng_integer(&r, i + 2, 0, 18);
            int64_t what = rng_integer(&r, i + 3, 0, OUTCOME_COUNT + 6);
            if (what >= OUTCOME_COUNT)
                run_records_append(shard, attempt, junk[what - OUTCOME_COUNT]);
            else
                append(p, shard, cell, attempt, (enum outcome)what);
            if (i % 8 == 0)
                merge(p);
        }
        merge(p);
        expect_as_whole(p, "a random history");
    }
}

/* The same files, made in another order. */
static void test_order_of_files(void **state)
{
    const struct plan *p = *state;
    char *texts[6], *first = NULL;
    for (int i = 0; i < 6; i++)
        texts[i] = line_of(p, 3, i / 2 + 1, i % 2 ? OUTCOME_CRASH : OUTCOME_CORRECT);
    for (int turn = 0; turn < 3; turn++) {
        char *folder = pkb_format(NULL, "%s/records", test_folder);
        assert_int_equal(pkb_remove_tree(folder, NULL), 0);
        for (int i = 0; i < 6; i++) {
            int at = (i * (turn == 1 ? 5 : 1) + turn) % 6;
            run_records_append(at % 2, at / 2 + 1, texts[at]);
        }
        merge_whole(p);
        char *have = dump();
        if (first)
            assert_string_equal(have, first);
        else
            first = strdup(have);
        free(have);
        free(folder);
    }
    for (int i = 0; i < 6; i++)
        free(texts[i]);
    free(first);
}

static void test_left_behind(void **state)
{
    const struct plan *p = *state;
    pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    char *old = pkb_format(NULL, "%s/results.db.tmp.%d", test_folder, (int)gone),
         *young = pkb_format(NULL, "%s/results.db.tmp.%d-x", test_folder, 1);
    char *alive = pkb_format(NULL, "%s/results.db.tmp.%d", test_folder, (int)getppid());
    struct utimbuf hour_ago = {time(NULL) - 3600, time(NULL) - 3600};
    const char *const all[] = {old, young, alive};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pkb_file_write(all[i], "x", 1, NULL), 0);
        assert_int_equal(utime(all[i], &hour_ago), 0);
    }
    merge(p);
    assert_false(pkb_file_exists(old));
    assert_true(pkb_file_exists(young)); /* pid 1 lives */
    assert_true(pkb_file_exists(alive));
    free(old);
    free(young);
    free(alive);
}

/* A number or byte that no writer of ours writes, in a record that is fine otherwise; a line that is longer than memory should be. */
static void test_hostile_lines(void **state)
{
    const struct plan *p = *state;
    static const char *const values[] = {"NaN",
                                         "Infinity",
                                         "-Infinity",
                                         "1e999",
                                         "-1",
                                         "1e300",
                                         "0x10",
                                         "\"2\"",
                                         "true",
                                         "[1]",
                                         "{}",
                                         "1.",
                                         "+1",
                                         "01",
                                         "\xff",
                                         "null",
                                         "1e-400",
                                         "--1",
                                         "1 2",
                                         "",
                                         "\x01",
                                         "\"\xed\xa0\x80\"",
                                         "9223372036854775808"};
    size_t n = sizeof(values) / sizeof(values[0]);
    struct merge_summary s;
    char *line = line_of(p, 1, 1, OUTCOME_CORRECT), *at = strstr(line, "\"speedup\":");
    assert_non_null(at);
    at += strlen("\"speedup\":");
    for (size_t i = 0; i < n; i++) {
        char *bad = pkb_format(NULL, "%.*s%s%s", (int)(at - line), line, values[i], strchr(at, ','));
        run_records_append(0, 1, bad);
        free(bad);
    }
    append(p, 0, 2, 1, OUTCOME_CORRECT);
    char *path = pkb_format(NULL, "%s/records/shard-000001.001.jsonl", test_folder);
    run_records_append(1, 1, "{");
    assert_int_equal(truncate(path, 48 << 20), 0); /* zeros, without taking room */
    run_records_append(1, 1, "\n");
    append(p, 1, 20, 1, OUTCOME_CRASH);
    assert_int_equal(merge_run_plan(test_folder, p, &s, NULL), 0);
    assert_int_equal(s.lines, (int64_t)n + 3);
    assert_int_equal(s.malformed, (int64_t)n + 1);
    assert_int_equal(s.cell_records, 2);
    free(path);
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_plain_growth, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_plain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_random_histories, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order_of_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_left_behind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hostile_lines, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
