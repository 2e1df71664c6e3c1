/* SPDX-License-Identifier: Apache-2.0 */
/* Merging: which record of a cell counts, whatever the order of files; bad lines; a run in progress; a full disk. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "results/database.h"
#include "results/merge.h"
#include "tests/support/folder.h"
#include "tests/support/run_records.h"
#include "tests/support/synthetic.h"
#include "util/file.h"

struct fixture {
    struct plan *plan; /* 2 problems x worlds 1, 2 x 2 models x 3 samples = 24 cells; shard 0: cells 0..11 */
};

static int set_up(void **state)
{
    static const int worlds[] = {1, 2};
    static struct fixture f;
    f.plan = synthetic_plan(2, 2, worlds, 2, 3);
    *state = &f;
    return test_folder_make(NULL);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    plan_destroy(f->plan);
    return test_folder_remove(NULL);
}

static void append_record(const struct record *r, int shard, int attempt)
{
    char *line = run_records_line(r);
    run_records_append(shard, attempt, line);
    free(line);
}

static void append(const struct fixture *f, size_t cell, int attempt, enum outcome outcome)
{
    struct record r;
    synthetic_record(f->plan, cell, attempt, outcome, 2, &r);
    append_record(&r, cell < 12 ? 0 : 1, attempt);
}

static struct merge_summary merge(const struct fixture *f)
{
    struct merge_summary s, again;
    struct pkb_error err = {{0}};
    if (merge_run_plan(test_folder, f->plan, &s, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(merge_summary_read(test_folder, &again, &err), 0);
    assert_memory_equal(&s, &again, sizeof(s));
    assert_int_equal(s.cells, 24);
    assert_int_equal(s.done + s.infra_error + s.not_run + s.missing, 24);
    return s;
}

static char *query(const char *sql)
{
    struct database db;
    struct pkb_error err = {{0}};
    char *path = pkb_format(NULL, "%s/results.db", test_folder), *all = strdup("");
    assert_int_equal(database_open(&db, path, &err), 0);
    sqlite3_stmt *q = database_prepare(&db, sql, &err);
    if (!q)
        fail_msg("%s", err.text);
    while (database_step(&db, q, &err) == 1)
        for (int i = 0; i < sqlite3_column_count(q); i++) {
            char *longer = pkb_format(NULL, "%s%s|", all, database_text(q, i));
            free(all);
            all = longer;
        }
    (void)sqlite3_finalize(q);
    database_close(&db);
    free(path);
    return all;
}

static void expect(const char *sql, const char *want)
{
    char *got = query(sql);
    assert_string_equal(got, want);
    free(got);
}

static void test_nothing_yet(void **state)
{
    struct merge_summary s = merge(*state);
    assert_int_equal(s.missing, 24);
    assert_int_equal(s.files, 0);
    expect("SELECT count(*), min(state), max(state) FROM results", "24|missing|missing|");
}

static void test_all_kinds(void **state)
{
    const struct fixture *f = *state;
    append(f, 0, 1, OUTCOME_CORRECT);
    append(f, 1, 1, OUTCOME_DEADLOCK);
    append(f, 2, 1, OUTCOME_INFRA_ERROR);
    append(f, 2, 2, OUTCOME_VALUE_MISMATCH);
    append(f, 3, 1, OUTCOME_INFRA_ERROR);
    append(f, 3, 2, OUTCOME_INFRA_ERROR);
    append(f, 4, 1, OUTCOME_NOT_RUN);
    append(f, 12, 1, OUTCOME_CRASH);
    struct merge_summary s = merge(f);
    assert_int_equal(s.done, 4);
    assert_int_equal(s.infra_error, 1);
    assert_int_equal(s.not_run, 1);
    assert_int_equal(s.missing, 18);
    assert_int_equal(s.cell_records, 8);
    assert_int_equal(s.duplicates, 0);
    expect("SELECT state, outcome, records, infra_errors FROM results WHERE cell IN (0, 2, 3, 4) ORDER BY cell",
           "done|correct|1|0|done|value_mismatch|2|1|infra_error||2|2|not_run||1|0|");
    expect("SELECT round(speedup, 6), round(baseline_ns), round(time_ns) FROM results WHERE cell = 0",
           "2.0|2000000.0|1000000.0|");
    expect("SELECT count(*) FROM results WHERE time_ns IS NOT NULL", "1|");
    expect("SELECT count(*) FROM problems_found", "0|");
}

/* The first in (attempt, shard, line) order counts, in whatever order the files were made. */
static void test_duplicates(void **state)
{
    const struct fixture *f = *state;
    append(f, 5, 3, OUTCOME_CRASH);
    append(f, 5, 2, OUTCOME_CORRECT);
    append(f, 5, 2, OUTCOME_DEADLOCK);
    append(f, 5, 1, OUTCOME_INFRA_ERROR);
    struct merge_summary s = merge(f);
    assert_int_equal(s.done, 1);
    assert_int_equal(s.duplicates, 2);
    assert_int_equal(s.disagreeing, 2);
    expect("SELECT outcome, records, infra_errors FROM results WHERE cell = 5", "correct|4|1|");
    expect("SELECT f.attempt, a.line, a.outcome FROM attempts a JOIN files f ON f.id = a.file WHERE a.duplicate ORDER BY a.id",
           "2|2|deadlock|3|1|crash|");
}

static void test_same_source(void **state)
{
    const struct fixture *f = *state;
    struct plan *p = f->plan;
    /* Sample 2 of both models is the text of sample 1 of model-0: cells 0, 1 and 4. */
    memcpy(p->candidates[1].digest, p->candidates[0].digest, PKB_DIGEST_HEX);
    memcpy(p->candidates[4].digest, p->candidates[0].digest, PKB_DIGEST_HEX);
    append(f, 1, 1, OUTCOME_CORRECT);
    struct merge_summary s = merge(f);
    assert_int_equal(s.done, 3);
    assert_int_equal(s.shared, 2);
    append(f, 0, 1, OUTCOME_CRASH);
    append(f, 4, 1, OUTCOME_INFRA_ERROR);
    s = merge(f);
    assert_int_equal(s.done, 3);
    assert_int_equal(s.shared, 1);
    assert_int_equal(s.duplicates, 0);
    expect("SELECT cell, outcome, shared FROM results WHERE state = 'done' ORDER BY cell", "0|crash|0|1|correct|0|4|correct|1|");
}

static void test_bad_lines(void **state)
{
    const struct fixture *f = *state;
    struct record r;
    append(f, 0, 1, OUTCOME_CORRECT);
    run_records_append(0, 1, "garbage\n\n{\"schema\":9,\"kind\":\"cell\"}\n{\"schema\":1,\"kind\":\"cell\"}\n\xff\xfe\n");
    synthetic_record(f->plan, 1, 1, OUTCOME_CORRECT, 2, &r);
    r.cell[0] = r.cell[0] == 'a' ? 'b' : 'a';
    append_record(&r, 0, 1);
    synthetic_record(f->plan, 1, 1, OUTCOME_CORRECT, 2, &r);
    strcpy(r.model, "stranger");
    append_record(&r, 0, 1);
    synthetic_record(f->plan, 1, 1, OUTCOME_CORRECT, 2, &r);
    strcpy(r.shape, "paper");
    append_record(&r, 0, 1);
    synthetic_record(f->plan, 1, 7, OUTCOME_CORRECT, 2, &r);
    append_record(&r, 0, 1);
    append(f, 2, 1, OUTCOME_CORRECT);
    run_records_append(0, 1, "{\"schema\":1,\"ki");
    char *stray = pkb_format(NULL, "%s/records/notes.txt", test_folder),
         *folder = pkb_format(NULL, "%s/records/shard-000001.001.jsonl", test_folder);
    assert_int_equal(pkb_file_write(stray, "x", 1, NULL), 0);
    assert_int_equal(mkdir(folder, 0777), 0);
    struct merge_summary s = merge(f);
    assert_int_equal(s.done, 2);
    assert_int_equal(s.malformed, 4);
    assert_int_equal(s.schema, 1);
    assert_int_equal(s.foreign, 5);
    assert_int_equal(s.torn, 1);
    assert_int_equal(s.unreadable, 1);
    expect("SELECT line, kind FROM problems_found WHERE file = 'shard-000000.001.jsonl' ORDER BY id",
           "2|malformed|3|malformed|4|schema|5|malformed|6|malformed|7|foreign|8|foreign|9|foreign|10|foreign|12|torn|");
    expect("SELECT reason LIKE '%shape%' FROM problems_found WHERE line = 9", "1|");
    expect("SELECT reason LIKE '%schema 9%' FROM problems_found WHERE line = 4", "1|");
    expect("SELECT file, kind FROM problems_found WHERE line = 0 ORDER BY kind",
           "notes.txt|foreign|shard-000001.001.jsonl|unreadable|");
    free(stray);
    free(folder);
}

static void test_baselines(void **state)
{
    const struct fixture *f = *state;
    static const double before[] = {100, 100}, after[] = {110, 110};
    struct record_baseline b = {.problem = "p",
                                .family = "f",
                                .dtype = "bf16",
                                .shape = "tiny",
                                .device = "host",
                                .world = 1,
                                .nodes = 1,
                                .attempt = 1,
                                .started = "2026-01-31T23:59:59Z",
                                .drift = 0.1};
    record_times_from_samples(&b.before, before, 2);
    record_times_from_samples(&b.after, after, 2);
    memcpy(b.setting, f->plan->settings[1].digest, PKB_DIGEST_HEX);
    for (int i = 0; i < 2; i++) {
        json_t *value = record_baseline_encode(&b);
        char *line = json_dumps(value, JSON_COMPACT), *text = pkb_format(NULL, "%s\n", line);
        run_records_append(0, 1, text);
        free(text);
        free(line);
        json_decref(value);
        b.setting[0] = b.setting[0] == 'a' ? 'b' : 'a';
    }
    struct merge_summary s = merge(f);
    assert_int_equal(s.baseline_records, 1);
    assert_int_equal(s.foreign, 1);
    expect("SELECT setting, line, before_mean, after_mean, round(drift, 6) FROM baselines", "1|1|100.0|110.0|0.1|");
}

static void expect_stale(bool want)
{
    bool stale = !want;
    assert_int_equal(merge_is_stale(test_folder, &stale, NULL), 0);
    assert_int_equal(stale, want);
}

static void test_stale(void **state)
{
    const struct fixture *f = *state;
    expect_stale(true);
    merge(f);
    expect_stale(false);
    append(f, 0, 1, OUTCOME_CORRECT);
    expect_stale(true);
    merge(f);
    expect_stale(false);
    run_records_append(0, 1, "{");
    expect_stale(true);
    merge(f);
    expect_stale(false);
    append(f, 0, 2, OUTCOME_CORRECT);
    expect_stale(true);
    char *path = pkb_format(NULL, "%s/results.db", test_folder);
    assert_int_equal(pkb_file_write(path, "not a database", 14, NULL), 0);
    expect_stale(true);
    merge(f);
    expect_stale(false);
    free(path);
}

/* The whole of a file cut at every byte of its last line: the line counts when its newline is there, never before. */
static void test_torn_everywhere(void **state)
{
    const struct fixture *f = *state;
    append(f, 0, 1, OUTCOME_CORRECT);
    char *path = pkb_format(NULL, "%s/records/shard-000000.001.jsonl", test_folder), *data;
    struct stat first;
    size_t size;
    assert_int_equal(stat(path, &first), 0);
    append(f, 1, 1, OUTCOME_CRASH);
    assert_int_equal(pkb_file_read(path, 0, &data, &size, NULL), 0);
    for (size_t cut = (size_t)first.st_size; cut <= size; cut += cut + 20 < size ? 13 : 1) {
        assert_int_equal(pkb_file_write(path, data, cut, NULL), 0);
        struct merge_summary s = merge(f);
        assert_int_equal(s.done, cut == size ? 2 : 1);
        assert_int_equal(s.torn, cut > (size_t)first.st_size && cut < size);
        assert_int_equal(s.malformed, 0);
    }
    free(path);
    free(data);
}

static int merge_with_full_disk(const struct fixture *f)
{
    struct rlimit limit = {.rlim_cur = 20000, .rlim_max = RLIM_INFINITY};
    struct pkb_error err = {{0}};
    (void)signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
        return 1;
    if (merge_run_plan(test_folder, f->plan, NULL, &err) == 0)
        return 2;
    return strstr(err.text, "results.db") ? 0 : 3;
}

static void test_full_disk(void **state)
{
    const struct fixture *f = *state;
    append(f, 0, 1, OUTCOME_CORRECT);
    merge(f);
    append(f, 1, 1, OUTCOME_CORRECT);
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(merge_with_full_disk(f));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    expect("SELECT count(*) FROM results WHERE state = 'done'", "1|"); /* the old one, whole */
    char *temp = pkb_format(NULL, "%s/results.db.tmp.%d", test_folder, (int)pid);
    assert_false(pkb_file_exists(temp));
    free(temp);
    merge(f);
    expect("SELECT count(*) FROM results WHERE state = 'done'", "2|");
}

static void test_no_run(void **state)
{
    (void)state;
    struct pkb_error err = {{0}};
    struct merge_summary s;
    assert_int_equal(merge_run("/nonexistent/run", &s, &err), -1);
    assert_non_null(strstr(err.text, "/nonexistent/run"));
    assert_int_equal(merge_summary_read("/nonexistent/run", &s, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_yet, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_all_kinds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_duplicates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_same_source, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_baselines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stale, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_torn_everywhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full_disk, set_up, tear_down),
        cmocka_unit_test(test_no_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
