/* SPDX-License-Identifier: Apache-2.0 */
/* Files of records: durable appends, a full disk, torn and overlong lines, attempts. */
#include <errno.h>
#include <fcntl.h>
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

#include "config.h"
#include "results/record.h"
#include "results/record_scan.h"
#include "tests/support/folder.h"
#include "util/file.h"

static char *path_of(const char *name)
{
    char *path = pkb_format(NULL, "%s/%s", test_folder, name);
    assert_non_null(path);
    return path;
}

static void write_file(const char *path, const char *text, size_t size)
{
    struct pkb_error err = {{0}};
    if (pkb_file_write(path, text, size, &err) < 0)
        fail_msg("%s", err.text);
}

static json_t *note(int n, size_t padding)
{
    char *text = malloc(padding + 1);
    assert_non_null(text);
    memset(text, 'x', padding);
    text[padding] = '\0';
    json_t *value = json_pack("{si, ss}", "n", n, "text", text);
    assert_non_null(value);
    free(text);
    return value;
}

struct seen {
    int values, bad;
    int64_t last_line;
    json_int_t sum;
    char reason[256];
    int stop_at;
};

static int see(void *arg, int64_t line, json_t *value, const char *reason)
{
    struct seen *s = arg;
    s->last_line = line;
    if (value) {
        assert_null(reason);
        s->values++;
        s->sum += json_integer_value(json_object_get(value, "n"));
    } else {
        s->bad++;
        (void)snprintf(s->reason, sizeof(s->reason), "%s", reason);
    }
    return s->stop_at && s->values == s->stop_at ? 7 : 0;
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int shard, attempt; /* -1: not a file of records */
    } rows[] = {
        {"shard-000000.001.jsonl", 0, 1},
        {"shard-000012.034.jsonl", 12, 34},
        {"shard-1234567.1000.jsonl", 1234567, 1000},
        {"shard-000000.000.jsonl", -1, 0},
        {"shard-00000.001.jsonl", -1, 0},
        {"shard-0000001.001.jsonl", -1, 0},
        {"shard-000000.01.jsonl", -1, 0},
        {"shard-000000.001.json", -1, 0},
        {"shard-000000.001.jsonl.tmp", -1, 0},
        {"shard--00001.001.jsonl", -1, 0},
        {"shard-000000001.jsonl", -1, 0},
        {"shard-99999999999999999999.001.jsonl", -1, 0},
        {"", -1, 0},
        {"shard-", -1, 0},
        {"other-000000.001.jsonl", -1, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int shard = 0, attempt = 0;
        bool ok = record_file_parse(rows[i].name, &shard, &attempt);
        if (ok != (rows[i].shard >= 0))
            fail_msg("\"%s\": %d", rows[i].name, ok);
        if (!ok)
            continue;
        assert_int_equal(shard, rows[i].shard);
        assert_int_equal(attempt, rows[i].attempt);
        char *name = record_file_name(shard, attempt, NULL);
        assert_string_equal(name, rows[i].name);
        free(name);
    }
}

static void test_attempts_are_fenced(void **state)
{
    (void)state;
    struct pkb_error err = {{0}};
    int attempt = 0;
    assert_int_equal(record_next_attempt(test_folder, 3, &attempt, &err), 0);
    assert_int_equal(attempt, 1);
    struct record_log *first = record_log_create(test_folder, 3, 1, &err);
    assert_non_null(first);
    assert_null(record_log_create(test_folder, 3, 1, &err));
    assert_non_null(strstr(err.text, "another agent"));
    assert_int_equal(record_next_attempt(test_folder, 3, &attempt, &err), 0);
    assert_int_equal(attempt, 2);
    struct record_log *tenth = record_log_create(test_folder, 3, 10, &err);
    assert_non_null(tenth);
    assert_int_equal(record_next_attempt(test_folder, 3, &attempt, &err), 0);
    assert_int_equal(attempt, 11);
    assert_int_equal(record_next_attempt(test_folder, 4, &attempt, &err), 0);
    assert_int_equal(attempt, 1);
    assert_null(record_log_create(test_folder, 3, 0, &err));
    assert_null(record_log_create("/nonexistent/run", 3, 1, &err));
    assert_int_equal(record_next_attempt("/nonexistent/run", 3, &attempt, &err), -1);
    assert_non_null(strstr(err.text, "/nonexistent/run"));
    record_log_close(first);
    record_log_close(tenth);
    record_log_close(NULL);
}

static void test_append_and_read(void **state)
{
    (void)state;
    struct pkb_error err = {{0}};
    struct record_log *log = record_log_create(test_folder, 0, 1, &err);
    assert_non_null(log);
    for (int n = 1; n <= 100; n++) {
        json_t *value = note(n, (size_t)n * 100);
        assert_int_equal(record_log_append(log, value, &err), 0);
        json_decref(value);
    }
    record_log_close(log);
    char *path = path_of("records/shard-000000.001.jsonl");
    struct seen s = {0};
    assert_int_equal(record_file_read(path, see, &s, &err), 0);
    assert_int_equal(s.values, 100);
    assert_int_equal(s.bad, 0);
    assert_int_equal(s.sum, 5050);
    assert_int_equal(s.last_line, 100);
    struct seen early = {.stop_at = 3};
    assert_int_equal(record_file_read(path, see, &early, &err), 7);
    assert_int_equal(early.values, 3);
    assert_int_equal(record_file_read("/nonexistent.jsonl", see, &s, &err), -1);
    assert_non_null(strstr(err.text, "/nonexistent.jsonl"));
    free(path);
}

static void test_too_long_to_append(void **state)
{
    (void)state;
    struct pkb_error err = {{0}};
    struct record_log *log = record_log_create(test_folder, 0, 1, &err);
    json_t *value = note(1, RECORD_MAX_LINE), *small = note(2, 1);
    assert_int_equal(record_log_append(log, value, &err), -1);
    assert_non_null(strstr(err.text, "longer than"));
    assert_int_equal(record_log_append(log, small, &err), 0);
    json_decref(value);
    json_decref(small);
    record_log_close(log);
}

/* In a child, so that the limit binds nobody else: appends until the "disk" is full, makes room, and appends again. */
static int fill_disk(void)
{
    struct pkb_error err = {{0}};
    struct rlimit limit = {.rlim_cur = 10000, .rlim_max = RLIM_INFINITY};
    struct record_log *log = record_log_create(test_folder, 0, 1, &err);
    json_t *value = note(1, 900);
    int written = 0;
    (void)signal(SIGXFSZ, SIG_IGN);
    if (!log || getrlimit(RLIMIT_FSIZE, &limit) < 0)
        return 1;
    limit.rlim_cur = 10000;
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
        return 2;
    while (record_log_append(log, value, &err) == 0)
        if (++written > 100)
            return 3;
    if (written != 10 || !strstr(err.text, "cannot append") || record_log_append(log, value, &err) == 0)
        return 4;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
        return 5;
    if (record_log_append(log, value, &err) < 0)
        return 6;
    record_log_close(log);
    json_decref(value);
    return 0;
}

static void test_full_disk(void **state)
{
    (void)state;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(fill_disk());
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    char *path = path_of("records/shard-000000.001.jsonl");
    struct seen s = {0};
    assert_int_equal(record_file_read(path, see, &s, NULL), 0);
    assert_int_equal(s.values, 11);
    assert_int_equal(s.bad, 0);
    free(path);
}

struct kinds {
    int count[LINE_SCHEMA + 1];
    int64_t bytes;
};

static int count_kind(void *arg, const struct record_scan *scan)
{
    struct kinds *k = arg;
    k->count[scan->kind]++;
    assert_int_equal(scan->line->offset, k->bytes);
    k->bytes += (int64_t)scan->line->size + scan->line->complete;
    return 0;
}

/* Cut at every byte of the last line: what is before it counts, the rest is torn, never read as a value. */
static void test_torn_everywhere(void **state)
{
    (void)state;
    static const char text[] = "{\"n\":1}\n{\"n\":20,\"text\":\"\xc3\xa9\"}\n";
    const size_t first = 8, all = sizeof(text) - 1;
    char *path = path_of("torn.jsonl");
    for (size_t size = first; size <= all; size++) {
        struct seen s = {0};
        struct kinds k = {0};
        write_file(path, text, size);
        assert_int_equal(record_file_read(path, see, &s, NULL), 0);
        assert_int_equal(s.values, size == all ? 2 : 1);
        assert_int_equal(s.bad, 0);
        int64_t bytes = 0;
        assert_int_equal(record_file_scan(path, count_kind, &k, &bytes, NULL), 0);
        assert_int_equal(k.count[LINE_TORN], size > first && size < all);
        assert_int_equal(bytes, size);
        assert_int_equal(k.bytes, size);
    }
    free(path);
}

static void test_bad_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *reason;
    } rows[] = {
        {"\n", ""},
        {"[1]\n", "not a JSON object"},
        {"3\n", ""},
        {"{\"n\":1\n", ""},
        {"{\"n\":1}}\n", ""},
        {"{\"n\":1,\"n\":2}\n", ""},
        {"{\"n\":\"\xff\"}\n", ""},
        {"\xef\xbb\xbf{\"n\":1}\n", ""},
    };
    char *path = path_of("bad.jsonl");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct seen s = {0};
        char *text = pkb_format(NULL, "%s{\"n\":5}\n", rows[i].text);
        write_file(path, text, strlen(text));
        free(text);
        assert_int_equal(record_file_read(path, see, &s, NULL), 0);
        assert_int_equal(s.bad, 1);
        assert_int_equal(s.sum, 5);
        assert_int_equal(s.last_line, 2);
        if (!strstr(s.reason, rows[i].reason) || !s.reason[0])
            fail_msg("row %zu: \"%s\"", i, s.reason);
    }
    /* A NUL byte inside a line. */
    struct seen s = {0};
    write_file(path, "{\"n\":\"a\0b\"}\n{\"n\":5}\n", 21);
    assert_int_equal(record_file_read(path, see, &s, NULL), 0);
    assert_int_equal(s.bad, 1);
    assert_int_equal(s.sum, 5);
    free(path);
}

/* 64 MB without a newline, under an address-space limit that does not hold them. */
static int read_long_line(const char *path)
{
    struct pkb_error err = {{0}};
    struct seen s = {0};
    struct kinds k = {0};
#if !PKB_SANITIZERS
    struct rlimit limit = {.rlim_cur = 48 << 20, .rlim_max = RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) < 0)
        return 1;
#endif
    if (record_file_read(path, see, &s, &err) != 0)
        return 2;
    if (s.values != 2 || s.bad != 1 || s.sum != 3 || s.last_line != 3 || !strstr(s.reason, "longer than"))
        return 3;
    if (record_file_scan(path, count_kind, &k, NULL, &err) != 0 || k.count[LINE_MALFORMED] != 3)
        return 4;
    return 0;
}

static void test_very_long_line(void **state)
{
    (void)state;
    char *path = path_of("long.jsonl");
    static char block[1 << 20];
    memset(block, 'x', sizeof(block));
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs("{\"n\":1}\n{\"n\":\"", f) >= 0);
    for (int i = 0; i < 64; i++)
        assert_int_equal(fwrite(block, 1, sizeof(block), f), sizeof(block));
    assert_true(fputs("\"}\n{\"n\":2}\n", f) >= 0);
    assert_int_equal(fclose(f), 0);
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(read_long_line(path));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test_setup_teardown(test_attempts_are_fenced, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_append_and_read, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_too_long_to_append, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_full_disk, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_torn_everywhere, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_bad_lines, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_very_long_line, test_folder_make, test_folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
