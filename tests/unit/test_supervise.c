/* SPDX-License-Identifier: Apache-2.0 */
/* Supervision against programs that misbehave: whatever a runner does, the agent sees it in time and nothing stays behind. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "node_agent/leftovers.h"
#include "node_agent/segment.h"
#include "node_agent/supervise.h"
#include "util/clock.h"
#include "util/file.h"

#define HOSTILE "tests/unit/hostile" /* of the build folder, where make runs the tests */
#define SECONDS 1000000000LL

struct fixture {
    char folder[64], log_path[96], prefix[96];
    struct supervisor *supervisor;
    struct segment memory;
    struct runner *runner;
};

static int set_up(void **state)
{
    static struct fixture f;
    struct pkb_error err;
    memset(&f, 0, sizeof(f));
    (void)strcpy(f.folder, "/tmp/pkb-test-XXXXXX");
    assert_non_null(mkdtemp(f.folder));
    (void)snprintf(f.log_path, sizeof(f.log_path), "%s/runner.log", f.folder);
    assert_int_equal(segment_create("test", 4096, &f.memory, &err), 0);
    *state = &f;
    return 0;
}

static void assert_nothing_left(const struct fixture *f)
{
    DIR *d = opendir("/dev/shm");
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        assert_true(strncmp(e->d_name, f->prefix + 1, strlen(f->prefix + 1)) != 0);
    (void)closedir(d);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child, adopted ones included */
    assert_int_equal(errno, ECHILD);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    int64_t start = pkb_now_ns();
    runner_destroy(f->runner);
    assert_true(pkb_now_ns() - start < 5 * SECONDS);
    supervisor_destroy(f->supervisor);
    segment_destroy(&f->memory);
    assert_nothing_left(f);
    return pkb_remove_tree(f->folder, NULL);
}

static void start(struct fixture *f, const char *mode)
{
    struct pkb_error err = {""};
    struct runner_spec spec = {.title = mode, .log_path = f->log_path, .inputs = f->memory.fd, .results = f->memory.fd};
    char prefix[64];
    leftovers_prefix(prefix, sizeof(prefix));
    (void)snprintf(f->prefix, sizeof(f->prefix), "%s.0.", prefix);
    assert_int_equal(setenv("PKB_HOSTILE", mode, 1), 0);
    assert_int_equal(setenv("PKB_HOSTILE_PREFIX", f->prefix, 1), 0);
    f->supervisor = supervisor_create(HOSTILE, prefix, &err);
    assert_non_null(f->supervisor);
    f->runner = runner_start(f->supervisor, &spec, &err);
    if (!f->runner)
        fail_msg("%s", err.text);
    assert_string_equal(runner_shm_prefix(f->runner), f->prefix);
}

/* The next event within a limit; RUNNER_QUIET when there is none. */
static enum runner_event next_event(struct fixture *f, int limit_ms, json_t **message)
{
    int64_t deadline = pkb_now_ns() + limit_ms * 1000000LL;
    for (;;) {
        struct pollfd fds[RUNNER_POLLFDS];
        enum runner_event event = runner_progress(f->runner, message);
        int64_t left = (deadline - pkb_now_ns()) / 1000000;
        if (event != RUNNER_QUIET || left <= 0)
            return event;
        runner_pollfds(f->runner, fds);
        (void)poll(fds, RUNNER_POLLFDS, (int)left + 1);
    }
}

static void expect_broken(struct fixture *f, const char *mode, const char *text)
{
    json_t *message;
    struct runner_end end;
    start(f, mode);
    assert_int_equal(next_event(f, 20000, &message), RUNNER_BROKEN);
    runner_end(f->runner, &end);
    assert_true(end.broken);
    if (!strstr(end.text, text))
        fail_msg("'%s' does not say '%s'", end.text, text);
    assert_false(runner_alive(f->runner));
}

static void expect_end(struct fixture *f, const char *mode, struct runner_end *end)
{
    json_t *message;
    start(f, mode);
    assert_int_equal(next_event(f, 20000, &message), RUNNER_ENDED);
    runner_end(f->runner, end);
    assert_false(end->broken);
}

static void messages_go_both_ways(void **state)
{
    struct fixture *f = *state;
    json_t *message, *sent = json_pack("{s:s}", "do", "start");
    start(f, "echo");
    assert_int_equal(runner_send(f->runner, sent, NULL), 0);
    assert_int_equal(next_event(f, 20000, &message), RUNNER_MESSAGE);
    assert_true(json_equal(message, sent));
    json_decref(message);
    json_decref(sent);
    assert_true(runner_alive(f->runner));
}

static void nothing_of_the_launcher_reaches_it(void **state)
{
    struct fixture *f = *state;
    json_t *message;
    int leak = dup(STDERR_FILENO); /* an open descriptor without close-on-exec */
    assert_int_equal(setenv("PMIX_RANK", "0", 1) | setenv("SLURM_JOB_ID", "1", 1) | setenv("SECRET_TOKEN", "x", 1), 0);
    start(f, "show");
    assert_int_equal(next_event(f, 20000, &message), RUNNER_MESSAGE);
    assert_int_equal(json_integer_value(json_object_get(message, "bad")), 0);
    assert_int_equal(json_integer_value(json_object_get(message, "fds")), 7);
    json_decref(message);
    (void)close(leak);
    assert_int_equal(unsetenv("PMIX_RANK") | unsetenv("SLURM_JOB_ID") | unsetenv("SECRET_TOKEN"), 0);
}

static void a_runner_that_never_reads_blocks_nobody(void **state)
{
    struct fixture *f = *state;
    json_t *message, *value = json_object(), *text = json_string("");
    start(f, "never_read");
    char *large = calloc(1, 4 << 20);
    assert_non_null(large);
    memset(large, 'x', (4 << 20) - 1);
    assert_int_equal(json_string_set(text, large), 0);
    assert_int_equal(json_object_set_new(value, "text", text), 0);
    free(large);
    int64_t begin = pkb_now_ns();
    int sent = 0;
    while (sent < 200 && runner_send(f->runner, value, NULL) == 0)
        sent++;
    assert_in_range(sent, 10, 20); /* refused at some amount, without waiting */
    assert_true(pkb_now_ns() - begin < 15 * SECONDS);
    json_decref(value);
    assert_int_equal(next_event(f, 50, &message), RUNNER_QUIET);
}

static void a_flooded_log_stays_small(void **state)
{
    struct fixture *f = *state;
    struct stat s;
    json_t *message;
    char last[101];
    start(f, "flood_log");
    assert_int_equal(next_event(f, 300, &message), RUNNER_QUIET);
    runner_output(f->runner, last, sizeof(last));
    assert_int_equal(strspn(last, "x"), 100);
    runner_destroy(f->runner);
    f->runner = NULL;
    assert_int_equal(stat(f->log_path, &s), 0);
    assert_in_range(s.st_size, 128 << 10, (128 << 10) + 200);
}

static void a_flood_of_messages_is_one_at_a_time(void **state)
{
    struct fixture *f = *state;
    start(f, "flood_messages");
    for (int i = 0; i < 1000; i++) {
        json_t *message;
        assert_int_equal(next_event(f, 20000, &message), RUNNER_MESSAGE);
        json_decref(message);
    }
}

static void an_endless_line_is_cut(void **state)
{
    expect_broken(*state, "endless_line", "longer than");
}

static void text_that_is_not_json(void **state)
{
    expect_broken(*state, "not_json", "not JSON");
}

static void json_that_is_not_an_object(void **state)
{
    expect_broken(*state, "not_an_object", "not a JSON object");
}

static void a_closed_socket_is_noticed(void **state)
{
    expect_broken(*state, "close_socket", "closed its control socket");
}

static void a_stopped_runner_is_killed(void **state)
{
    struct fixture *f = *state;
    json_t *message;
    start(f, "stop_itself");
    assert_int_equal(next_event(f, 50, &message), RUNNER_QUIET);
    runner_kill(f->runner);
    assert_false(runner_alive(f->runner));
    runner_kill(f->runner); /* twice is fine */
}

static void escaped_children_and_memory_are_removed(void **state)
{
    struct fixture *f = *state;
    json_t *message;
    struct runner_end end;
    start(f, "leave_things");
    assert_int_equal(next_event(f, 20000, &message), RUNNER_MESSAGE);
    json_decref(message);
    assert_int_equal(next_event(f, 20000, &message), RUNNER_ENDED);
    runner_end(f->runner, &end);
    assert_true(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0);
}

static void exit_in_the_middle(void **state)
{
    struct runner_end end;
    expect_end(*state, "exit_inside", &end);
    assert_true(end.inside && !end.refused && WIFEXITED(end.status));
    assert_string_equal(end.stage, "in pkb_solution, trial 2");
}

static void crash_with_a_refused_allocation(void **state)
{
    struct runner_end end;
    expect_end(*state, "crash_after_refusal", &end);
    assert_true(end.inside && end.refused && WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGSEGV);
}

static void what_it_said_comes_before_its_end(void **state)
{
    struct fixture *f = *state;
    json_t *message;
    char output[64];
    start(f, "last_words");
    assert_int_equal(next_event(f, 20000, &message), RUNNER_MESSAGE);
    assert_string_equal(json_string_value(json_object_get(message, "failed")), "load_error");
    json_decref(message);
    assert_int_equal(next_event(f, 20000, &message), RUNNER_ENDED);
    runner_output(f->runner, output, sizeof(output));
    assert_string_equal(output, "first line\nlast ?? words");
}

static void an_overwritten_status_page_is_harmless(void **state)
{
    struct fixture *f = *state;
    json_t *message;
    char stage[128];
    start(f, "overwrite_status");
    assert_int_equal(next_event(f, 20000, &message), RUNNER_MESSAGE);
    json_decref(message);
    runner_stage(f->runner, stage, sizeof(stage));
    assert_non_null(strstr(stage, "unknown stage"));
}

static void a_program_that_is_not_there(void **state)
{
    struct fixture *f = *state;
    struct pkb_error err;
    struct runner_spec spec = {.title = "x", .log_path = f->log_path, .inputs = f->memory.fd, .results = f->memory.fd};
    (void)snprintf(f->prefix, sizeof(f->prefix), "/pkb.none");
    f->supervisor = supervisor_create("/no/such/runner", "/pkb.none", &err);
    assert_non_null(f->supervisor);
    assert_null(runner_start(f->supervisor, &spec, &err));
    assert_non_null(strstr(err.text, "/no/such/runner"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(messages_go_both_ways),
        TEST(nothing_of_the_launcher_reaches_it),
        TEST(a_runner_that_never_reads_blocks_nobody),
        TEST(a_flooded_log_stays_small),
        TEST(a_flood_of_messages_is_one_at_a_time),
        TEST(an_endless_line_is_cut),
        TEST(text_that_is_not_json),
        TEST(json_that_is_not_an_object),
        TEST(a_closed_socket_is_noticed),
        TEST(a_stopped_runner_is_killed),
        TEST(escaped_children_and_memory_are_removed),
        TEST(exit_in_the_middle),
        TEST(crash_with_a_refused_allocation),
        TEST(what_it_said_comes_before_its_end),
        TEST(an_overwritten_status_page_is_harmless),
        TEST(a_program_that_is_not_there),
    };
    (void)alarm(120); /* nothing here may hang */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
