/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/folder.h"
#include "util/clock.h"
#include "util/digest.h"
#include "util/error.h"
#include "util/file.h"
#include "util/json.h"
#include "util/process.h"
#include "util/suggest.h"
#include "util/tuning.h"

static char *in_folder(const char *name)
{
    char *path = pkb_format(NULL, "%s/%s", test_folder, name);
    assert_non_null(path);
    return path;
}

static void errors_read_from_the_outside_in(void **state)
{
    (void)state;
    struct pkb_error err;
    errno = ENOENT;
    assert_int_equal(pkb_error_errno(&err, "open %s", "x"), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(pkb_error_prefix(&err, "sweep %d", 3), -1);
    assert_string_equal(err.text, "sweep 3: open x: No such file or directory");
    assert_int_equal(pkb_error_set(NULL, "nobody listens"), -1);
}

static void a_long_error_is_cut_not_overrun(void **state)
{
    (void)state;
    struct pkb_error err;
    char big[4096];
    memset(big, 'a', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    pkb_error_set(&err, "%s", big);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    pkb_error_prefix(&err, "outer");
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_memory_equal(err.text, "outer: aaa", 10);
}

static void files_are_replaced_at_once(void **state)
{
    (void)state;
    struct pkb_error err;
    char *path = in_folder("a/b/c.txt");
    char *dir = in_folder("a/b");
    char *data;
    size_t size;
    assert_int_equal(pkb_file_write(path, "x", 1, &err), -1); /* no folder yet */
    assert_non_null(strstr(err.text, "c.txt"));
    assert_int_equal(pkb_mkdirs(dir, &err), 0);
    assert_int_equal(pkb_mkdirs(dir, &err), 0);
    assert_int_equal(pkb_file_write(path, "one", 3, &err), 0);
    assert_int_equal(pkb_file_write(path, "second", 6, &err), 0);
    assert_int_equal(pkb_file_read(path, 0, &data, &size, &err), 0);
    assert_int_equal(size, 6);
    assert_string_equal(data, "second");
    free(data);
    assert_int_equal(pkb_file_read(path, 5, &data, &size, &err), -1);
    assert_non_null(strstr(err.text, "limit"));
    assert_int_equal(pkb_file_read(dir, 0, &data, &size, &err), -1);
    assert_non_null(strstr(err.text, "not a regular file"));
    assert_int_equal(pkb_mkdirs(path, &err), -1); /* a file is in the way */
    free(path);
    free(dir);
}

static void many_files_are_put_then_made_durable(void **state)
{
    (void)state;
    struct pkb_error err;
    char *path = in_folder("put.txt"), *missing = in_folder("none/put.txt");
    char *data;
    size_t size;
    assert_int_equal(pkb_file_sync(path, &err), -1); /* none yet, and none is made */
    assert_non_null(strstr(err.text, "put.txt"));
    assert_false(pkb_file_exists(path));
    assert_int_equal(pkb_file_put(missing, "x", 1, &err), -1);
    assert_non_null(strstr(err.text, "none/put.txt"));
    assert_int_equal(pkb_file_put(path, "longer", 6, &err), 0);
    assert_int_equal(pkb_file_put(path, "short", 5, &err), 0);
    assert_int_equal(pkb_file_sync(path, &err), 0);
    assert_int_equal(pkb_file_read(path, 0, &data, &size, &err), 0);
    assert_string_equal(data, "short");
    free(data);
    free(path);
    free(missing);
}

static void trees_are_removed_without_following_links(void **state)
{
    (void)state;
    struct pkb_error err;
    char *keep = in_folder("keep"), *gone = in_folder("gone/sub"), *root = in_folder("gone"), *link = in_folder("gone/link");
    assert_int_equal(pkb_mkdirs(keep, &err), 0);
    assert_int_equal(pkb_mkdirs(gone, &err), 0);
    assert_int_equal(symlink(keep, link), 0);
    assert_int_equal(pkb_remove_tree(root, &err), 0);
    assert_false(pkb_file_exists(root));
    assert_true(pkb_file_exists(keep));
    assert_int_equal(pkb_remove_tree(root, &err), 0);
    free(keep);
    free(gone);
    free(root);
    free(link);
}

static void digests_match_known_answers(void **state)
{
    (void)state;
    struct pkb_error err;
    char hex[PKB_DIGEST_HEX];
    /* FIPS 180-2 examples. */
    assert_int_equal(pkb_digest_buffer("abc", 3, hex, &err), 0);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(pkb_digest_buffer("", 0, hex, &err), 0);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_int_equal(pkb_digest_file("/nonexistent/file", hex, &err), -1);
    assert_non_null(strstr(err.text, "/nonexistent/file"));
}

static void json_members_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } bad[] = {
        {"{}", "n: missing"},
        {"{\"n\": \"7\"}", "n: expected an integer"},
        {"{\"n\": 1.5}", "n: expected an integer"},
        {"{\"n\": 11}", "n: 11 is outside 0..10"},
        {"{\"n\": -1}", "n: -1 is outside 0..10"},
    };
    struct pkb_error err;
    int64_t n;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        json_t *v = pkb_json_parse(bad[i].text, strlen(bad[i].text), &err);
        assert_non_null(v);
        assert_int_equal(pkb_json_int(v, "n", 0, 10, &n, &err), -1);
        assert_non_null(strstr(err.text, bad[i].want));
        json_decref(v);
    }
    assert_null(pkb_json_parse("{\"a\":1,\"a\":2}", 13, &err));
    assert_null(pkb_json_parse("{\"a\":", 5, &err));
    assert_null(pkb_json_parse("{\"n\":1\0}", 8, &err));
    assert_string_equal(err.text, "byte 7 is a NUL");
    json_t *v = pkb_json_parse("{\"n\": 10}", 9, &err);
    assert_int_equal(pkb_json_int(v, "n", 0, 10, &n, &err), 0);
    assert_int_equal(n, 10);
    json_decref(v);
    assert_true(json_is_null(pkb_json_number(0.0 / 0.0)));
}

static void tuning_is_an_allow_list(void **state)
{
    (void)state;
    static const char *const variables[][2] = {
        {"NCCL_NVLS_ENABLE", "0"}, {"UCX_TLS", "sm,self"}, {"PKB_NVLS", "1"},        {"PKB_NVLS_TOKEN", "secret"},
        {"PKB_JOB", "1"},          {"XNCCL_A", "1"},       {"AWS_SECRET", "secret"}, {"NCCL_A", "\xff"},
    };
    extern char **environ;
    char *nothing[] = {NULL}, **before = environ;
    environ = nothing;
    json_t *none = tuning_variables();
    char *text = tuning_text(none);
    assert_string_equal(text, "");
    free(text);
    json_decref(none);
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        assert_int_equal(setenv(variables[i][0], variables[i][1], 1), 0);
    json_t *some = tuning_variables();
    text = tuning_text(some);
    assert_string_equal(text, "NCCL_A=(not UTF-8) NCCL_NVLS_ENABLE=0 PKB_NVLS=1 UCX_TLS=sm,self");
    free(text);
    json_decref(some);
    text = tuning_text(NULL);
    assert_string_equal(text, "");
    free(text);
    environ = before;
}

static int run(const char *const *argv, int timeout_ms, int *status, struct pkb_error *err)
{
    struct process_spec spec = {.argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1};
    return process_run(&spec, timeout_ms, status, err);
}

static void a_failed_exec_names_the_program(void **state)
{
    (void)state;
    struct pkb_error err;
    int status;
    const char *argv[] = {"/nonexistent/program", NULL};
    assert_int_equal(run(argv, 1000, &status, &err), -1);
    assert_string_equal(err.text, "cannot execute /nonexistent/program: No such file or directory");
}

static void children_end_as_they_should(void **state)
{
    (void)state;
    struct pkb_error err;
    char text[128];
    int status;
    const char *three[] = {"/bin/sh", "-c", "exit 3", NULL};
    assert_int_equal(run(three, 5000, &status, &err), 0);
    process_describe_status(status, text, sizeof(text));
    assert_string_equal(text, "exited with code 3");
    const char *segv[] = {"/bin/sh", "-c", "kill -SEGV $$", NULL};
    assert_int_equal(run(segv, 5000, &status, &err), 0);
    process_describe_status(status, text, sizeof(text));
    assert_string_equal(text, "killed by signal 11 (Segmentation fault)");
    const char *hang[] = {"/bin/sh", "-c", "trap '' TERM; sleep 100 & wait", NULL};
    int64_t start = pkb_now_ns();
    assert_int_equal(run(hang, 100, &status, &err), 1);
    assert_true(pkb_now_ns() - start < 5000000000);
}

static void a_child_has_only_the_descriptors_it_was_given(void **state)
{
    (void)state;
    struct pkb_error err;
    int status, out[2], given = open("/dev/null", O_RDONLY); /* given, out: inheritable on purpose */
    assert_true(given >= 0);
    assert_int_equal(pipe(out), 0);
    const char *argv[] = {"/bin/sh", "-c", "ls /proc/self/fd | tr '\\n' ' '; echo ${HOME:-none} $ONLY", NULL};
    const char *env[] = {"PATH=/bin:/usr/bin", "ONLY=this", NULL};
    struct process_spec spec = {
        .argv = argv, .env = env, .stdin_fd = -1, .stdout_fd = out[1], .stderr_fd = -1, .fds = {given}, .n_fds = 1};
    assert_int_equal(process_run(&spec, 5000, &status, &err), 0);
    char text[256] = "";
    ssize_t n = read(out[0], text, sizeof(text) - 1);
    assert_true(n > 0);
    assert_string_equal(text, "0 1 2 3 4 none this\n"); /* 4: the folder that ls reads */
    close(given);
    close(out[0]);
    close(out[1]);
}

static void limits_hold(void **state)
{
    (void)state;
    struct pkb_error err;
    int status;
    char *path = in_folder("big");
    const char *argv[] = {"/bin/dd", "if=/dev/zero", NULL, "bs=1024", "count=100", NULL};
    char *of = pkb_format(NULL, "of=%s", path);
    argv[2] = of;
    struct process_spec spec = {
        .argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .file_bytes = 4096, .no_core = true};
    assert_int_equal(process_run(&spec, 5000, &status, &err), 0);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 4096);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
    free(path);
    free(of);
}

static void waits_for_a_core_are_counted(void **state)
{
    (void)state;
    assert_true(process_queue_wait(getpid()) >= 0);
    assert_int_equal(process_queue_wait(0), -1);
    assert_int_equal(process_queue_wait(-1), -1);
    assert_int_equal(process_queue_wait(0x7fffffff), -1);
}

static void suggestions_are_near(void **state)
{
    (void)state;
    static const char *const words[] = {"problems", "models", "samples", "gpus"};
    static const struct {
        const char *word, *want;
    } rows[] = {
        {"problem", "problems"},
        {"Models", "models"},
        {"smaples", "samples"},
        {"gpu", "gpus"},
        {"zzzz", NULL},
        {"", NULL},
        {"x", NULL},
        {"iterations", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *got = pkb_suggest(rows[i].word, words, 4);
        if (rows[i].want)
            assert_string_equal(got, rows[i].want);
        else
            assert_null(got);
    }
}

static void times_are_read_back(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t seconds;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2026-01-02T03:04:05Z", 1767323045},
        {"2024-02-29T23:59:59Z", 1709251199},
        {"", -1},
        {"2026-01-02", -1},
        {"2026-01-02T03:04:05", -1},
        {"2026-01-02T03:04:05Z ", -1},
        {"2026-13-02T03:04:05Z", -1},
        {"yesterday", -1},
    };
    char now[32];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (pkb_utc_seconds(rows[i].text) != rows[i].seconds)
            fail_msg("'%s': %lld", rows[i].text, (long long)pkb_utc_seconds(rows[i].text));
    pkb_utc_now(now, sizeof(now));
    assert_true(llabs(pkb_utc_seconds(now) - (int64_t)time(NULL)) <= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_read_from_the_outside_in),
        cmocka_unit_test(times_are_read_back),
        cmocka_unit_test(a_long_error_is_cut_not_overrun),
        cmocka_unit_test(files_are_replaced_at_once),
        cmocka_unit_test(many_files_are_put_then_made_durable),
        cmocka_unit_test(trees_are_removed_without_following_links),
        cmocka_unit_test(digests_match_known_answers),
        cmocka_unit_test(tuning_is_an_allow_list),
        cmocka_unit_test(json_members_are_checked),
        cmocka_unit_test(a_failed_exec_names_the_program),
        cmocka_unit_test(children_end_as_they_should),
        cmocka_unit_test(a_child_has_only_the_descriptors_it_was_given),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(waits_for_a_core_are_counted),
        cmocka_unit_test(suggestions_are_near),
    };
    return cmocka_run_group_tests_name("util", tests, test_folder_make, test_folder_remove);
}
