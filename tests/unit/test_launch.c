/* SPDX-License-Identifier: Apache-2.0 */
/* pkb-launch-local with a small PMIx client: worlds that work, and every way in which a rank can fail. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/clock.h"
#include "util/file.h"
#include "util/paths.h"
#include "util/process.h"

/* Races show in the build without sanitizers, in which a world starts ten times as fast. */
#ifdef __SANITIZE_ADDRESS__
#define REPEATS 4
#else
#define REPEATS 20
#endif
#define LIMIT_MS 20000

static char *launcher;
static char client[4096];
static char dir[256];

/* ---- helpers --------------------------------------------------------------------------------------------------------- */

struct outcome {
    int status;
    char out[256];
};

static struct process start(const char *ranks, const char *command, const char *act, const char *who, int out)
{
    const char *argv[] = {launcher, "--ranks", ranks,   "--grace", "60", "--stop", "300", "--log",
                          dir,      "--",      command, act,       who,  dir,      ranks, NULL};
    struct process_spec spec = {.argv = argv, .stdin_fd = -1, .stdout_fd = out, .stderr_fd = -1};
    struct process p;
    struct pkb_error err;
    if (process_spawn(&spec, &p, &err) < 0)
        fail_msg("%s", err.text);
    return p;
}

static int finish(struct process *p)
{
    struct pkb_error err;
    int status = -1;
    int rc = process_wait(p, LIMIT_MS, &status, &err);
    if (rc != 1) {
        process_kill(p);
        fail_msg("the launcher does not end");
    }
    return status;
}

static struct outcome run(const char *ranks, const char *command, const char *act, const char *who)
{
    struct outcome o = {0};
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    struct process p = start(ranks, command, act, who, fds[1]);
    (void)close(fds[1]);
    o.status = finish(&p);
    ssize_t n = read(fds[0], o.out, sizeof(o.out) - 1);
    assert_true(n >= 0);
    (void)close(fds[0]);
    return o;
}

static long noted(const char *name, int rank)
{
    char path[512], text[32] = "";
    (void)snprintf(path, sizeof(path), rank >= 0 ? "%s/%s.%d" : "%s/%s", dir, name, rank);
    FILE *f = fopen(path, "re");
    if (!f)
        return -1;
    char *line = fgets(text, sizeof(text), f);
    (void)fclose(f);
    return line && strchr(text, '\n') ? strtol(text, NULL, 10) : -1;
}

static long wait_noted(const char *name, int rank)
{
    int64_t end = pkb_now_ns() + (int64_t)LIMIT_MS * 1000000;
    while (pkb_now_ns() < end) {
        long pid = noted(name, rank);
        if (pid > 0)
            return pid;
        (void)usleep(1000);
    }
    fail_msg("%s.%d does not appear", name, rank);
    return -1;
}

/* Ended; a zombie that its new parent has not buried yet counts as such. */
static bool ended(long pid)
{
    char path[64], text[512] = "";
    (void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return errno == ENOENT;
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    (void)fclose(f);
    const char *state = n > 0 ? strrchr(text, ')') : NULL;
    return n == 0 || (state && state[1] == ' ' && state[2] == 'Z');
}

/* A process that is gone, or about to be. */
static void assert_gone(long pid)
{
    int64_t end = pkb_now_ns() + (int64_t)LIMIT_MS * 1000000;
    assert_true(pid > 0);
    while (!ended(pid)) {
        if (pkb_now_ns() > end)
            fail_msg("process %ld is still there", pid);
        (void)usleep(1000);
    }
}

/* Nothing is left of a world: no process, and no file beside our notes and logs (TMPDIR is the same folder). */
static void assert_clean(int ranks)
{
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        if (e->d_name[0] != '.' && strncmp(e->d_name, "agent-", 6) != 0 && strncmp(e->d_name, "pid.", 4) != 0 &&
            strncmp(e->d_name, "ready.", 6) != 0 && strcmp(e->d_name, "orphan") != 0)
            fail_msg("%s/%s was left behind", dir, e->d_name);
    (void)closedir(d);
    for (int r = 0; r < ranks; r++)
        assert_gone(noted("pid", r));
}

static int setup(void **state)
{
    char text[] = "/tmp/pkb-test-launch.XXXXXX";
    (void)state;
    if (!mkdtemp(text))
        return -1;
    (void)snprintf(dir, sizeof(dir), "%s", text);
    return setenv("TMPDIR", dir, 1);
}

static int teardown(void **state)
{
    (void)state;
    return pkb_remove_tree(dir, NULL);
}

/* For the next world: pids of an earlier one would be found gone, whatever this one leaves. */
static void renew(void)
{
    assert_int_equal(teardown(NULL), 0);
    assert_int_equal(mkdir(dir, 0700), 0);
}

static int code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- tests ----------------------------------------------------------------------------------------------------------- */

static void test_worlds(void **state)
{
    static const int sizes[] = {1, 2, 8};
    (void)state;
    for (int i = 0; i < REPEATS; i++) {
        char ranks[16], want[32];
        int n = sizes[i % 3];
        (void)snprintf(ranks, sizeof(ranks), "%d", n);
        (void)snprintf(want, sizeof(want), "ok %d\n", n);
        struct outcome o = run(ranks, client, "ok", "0");
        assert_int_equal(code_of(o.status), 0);
        assert_string_equal(o.out, want);
        assert_clean(n);
        renew();
    }
}

static void test_failures(void **state)
{
    static const struct {
        const char *act, *who;
        int code;
        int or_code; /* of the others, when they notice before the launcher can: 0 if that cannot be */
    } rows[] = {
        {"early", "1", 3, 0},        {"early", "0", 3, 0},  {"fence", "2", 137, 0},
        {"fence", "0", 137, 0},      {"after", "1", 4, 0},  {"silent", "2", 121, 0},
        {"unfinished", "1", 121, 5}, {"early", "-1", 3, 0}, {"orphan", "1", 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int repeat = 0; repeat < REPEATS / 2; repeat++) {
            struct outcome o = run("4", client, rows[i].act, rows[i].who);
            if (code_of(o.status) != rows[i].code && (rows[i].or_code == 0 || code_of(o.status) != rows[i].or_code))
                fail_msg("%s on rank %s: code %d", rows[i].act, rows[i].who, code_of(o.status));
            assert_clean(4);
            renew();
        }
    }
}

static void test_orphan_is_killed(void **state)
{
    (void)state;
    struct outcome o = run("2", client, "orphan", "1");
    assert_int_equal(code_of(o.status), 0);
    long pid = noted("orphan", -1);
    if (pid > 0) /* it may have been killed before it wrote its number */
        assert_gone(pid);
}

static void test_all_silent(void **state)
{
    (void)state;
    struct outcome o = run("4", client, "silent", "-1"); /* no world was ever joined: plain programs may run */
    assert_int_equal(code_of(o.status), 0);
}

static void test_no_command(void **state)
{
    (void)state;
    assert_int_equal(code_of(run("2", "/no/such/program", "x", "0").status), 127);
    assert_int_equal(code_of(run("2", "/etc/passwd", "x", "0").status), 127);
}

static void test_usage(void **state)
{
    static const char *const bad[] = {"0", "-1", "1025", "2x", "", "99999999999999999999"};
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(code_of(run(bad[i], client, "ok", "0").status), 2);
}

/* A rank that a signal does not impress is killed after the bound. */
static void stop_with(const char *act, int signal, int code)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct process p = start("3", client, act, "1", null);
    for (int r = 0; r < 3; r++)
        (void)wait_noted("ready", r);
    assert_int_equal(kill(p.pid, signal), 0);
    assert_int_equal(code_of(finish(&p)), code);
    (void)close(null);
    assert_clean(3);
}

static void test_stopped(void **state)
{
    (void)state;
    stop_with("wait", SIGTERM, 128 + SIGTERM);
}

static void test_stopped_by_force(void **state)
{
    (void)state;
    stop_with("hang", SIGTERM, 128 + SIGTERM);
}

static void test_interrupted(void **state)
{
    (void)state;
    stop_with("wait", SIGINT, 128 + SIGINT);
}

/* The launcher's own death takes the ranks along. */
static void test_launcher_killed(void **state)
{
    int status;
    (void)state;
    for (int i = 0; i < REPEATS / 2; i++) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        struct process p = start("3", client, "hang", "-1", null);
        for (int r = 0; r < 3; r++)
            (void)wait_noted("ready", r);
        assert_int_equal(kill(p.pid, SIGKILL), 0);
        status = finish(&p);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        (void)close(null);
        assert_clean(3);
        renew();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_worlds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failures, setup, teardown),
        cmocka_unit_test_setup_teardown(test_orphan_is_killed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_silent, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_command, setup, teardown),
        cmocka_unit_test_setup_teardown(test_usage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stopped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stopped_by_force, setup, teardown),
        cmocka_unit_test_setup_teardown(test_interrupted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_launcher_killed, setup, teardown),
    };
    launcher = pkb_path(PKB_PATH_LIBEXEC, "pkb-launch-local", NULL);
    if (!launcher)
        return 1;
    (void)snprintf(client, sizeof(client), "%.*s/tests/support/pmix_client", (int)(strstr(launcher, "/libexec/") - launcher),
                   launcher);
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    free(launcher);
    return rc;
}
