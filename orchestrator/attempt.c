/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node_agent/agent.h"
#include "orchestrator/leader.h"
#include "orchestrator/local/world.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"
#include "util/paths.h"
#include "util/process.h"

#define MAX_LINE (1 << 20)
#define SECOND_NS 1000000000LL
#define STOP_NS (10 * SECOND_NS)    /* the launcher kills its agents long before */
#define LINGER_NS (10 * SECOND_NS)  /* of a launcher whose agent 0 has ended */
#define GIVE_UP_NS (60 * SECOND_NS) /* to end after it was told that it lingers; srun waits for Slurm's KillWait */

/* The launcher's standard output: which process agent 0 is, then one JSON object per finished cell. */
struct reader {
    int fd;
    char *data;
    size_t used;
    bool skip; /* within a line that is too long */
    struct leader leader;
};

/* When a launcher is asked to end, and killed. 0: not yet. */
struct ending {
    int64_t ask_at, kill_at;
};

/* ---- what agents say -------------------------------------------------------------------------------------------------- */

static void take_line(const struct attempt *a, struct reader *r, const char *line, size_t size)
{
    const char *cell, *outcome;
    int64_t pid;
    json_t *v = pkb_json_parse(line, size, NULL);
    /* Only a hint: what counts is in the records. */
    if (v && pkb_json_string(v, "cell", &cell, NULL) == 0 && pkb_json_string(v, "outcome", &outcome, NULL) == 0)
        progress_note(a->progress, cell, outcome_parse(outcome));
    else if (v && pkb_json_int(v, "agent", 1, INT32_MAX, &pid, NULL) == 0)
        leader_meet(&r->leader, (pid_t)pid, a->shard->id, a->number);
    json_decref(v);
}

static void take_lines(const struct attempt *a, struct reader *r)
{
    char *start = r->data, *end;
    while ((end = memchr(start, '\n', r->used - (size_t)(start - r->data))) != NULL) {
        if (!r->skip)
            take_line(a, r, start, (size_t)(end - start));
        r->skip = false;
        start = end + 1;
    }
    r->used -= (size_t)(start - r->data);
    memmove(r->data, start, r->used);
    if (r->used == MAX_LINE) {
        r->skip = true;
        r->used = 0;
    }
}

/* Reads what there is; false at the end of the stream. */
static bool read_lines(const struct attempt *a, struct reader *r)
{
    for (;;) {
        ssize_t n = read(r->fd, r->data + r->used, MAX_LINE - r->used);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        if (n == 0)
            return false;
        r->used += (size_t)n;
        take_lines(a, r);
    }
}

static void show(const struct attempt *a)
{
    char detail[512];
    progress_describe(a->progress, detail, sizeof(detail));
    display_progress(a->display, a->progress->final, a->progress->plan->n_cells, "cells", detail);
}

/* ---- the launcher ----------------------------------------------------------------------------------------------------- */

static int add_agent(const struct attempt *a, struct words *command, struct pkb_error *err)
{
    char *agent = pkb_path(PKB_PATH_LIBEXEC, "pkb-agent", err);
    int rc = agent ? 0 : -1;
    if (rc == 0 && (words_add(command, err, "%s", agent) < 0 || words_add(command, err, "--run") < 0 ||
                    words_add(command, err, "%s", a->run->path) < 0 || words_add(command, err, "--shard") < 0 ||
                    words_add(command, err, "%d", a->shard->id) < 0 || words_add(command, err, "--attempt") < 0 ||
                    words_add(command, err, "%d", a->number) < 0))
        rc = -1;
    free(agent);
    return rc;
}

static int spawn(const struct attempt *a, const char *log_dir, int out, int log, struct process *p, struct pkb_error *err)
{
    struct launcher_world world = {.ranks = a->shard->world, .log_dir = log_dir, .hold = a->run->lock_fd >= 0};
    struct words command = WORDS_NONE;
    struct process_spec spec = {
        .stdin_fd = -1, .stdout_fd = out, .stderr_fd = log, .fds = {a->run->lock_fd}, .n_fds = world.hold};
    int rc = a->launcher->add_words(a->launcher, &world, &command, err) < 0 || add_agent(a, &command, err) < 0 ? -1 : 0;
    spec.argv = words_argv(&command);
    if (rc == 0)
        rc = process_spawn(&spec, p, err);
    words_clear(&command);
    return rc;
}

static int open_log(const char *log_dir, struct pkb_error *err)
{
    if (pkb_mkdirs(log_dir, err) < 0)
        return -1;
    char *path = pkb_format(err, "%s/launch.log", log_dir);
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (path && fd < 0)
        pkb_error_errno(err, "%s", path);
    free(path);
    return fd;
}

/* Starts the launcher; its standard output is r->fd. */
static int start(const struct attempt *a, const char *log_dir, struct reader *r, struct process *p, struct pkb_error *err)
{
    int out[2], rc = -1;
    int log = open_log(log_dir, err);
    if (log >= 0) {
        if (pipe2(out, O_CLOEXEC) < 0) {
            pkb_error_errno(err, "pipe");
        } else {
            rc = spawn(a, log_dir, out[1], log, p, err);
            (void)close(out[1]);
            r->fd = out[0];
            (void)fcntl(r->fd, F_SETFL, O_NONBLOCK);
        }
    }
    if (log >= 0)
        (void)close(log);
    return rc;
}

/* Passes the first signal on, forces at the second. */
static void handle_stop(const struct attempt *a, struct process *p, struct ending *end)
{
    bool stopped = stop_asked(a->stop);
    if (stop_take_drain(a->stop) && a->launcher->drains) {
        display_warn(a->display, "SIGUSR1, as before a time limit: shard %d stops after this cell", a->shard->id);
        (void)kill(p->pid, SIGUSR1);
    }
    if (!stopped)
        return;
    if (end->kill_at == 0) {
        display_say(a->display, "stopping; once more to force");
        end->kill_at = pkb_now_ns() + STOP_NS;
        (void)kill(p->pid, SIGTERM);
    }
    if (a->stop->count > 1)
        end->kill_at = pkb_now_ns();
}

/* Agent 0 is gone and the launcher, which should have noticed, is not. */
static void handle_lingering(const struct reader *r, struct process *p, struct ending *end)
{
    int64_t now = pkb_now_ns();
    if (end->kill_at != 0 || !leader_gone(&r->leader))
        return;
    if (end->ask_at == 0)
        end->ask_at = now + LINGER_NS;
    if (now < end->ask_at)
        return;
    end->kill_at = now + GIVE_UP_NS;
    (void)kill(p->pid, SIGTERM);
}

/* Until the launcher has ended and its pipe is empty. A left-over process that holds the pipe open is not waited for. */
static int watch(const struct attempt *a, struct reader *r, struct process *p, int *status, struct pkb_error *err)
{
    struct ending end = {0};
    bool open = true;
    for (;;) {
        struct pollfd fds[] = {{.fd = p->pidfd, .events = POLLIN},
                               {.fd = a->stop->fd, .events = POLLIN},
                               {.fd = open ? r->fd : -1, .events = POLLIN}};
        if (poll(fds, 3, 200) < 0 && errno != EINTR)
            return pkb_error_errno(err, "poll");
        if (open)
            open = read_lines(a, r);
        handle_stop(a, p, &end);
        handle_lingering(r, p, &end);
        if (end.kill_at != 0 && pkb_now_ns() >= end.kill_at)
            (void)kill(p->pid, SIGKILL); /* its agents die with it, their runners with them */
        show(a);
        int ended = process_wait(p, 0, status, err);
        if (ended != 0) {
            if (open)
                (void)read_lines(a, r);
            return ended < 0 ? -1 : 0;
        }
    }
}

/* ---- what came of it --------------------------------------------------------------------------------------------------- */

/* The last line of a log, "" when there is none. */
static void last_line(const char *log_dir, const char *name, char *text, size_t size)
{
    char *data = NULL;
    size_t length;
    char *path = pkb_format(NULL, "%s/%s", log_dir, name);
    text[0] = '\0';
    if (path && pkb_file_read(path, (size_t)64 << 20, &data, &length, NULL) == 0) {
        while (length > 0 && data[length - 1] == '\n')
            data[--length] = '\0';
        const char *line = strrchr(data, '\n');
        (void)snprintf(text, size, "%s", line ? line + 1 : data);
    }
    free(data);
    free(path);
}

static bool is_hopeless(int code)
{
    return code == WORLD_EXIT_NO_COMMAND || code == WORLD_EXIT_FAILED || code == AGENT_EXIT_USAGE || code == AGENT_EXIT_STORAGE;
}

/* What a code means, for when the logs say nothing (they may lie on the full disk). */
static const char *meaning(int code)
{
    switch (code) {
    case AGENT_EXIT_FAILED:
        return "an agent could not begin";
    case AGENT_EXIT_LOST:
        return "an agent was lost";
    case AGENT_EXIT_FENCED:
        return "a newer attempt at the shard exists";
    case AGENT_EXIT_STORAGE:
        return "a record could not be written: is the disk full?";
    default:
        return "the launcher ended";
    }
}

static void explain(const char *log_dir, int status, struct attempt_result *result)
{
    char launcher[224], agent[256], how[128];
    result->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    result->text[0] = '\0';
    result->hopeless = is_hopeless(result->code);
    if (result->code == 0)
        return;
    last_line(log_dir, "launch.log", launcher, sizeof(launcher));
    last_line(log_dir, "agent-000.log", agent, sizeof(agent));
    process_describe_status(status, how, sizeof(how));
    const char *what = strncmp(launcher, "pkb-launch-local: ", 18) == 0 ? launcher + 18 : launcher;
    (void)snprintf(result->text, sizeof(result->text), "%s (%s)%s%s", meaning(result->code), what[0] ? what : how,
                   agent[0] ? "; agent 0: " : "", agent);
}

int attempt_run(const struct attempt *a, struct attempt_result *result, struct pkb_error *err)
{
    struct process p = PROCESS_NONE;
    struct reader r = {.fd = -1, .data = malloc(MAX_LINE), .leader = LEADER_NONE};
    char *log_dir = attempt_log_dir(a->run->path, a->shard->id, a->number, err);
    int status = 0;
    int rc = -1;
    *result = (struct attempt_result){0};
    if (!r.data)
        pkb_error_set(err, "out of memory");
    else if (log_dir && start(a, log_dir, &r, &p, err) == 0)
        rc = watch(a, &r, &p, &status, err);
    process_kill(&p);
    leader_end(&r.leader); /* ranks that srun did not take along still hold their place in the allocation */
    if (rc == 0) {
        explain(log_dir, status, result);
        result->stopped = a->stop->count > 0;
        rc = progress_read_attempt(a->progress, a->run->path, a->shard->id, a->number, err);
    }
    if (r.fd >= 0)
        (void)close(r.fd);
    free(r.data);
    free(log_dir);
    return rc;
}
