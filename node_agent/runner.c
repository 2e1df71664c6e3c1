/* SPDX-License-Identifier: Apache-2.0 */
/* pkb-runner: executes the reference or a candidate of one cell on one rank, on command of its agent. */
#include "build-id.h"
#include "config.h"

#include "node_agent/runner.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/json.h"

int runner_fail(struct runner *r, enum outcome outcome, const char *fmt, ...)
{
    va_list args;
    if (r->outcome != OUTCOME_CORRECT)
        return -1;
    r->outcome = outcome;
    r->exit_code = RUNNER_EXIT_FAILED;
    va_start(args, fmt);
    (void)vsnprintf(r->error.text, sizeof(r->error.text), fmt, args);
    va_end(args);
    return -1;
}

static int malformed(struct runner *r, const struct pkb_error *err)
{
    runner_fail(r, OUTCOME_INFRA_ERROR, "malformed command: %s", err->text);
    r->exit_code = RUNNER_EXIT_MALFORMED;
    return -1;
}

uint32_t runner_enter(struct runner *r, enum runner_stage stage)
{
    return atomic_exchange_explicit(&r->status->stage, (uint32_t)stage, memory_order_relaxed);
}

void runner_number(struct runner *r, uint32_t call, bool timed)
{
    atomic_store_explicit(&r->status->call, call, memory_order_relaxed);
    atomic_store_explicit(&r->status->timed, timed, memory_order_relaxed);
}

/* Sends an answer that json_pack has made. */
static int answer(struct runner *r, json_t *message)
{
    struct pkb_error err;
    int rc = lines_send(r->lines, message, -1, &err);
    json_decref(message);
    return rc < 0 ? runner_fail(r, OUTCOME_INFRA_ERROR, "%s", err.text) : 0;
}

/* ---- commands ---------------------------------------------------------------------------------------------------------- */

static int do_start(struct runner *r, const json_t *message)
{
    if (r->role)
        return runner_fail(r, OUTCOME_INFRA_ERROR, "start: already started");
    if (runner_start(r, message) < 0)
        return -1;
    json_t *took = json_pack("{s:f, s:f, s:f, s:f}", "device", r->took.device, "connect", r->took.connect, "buffers",
                             r->took.buffers, "load", r->took.load);
    return answer(r, json_pack("{s:s, s:s, s:o}", "did", "start", "device_name", rt_device_name(r->rt), "seconds", took));
}

static int do_trials(struct runner *r, const json_t *message)
{
    (void)message;
    if (r->role->trials(r) < 0)
        return -1;
    return answer(r, json_pack("{s:s}", "did", "trials"));
}

static int compare_ints(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int check_distinct(const int *samples, int n, struct pkb_error *err)
{
    int sorted[SEGMENT_MAX_SETS];
    memcpy(sorted, samples, (size_t)n * sizeof(sorted[0]));
    qsort(sorted, (size_t)n, sizeof(sorted[0]), compare_ints);
    for (int i = 1; i < n; i++)
        if (sorted[i] == sorted[i - 1])
            return pkb_error_set(err, "sample: iteration %d is named twice", sorted[i]);
    return 0;
}

/* Reads "time" into *t; samples go into the array of SEGMENT_MAX_SETS entries. */
static int parse_time(const struct runner *r, const json_t *message, int *samples, struct runner_timing *t, struct pkb_error *err)
{
    int64_t warmup, iterations;
    json_t *list;
    if (pkb_json_int(message, "warmup", 0, RUNNER_MAX_ITERATIONS, &warmup, err) < 0 ||
        pkb_json_int(message, "iterations", 0, RUNNER_MAX_ITERATIONS, &iterations, err) < 0 ||
        pkb_json_array(message, "sample", &list, err) < 0)
        return -1;
    size_t n = json_array_size(list), most = r->role == &runner_reference ? 0 : (size_t)r->layout.samples;
    if (n > most)
        return pkb_error_set(err, "sample: %zu iterations, at most %zu can be stored", n, most);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, i);
        if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) >= iterations)
            return pkb_error_set(err, "sample: entry %zu is not an iteration (0 to %lld)", i, (long long)iterations - 1);
        samples[i] = (int)json_integer_value(v);
    }
    *t = (struct runner_timing){(int)warmup, (int)iterations, (int)n, samples};
    return check_distinct(samples, (int)n, err);
}

static json_t *times_array(const double *ns, int n)
{
    json_t *list = json_array();
    for (int i = 0; list && i < n; i++) {
        if (json_array_append_new(list, json_integer((json_int_t)ns[i])) < 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static int do_time(struct runner *r, const json_t *message)
{
    int samples[SEGMENT_MAX_SETS];
    struct runner_timing t;
    struct pkb_error err;
    double *ns = NULL;
    int64_t total;
    if (parse_time(r, message, samples, &t, &err) < 0)
        return malformed(r, &err);
    if (runner_time(r, &t, &ns, &total) < 0)
        return -1;
    json_t *times = times_array(ns, t.iterations);
    free(ns);
    return answer(r, json_pack("{s:s, s:o, s:I}", "did", "time", "ns", times, "total_ns", (json_int_t)total));
}

static const struct {
    const char *name;
    int (*run)(struct runner *r, const json_t *message);
    bool started; /* only after "start" */
} commands[] = {
    {"start", do_start, false},
    {"trials", do_trials, true},
    {"time", do_time, true},
};

/* 1: quit. */
static int dispatch(struct runner *r, const json_t *message)
{
    struct pkb_error err;
    const char *name;
    if (pkb_json_string(message, "do", &name, &err) < 0)
        return malformed(r, &err);
    if (strcmp(name, "quit") == 0)
        return 1;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(name, commands[i].name) != 0)
            continue;
        if (commands[i].started && !r->role) {
            pkb_error_set(&err, "%s before start", name);
            return malformed(r, &err);
        }
        runner_enter(r, STAGE_ENGINE);
        int rc = commands[i].run(r, message);
        runner_number(r, RUNNER_NO_CALL, false);
        runner_enter(r, STAGE_IDLE);
        return rc;
    }
    pkb_error_set(&err, "do: unknown command '%.40s'", name);
    return malformed(r, &err);
}

/* ---- life -------------------------------------------------------------------------------------------------------------- */

static void report_failure(struct runner *r)
{
    json_t *message = json_pack("{s:s, s:s}", "failed", outcome_name(r->outcome), "detail", r->error.text);
    if (!message) /* a text that is not UTF-8 */
        message = json_pack("{s:s, s:s}", "failed", outcome_name(r->outcome), "detail", "(the text is not UTF-8; see the log)");
    fprintf(stderr, "pkb-runner: %s: %s\n", outcome_name(r->outcome), r->error.text);
    (void)lines_send(r->lines, message, 10000, NULL);
    json_decref(message);
}

/* Works until "quit", a failure or the agent's end. Returns the exit code. */
static int serve(struct runner *r)
{
    struct pkb_error err;
    for (;;) {
        json_t *message = NULL;
        int rc = lines_receive(r->lines, -1, &message, &err);
        if (rc == -2)
            return RUNNER_EXIT_FAILED; /* nobody is left to tell */
        rc = rc < 0 ? malformed(r, &err) : dispatch(r, message);
        json_decref(message);
        if (rc < 0) {
            report_failure(r);
            return r->exit_code;
        }
        if (rc == 1)
            break;
    }
    runner_enter(r, STAGE_TEARDOWN);
    if (r->role)
        r->role->close(r);
    return 0;
}

/* All but the control socket, whose end the agent takes for the runner's: the kernel closes it when the memory is gone, which takes a
 * while where there is much of it. */
static void runner_close(struct runner *r)
{
    runner_engine_close(r);
    rt_close(r->rt);
    segment_destroy(&r->inputs);
    segment_destroy(&r->results);
    free(r->node_of_rank);
}

static int runner_open(struct runner *r, struct pkb_error *err)
{
    *r = (struct runner){.inputs = SEGMENT_NONE, .results = SEGMENT_NONE, .page = SEGMENT_NONE, .device = -1};
    for (int fd = PROTOCOL_SOCKET; fd <= PROTOCOL_STATUS; fd++)
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
            return pkb_error_errno(err, "descriptor %d", fd);
    if (segment_map(PROTOCOL_STATUS, sizeof(struct runner_status), 1, &r->page, err) < 0)
        return -1;
    r->status = r->page.data;
    runner_enter(r, STAGE_STARTING);
    runner_number(r, RUNNER_NO_CALL, false);
    runner_memory_watch(r->status);
    r->lines = lines_create(PROTOCOL_SOCKET, err);
    return r->lines ? 0 : -1;
}

static bool started_by_agent(void)
{
    int type;
    socklen_t size = sizeof(type);
    return getsockopt(PROTOCOL_SOCKET, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

/* The C library looks for it, whatever visibility is the default. */
__attribute__((visibility("default"))) const char *argp_program_version = "pkb-runner " PACKAGE_VERSION " (" PKB_BUILD_ID ")";

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .doc = "Executes the reference or a candidate of one cell on one rank. pkb-agent starts it and commands it through "
               "descriptor 3; it is of no use by hand."};
    static struct runner r;
    struct pkb_error err;
    if (argp_parse(&argp, argc, argv, 0, NULL, NULL) != 0)
        return RUNNER_EXIT_MALFORMED;
    if (!started_by_agent()) {
        fprintf(stderr,
                "pkb-runner: descriptor 3 is no socket: this program is started by pkb-agent. Use 'pkb run' or 'pkb eval'.\n");
        return RUNNER_EXIT_MALFORMED;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* a candidate's last words before a crash */
    if (runner_open(&r, &err) < 0) {
        fprintf(stderr, "pkb-runner: %s\n", err.text);
        return RUNNER_EXIT_MALFORMED;
    }
    int code = serve(&r);
    runner_close(&r);
    (void)fflush(NULL);
    _exit(code); /* a candidate's exit handlers have nothing to say any more */
}
