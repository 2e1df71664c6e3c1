/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/one_cell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sweeps/plan_parts.h"
#include "util/clock.h"
#include "util/json.h"
#include "util/paths.h"

#define TRIALS 3

/* ---- life -------------------------------------------------------------------------------------------------------------- */

static void open_rank(struct one_cell *c, int q)
{
    struct one_rank *r = &c->ranks[q];
    struct pkb_error err;
    r->process = PROCESS_NONE;
    plan_setting_for_rank(&c->setting, q, &r->setting);
    if (segment_layout_make(&r->setting, TRIALS, ONE_CELL_TIMED_SETS, ONE_CELL_SAMPLES, 0, &r->layout, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(segment_create("inputs", r->layout.inputs_size, &r->inputs, NULL), 0);
    assert_int_equal(segment_create("expected", r->layout.expected_size, &r->expected, NULL), 0);
    assert_int_equal(segment_create("slots", r->layout.slots_size, &r->slots, NULL), 0);
    assert_int_equal(segment_create("status", sizeof(struct runner_status), &r->page, NULL), 0);
}

void one_cell_open(struct one_cell *c, const char *problem, int world, const double *params)
{
    struct problem_setting tiny;
    memset(c, 0, sizeof(*c));
    const struct problem *p = problem_by_name(problem);
    assert_non_null(p);
    problem_setting_init(&tiny, p, SHAPE_TINY, PKB_F32, 0, world);
    c->setting = (struct plan_setting){.problem = p,
                                       .world = world,
                                       .dtype = PKB_F32,
                                       .shape = "tiny",
                                       .device = "host",
                                       .trials = TRIALS,
                                       .warmup = 40,
                                       .iterations = 20,
                                       .seed = 11,
                                       .atol = 0.01,
                                       .rtol = 0.01,
                                       .limit_seconds = 60};
    memcpy(c->setting.params, params ? params : tiny.params, (size_t)p->n_params * sizeof(double));
    assert_int_equal(plan_setting_seal(&c->setting, NULL), 0);
    c->world = world;
    c->timeout_ms = 30000;
    c->log = memfd_create("log", MFD_CLOEXEC);
    assert_true(c->log >= 0);
    for (int q = 0; q < world; q++)
        open_rank(c, q);
}

static void end_rank(struct one_rank *r)
{
    process_kill(&r->process);
    if (r->group > 0)
        (void)kill(-r->group, SIGKILL); /* what it has left behind */
    r->group = 0;
    lines_destroy(r->lines);
    r->lines = NULL;
    json_decref(r->answer);
    json_decref(r->blob);
    r->answer = r->blob = NULL;
}

void one_cell_close(struct one_cell *c)
{
    for (int q = 0; q < c->world; q++) {
        struct one_rank *r = &c->ranks[q];
        end_rank(r);
        segment_destroy(&r->inputs);
        segment_destroy(&r->expected);
        segment_destroy(&r->slots);
        segment_destroy(&r->page);
    }
    (void)close(c->log);
}

/* ---- what happened ------------------------------------------------------------------------------------------------------- */

static int ended(struct one_cell *c, int q, enum outcome outcome, const char *detail)
{
    c->outcome = outcome;
    c->rank = q;
    (void)snprintf(c->detail, sizeof(c->detail), "%s", detail);
    return -1;
}

static int died(struct one_cell *c, int q)
{
    struct runner_status *page = c->ranks[q].page.data;
    char text[200], where[100];
    int status = 0;
    assert_int_equal(process_wait(&c->ranks[q].process, 20000, &status, NULL), 1);
    process_describe_status(status, text, sizeof(text));
    runner_status_describe(page, where, sizeof(where));
    (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s", where);
    if (atomic_load(&page->alloc_refused))
        return ended(c, q, OUTCOME_OUT_OF_MEMORY, text);
    return ended(c, q, WIFSIGNALED(status) ? OUTCOME_CRASH : OUTCOME_RUNTIME_ERROR, text);
}

static int timed_out(struct one_cell *c)
{
    char text[500] = "", where[100];
    for (int q = 0; q < c->world; q++) {
        runner_status_describe(c->ranks[q].page.data, where, sizeof(where));
        size_t n = strlen(text);
        (void)snprintf(text + n, sizeof(text) - n, "%srank %d %s", n ? "; " : "", q, where);
    }
    return ended(c, -1, OUTCOME_DEADLOCK, text);
}

/* ---- commands ------------------------------------------------------------------------------------------------------------ */

void one_cell_spawn(struct one_cell *c, int q, const char *role)
{
    struct one_rank *r = &c->ranks[q];
    static const char *const env[] = {"PATH=/usr/bin:/bin", "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1", NULL};
    int pair[2];
    struct pkb_error err;
    char *path = pkb_path(PKB_PATH_LIBEXEC, "pkb-runner", &err);
    assert_non_null(path);
    const char *argv[] = {path, NULL};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    const struct process_spec spec = {
        .argv = argv,
        .env = env,
        .stdin_fd = -1,
        .stdout_fd = c->log,
        .stderr_fd = c->log,
        .fds = {pair[1], r->inputs.fd, strcmp(role, "reference") == 0 ? r->expected.fd : r->slots.fd, r->page.fd},
        .n_fds = 4,
        .no_core = true,
        .address_space = strcmp(role, "reference") == 0 ? 0 : c->address_space,
    };
    memset(r->page.data, 0, sizeof(struct runner_status));
    if (process_spawn(&spec, &r->process, &err) < 0)
        fail_msg("%s", err.text);
    r->group = r->process.pid;
    (void)close(pair[1]);
    free(path);
    r->lines = lines_create(pair[0], NULL);
    assert_non_null(r->lines);
}

json_t *one_cell_start_message(const struct one_cell *c, int q, const char *role, const char *object)
{
    char prefix[64];
    json_t *nodes = json_array();
    (void)snprintf(prefix, sizeof(prefix), "/pkb.test.%d", (int)getpid());
    for (int i = 0; i < c->world; i++)
        (void)json_array_append_new(nodes, json_integer(0));
    json_t *message =
        json_pack("{s:s, s:s, s:s, s:i, s:i, s:o, s:i, s:o, s:i, s:i, s:s}", "do", "start", "role", role, "backend", "host",
                  "rank", q, "world", c->world, "node_of_rank", nodes, "device", 0, "setting", plan_setting_encode(&c->setting),
                  "samples", ONE_CELL_SAMPLES, "timed_sets", ONE_CELL_TIMED_SETS, "shm_prefix", prefix);
    assert_non_null(message);
    if (object)
        assert_int_equal(json_object_set_new(message, "object", json_string(object)), 0);
    return message;
}

static int take_message(struct one_cell *c, int q, json_t *message)
{
    struct one_rank *r = &c->ranks[q];
    json_t *blob = json_object_get(message, "exchange"), *failed = json_object_get(message, "failed");
    if (failed) {
        const char *detail = json_string_value(json_object_get(message, "detail"));
        int rc = ended(c, q, (enum outcome)outcome_parse(json_string_value(failed)), detail ? detail : "");
        json_decref(message);
        return rc;
    }
    if (blob && !r->blob) {
        r->blob = json_incref(blob);
        json_decref(message);
        return 0;
    }
    if (!json_object_get(message, "did") || r->answer) {
        json_decref(message);
        return ended(c, q, OUTCOME_TAMPERING, "a message that makes no sense");
    }
    r->answer = message;
    int64_t queue = process_queue_wait(r->process.pid);
    r->wall_ns = (double)(pkb_now_ns() - r->sent_ns);
    r->queue_ns = queue < 0 || r->queue_before < 0 ? -1 : (double)(queue - r->queue_before);
    return 0;
}

static void serve_exchange(struct one_cell *c)
{
    json_t *all = json_array();
    for (int q = 0; q < c->world; q++) {
        if (!c->ranks[q].blob) {
            json_decref(all);
            return;
        }
        (void)json_array_append(all, c->ranks[q].blob);
    }
    json_t *message = json_pack("{s:o}", "all", all);
    for (int q = 0; q < c->world; q++) {
        assert_int_equal(lines_send(c->ranks[q].lines, message, 5000, NULL), 0);
        json_decref(c->ranks[q].blob);
        c->ranks[q].blob = NULL;
    }
    json_decref(message);
}

/* Reads what one rank has to say without waiting. */
static int listen_to(struct one_cell *c, int q)
{
    json_t *message;
    struct pkb_error err;
    int rc;
    while ((rc = lines_receive(c->ranks[q].lines, 0, &message, &err)) == 1)
        if (take_message(c, q, message) < 0)
            return -1;
    if (rc == -2)
        return died(c, q);
    return rc == -1 ? ended(c, q, OUTCOME_TAMPERING, err.text) : 0;
}

static bool all_answered(const struct one_cell *c)
{
    for (int q = 0; q < c->world; q++)
        if (!c->ranks[q].answer)
            return false;
    return true;
}

static int wait_for_answers(struct one_cell *c)
{
    int64_t deadline = pkb_now_ns() + (int64_t)c->timeout_ms * 1000000;
    while (!all_answered(c)) {
        struct pollfd fds[2 * ONE_CELL_MAX_WORLD];
        int64_t left = (deadline - pkb_now_ns()) / 1000000;
        if (left < 0)
            return timed_out(c);
        for (int q = 0; q < c->world; q++) {
            fds[2 * q] = (struct pollfd){.fd = lines_fd(c->ranks[q].lines), .events = POLLIN};
            fds[2 * q + 1] = (struct pollfd){.fd = c->ranks[q].process.pidfd, .events = POLLIN};
        }
        assert_true(poll(fds, 2 * (nfds_t)c->world, (int)left + 1) >= 0);
        for (int q = 0; q < c->world; q++) {
            if (fds[2 * q].revents && listen_to(c, q) < 0)
                return -1;
            if (fds[2 * q + 1].revents) /* even when a grandchild holds the socket */
                return listen_to(c, q) < 0 ? -1 : died(c, q);
        }
        serve_exchange(c);
    }
    return 0;
}

int one_cell_command(struct one_cell *c, json_t *command)
{
    assert_non_null(command);
    for (int q = 0; q < c->world; q++) {
        json_decref(c->ranks[q].answer);
        c->ranks[q].answer = NULL;
        c->ranks[q].sent_ns = pkb_now_ns();
        c->ranks[q].queue_before = process_queue_wait(c->ranks[q].process.pid);
        (void)lines_send(c->ranks[q].lines, command, 5000, NULL);
    }
    json_decref(command);
    return wait_for_answers(c);
}

int one_cell_start(struct one_cell *c, const char *role, const char *object)
{
    for (int q = 0; q < c->world; q++) {
        one_cell_spawn(c, q, role);
        json_t *message = one_cell_start_message(c, q, role, object);
        assert_int_equal(lines_send(c->ranks[q].lines, message, 5000, NULL), 0);
        json_decref(message);
    }
    return wait_for_answers(c);
}

void one_cell_quit(struct one_cell *c)
{
    json_t *quit = json_pack("{s:s}", "do", "quit");
    for (int q = 0; q < c->world; q++) {
        struct one_rank *r = &c->ranks[q];
        int status = -1;
        if (c->outcome == OUTCOME_CORRECT) {
            assert_int_equal(lines_send(r->lines, quit, 5000, NULL), 0);
            assert_int_equal(process_wait(&r->process, 20000, &status, NULL), 1);
            assert_int_equal(status, 0);
        }
        end_rank(r);
    }
    json_decref(quit);
}

void one_cell_loop(const struct one_cell *c, struct one_loop *copy)
{
    for (int q = 0; q < c->world; q++) {
        const json_t *ns = json_object_get(c->ranks[q].answer, "ns");
        copy->ns[q] = calloc((size_t)c->setting.iterations, sizeof(double));
        assert_non_null(copy->ns[q]);
        for (int i = 0; i < c->setting.iterations; i++)
            copy->ns[q][i] = json_number_value(json_array_get(ns, (size_t)i));
        copy->wall[q] = c->ranks[q].wall_ns;
        copy->queue[q] = c->ranks[q].queue_ns;
    }
    copy->loop = (struct judge_loop){c->world, c->setting.iterations, (const double *const *)copy->ns, copy->wall, copy->queue};
}

void one_loop_free(struct one_loop *copy)
{
    for (int q = 0; q < copy->loop.world; q++)
        free(copy->ns[q]);
}

/* ---- whole ways ---------------------------------------------------------------------------------------------------------- */

void one_cell_reference(struct one_cell *c)
{
    if (one_cell_start(c, "reference", NULL) < 0 || one_cell_command(c, json_pack("{s:s}", "do", "trials")) < 0)
        fail_msg("reference of %s: rank %d: %s", c->setting.problem->name, c->rank, c->detail);
    one_cell_quit(c);
    for (int q = 0; q < c->world; q++)
        assert_int_equal(segment_seal(&c->ranks[q].inputs, NULL), 0);
}

static int judge_slots(struct one_cell *c, int first, int count, const int *iterations)
{
    struct judge_verdict v;
    for (int q = 0; q < c->world; q++) {
        struct one_rank *r = &c->ranks[q];
        const struct judge_view view = {&r->setting, &r->layout, r->inputs.data, r->expected.data, r->slots.data};
        for (int i = first; i < first + count; i++) {
            if (iterations)
                judge_sample(&view, i, iterations[i], &v);
            else
                judge_trial(&view, i, &v);
            if (v.outcome != OUTCOME_CORRECT)
                return ended(c, q, v.outcome, v.detail);
        }
    }
    return 0;
}

static int evaluate(struct one_cell *c, const char *object)
{
    static const int sampled[ONE_CELL_SAMPLES] = {13, 2, 19};
    if (one_cell_start(c, "candidate", object) < 0 || one_cell_command(c, json_pack("{s:s}", "do", "trials")) < 0)
        return -1;
    if (judge_slots(c, 0, TRIALS, NULL) < 0)
        return -1;
    if (one_cell_command(
            c, json_pack("{s:s, s:i, s:i, s:[]}", "do", "time", "warmup", c->setting.warmup, "iterations", 0, "sample")) < 0)
        return -1;
    if (one_cell_command(c, json_pack("{s:s, s:i, s:i, s:[i, i, i]}", "do", "time", "warmup", 0, "iterations",
                                      c->setting.iterations, "sample", sampled[0], sampled[1], sampled[2])) < 0)
        return -1;
    return judge_slots(c, 0, ONE_CELL_SAMPLES, sampled);
}

void one_cell_candidate(struct one_cell *c, const char *object)
{
    c->outcome = OUTCOME_CORRECT;
    c->detail[0] = '\0';
    c->rank = -1;
    (void)evaluate(c, object);
    if (c->outcome != OUTCOME_CORRECT)
        for (int q = 0; q < c->world; q++)
            end_rank(&c->ranks[q]);
}
