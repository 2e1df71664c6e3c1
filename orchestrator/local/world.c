/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/local/world.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orchestrator/local/orphans.h"
#include "orchestrator/local/server.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/process.h"

#define DEFAULT_GRACE_MS 5000
#define DEFAULT_STOP_MS 3000
#define JOINING_GRACE_MS 1000
#define KILL_MS 10000 /* a process that SIGKILL does not end within this is left to the kernel */
/* A dying rank's connection closes a moment before the process can be waited for. */
#define FENCE_DOUBT_MS 200
#define MAX_FENCES 64

enum rank_state { RANK_STARTED, RANK_JOINED, RANK_LEFT, RANK_ENDED };

enum phase {
    PHASE_RUN,
    PHASE_GRACE, /* a rank ended abnormally: the others may notice */
    PHASE_STOP,  /* a signal was passed on */
    PHASE_KILL,
};

struct rank {
    struct process process;
    enum rank_state state;
};

/* A fence that waits for an answer. */
struct doubt {
    struct server_fence fence;
    int64_t deadline;
};

struct world {
    const struct world_spec *spec;
    struct world_result *result;
    struct server *server;
    struct rank *ranks;
    struct pollfd *polls; /* signals, server, then one per rank */
    int alive;
    bool joined; /* some rank has joined */
    int silent;  /* a rank that ended with 0 without having joined, -1: none */
    bool broken; /* a rank is gone: no fence can succeed */
    enum phase phase;
    int64_t deadline; /* of the phase; 0: none */
    struct doubt doubts[MAX_FENCES];
    int n_doubts;
};

static int64_t in_ms(int ms)
{
    return pkb_now_ns() + (int64_t)ms * 1000000;
}

/* ---- ending ---------------------------------------------------------------------------------------------------------- */

static void signal_ranks(const struct world *w, int signal)
{
    for (int r = 0; r < w->spec->ranks; r++)
        if (w->ranks[r].process.pid > 0)
            (void)kill(-w->ranks[r].process.pid, signal);
}

static void enter(struct world *w, enum phase phase, int ms)
{
    if (phase <= w->phase)
        return;
    w->phase = phase;
    w->deadline = in_ms(ms);
    if (phase == PHASE_KILL)
        signal_ranks(w, SIGKILL);
}

/* Answers the fences that wait: all of them once a rank is known to be gone, else those that have waited long enough to believe that
 * nobody is. */
static void answer_fences(struct world *w)
{
    int kept = 0;
    int64_t now = pkb_now_ns();
    for (int i = 0; i < w->n_doubts; i++) {
        if (w->broken || w->doubts[i].deadline <= now)
            server_answer(&w->doubts[i].fence, !w->broken);
        else
            w->doubts[kept++] = w->doubts[i];
    }
    w->n_doubts = kept;
}

/* Before all ranks have left PMIx nobody can go on: a rank that never joins holds up the others' fence without end, unseen by the library. */
static int grace_ms(const struct world *w)
{
    int ms = w->spec->grace_ms ? w->spec->grace_ms : DEFAULT_GRACE_MS;
    for (int r = 0; r < w->spec->ranks; r++)
        if (w->ranks[r].state < RANK_LEFT)
            return ms < JOINING_GRACE_MS ? ms : JOINING_GRACE_MS;
    return ms;
}

/* The first abnormal end decides the world's result; but one by a signal comes before one by an exit code, since the others may notice
 * a killed rank, and give up, before it can be waited for. */
static void blame(struct world *w, int rank, int code, const char *what)
{
    bool worse = code > WORLD_EXIT_SIGNAL && w->result->code < WORLD_EXIT_SIGNAL && w->phase < PHASE_STOP;
    w->broken = true;
    if (w->result->code == 0 || worse) {
        w->result->code = code;
        w->result->rank = rank;
        (void)snprintf(w->result->text, sizeof(w->result->text), "rank %d %s", rank, what);
    }
    enter(w, PHASE_GRACE, grace_ms(w));
}

static void blame_silent(struct world *w)
{
    if (w->silent >= 0 && w->joined)
        blame(w, w->silent, WORLD_EXIT_NOT_JOINED, "ended without joining the world");
}

/* ---- what happens ---------------------------------------------------------------------------------------------------- */

static int rank_ended(struct world *w, int r, struct pkb_error *err)
{
    struct rank *rank = &w->ranks[r];
    char what[128];
    int status;
    (void)kill(-rank->process.pid, SIGKILL); /* what it left in its group; its id is taken until it is reaped */
    if (process_wait(&rank->process, -1, &status, err) < 0)
        return pkb_error_prefix(err, "rank %d", r);
    bool was_in = rank->state == RANK_LEFT;
    bool never_in = rank->state == RANK_STARTED;
    rank->state = RANK_ENDED;
    w->alive--;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        process_describe_status(status, what, sizeof(what));
        blame(w, r, WIFSIGNALED(status) ? WORLD_EXIT_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status), what);
    } else if (never_in) {
        w->silent = r;
        blame_silent(w);
    } else if (!was_in) {
        blame(w, r, WORLD_EXIT_NOT_JOINED, "ended without leaving the world");
    }
    return 0;
}

static void server_said(struct world *w, const struct server_event *e)
{
    bool known = e->rank >= 0 && e->rank < w->spec->ranks && w->ranks[e->rank].state != RANK_ENDED;
    switch (e->kind) {
    case SERVER_CONNECTED:
        w->joined = true;
        if (known)
            w->ranks[e->rank].state = RANK_JOINED;
        blame_silent(w);
        break;
    case SERVER_FINALIZED:
        if (known)
            w->ranks[e->rank].state = RANK_LEFT;
        break;
    case SERVER_ABORTED:
        w->broken = true; /* its exit code follows */
        break;
    case SERVER_FENCE:
        if (w->n_doubts < MAX_FENCES)
            w->doubts[w->n_doubts++] = (struct doubt){e->fence, in_ms(FENCE_DOUBT_MS)};
        else
            server_answer(&e->fence, false);
        break;
    }
}

static void signalled(struct world *w)
{
    struct signalfd_siginfo info;
    while (read(w->polls[0].fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        if (w->result->code == 0) {
            w->result->code = WORLD_EXIT_SIGNAL + (int)info.ssi_signo;
            (void)snprintf(w->result->text, sizeof(w->result->text), "stopped by signal %u", info.ssi_signo);
        }
        w->broken = true;
        if (w->phase < PHASE_STOP) {
            signal_ranks(w, (int)info.ssi_signo);
            enter(w, PHASE_STOP, w->spec->stop_ms ? w->spec->stop_ms : DEFAULT_STOP_MS);
        } else {
            enter(w, PHASE_KILL, KILL_MS); /* asked twice */
        }
    }
}

/* ---- the loop -------------------------------------------------------------------------------------------------------- */

static int poll_timeout(const struct world *w)
{
    int64_t first = w->deadline;
    for (int i = 0; i < w->n_doubts; i++)
        if (first == 0 || w->doubts[i].deadline < first)
            first = w->doubts[i].deadline;
    if (first == 0)
        return -1;
    int64_t left = (first - pkb_now_ns()) / 1000000 + 1;
    return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

static int wait_for_events(struct world *w, struct pkb_error *err)
{
    for (int r = 0; r < w->spec->ranks; r++)
        w->polls[2 + r] = (struct pollfd){.fd = w->ranks[r].process.pidfd, .events = POLLIN};
    w->polls[0].events = w->polls[1].events = POLLIN;
    if (poll(w->polls, (nfds_t)w->spec->ranks + 2, poll_timeout(w)) < 0 && errno != EINTR)
        return pkb_error_errno(err, "poll");
    return 0;
}

static int handle_events(struct world *w, struct pkb_error *err)
{
    struct server_event e;
    /* What a rank said before its end comes first: whether it had left the world decides what its end means. */
    while (server_next(w->server, &e))
        server_said(w, &e);
    signalled(w);
    for (int r = 0; r < w->spec->ranks; r++)
        if ((w->polls[2 + r].revents & POLLIN) && w->ranks[r].process.pid > 0 && rank_ended(w, r, err) < 0)
            return -1;
    answer_fences(w);
    orphans_reap();
    return 0;
}

/* Processes that SIGKILL does not end hang in the kernel: waiting for them would hang this one too. */
static int abandon(struct world *w, struct pkb_error *err)
{
    for (int r = 0; r < w->spec->ranks; r++)
        w->ranks[r].process = PROCESS_NONE;
    return pkb_error_set(err, "%d ranks do not end after SIGKILL", w->alive);
}

static int watch(struct world *w, struct pkb_error *err)
{
    while (w->alive > 0) {
        if (wait_for_events(w, err) < 0 || handle_events(w, err) < 0)
            return -1;
        if (w->deadline && pkb_now_ns() >= w->deadline) {
            if (w->phase == PHASE_KILL)
                return abandon(w, err);
            enter(w, PHASE_KILL, KILL_MS);
        }
    }
    return 0;
}

/* ---- the start ------------------------------------------------------------------------------------------------------- */

static int open_log(const struct world_spec *spec, int rank, struct pkb_error *err)
{
    if (!spec->log_dir)
        return STDERR_FILENO;
    char *path = pkb_format(err, "%s/agent-%03d.log", spec->log_dir, rank);
    if (!path)
        return -1;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        pkb_error_errno(err, "%s", path);
    free(path);
    return fd;
}

static int start_rank(struct world *w, int r, struct pkb_error *err)
{
    int log = open_log(w->spec, r, err);
    if (log < 0)
        return -1;
    char **env = server_environment(w->server, r, err);
    int rc = -1;
    if (env) {
        struct process_spec spec = {.argv = w->spec->argv,
                                    .env = (const char *const *)env,
                                    .stdin_fd = -1,
                                    .stdout_fd = r == 0 ? STDOUT_FILENO : log,
                                    .stderr_fd = log,
                                    .fds = {w->spec->hold_fd},
                                    .n_fds = w->spec->hold_fd > 0};
        rc = process_spawn(&spec, &w->ranks[r].process, err);
        if (rc < 0 && (errno == ENOENT || errno == EACCES || errno == ENOEXEC || errno == ENOTDIR))
            w->result->code = WORLD_EXIT_NO_COMMAND;
        w->alive += rc == 0;
    }
    server_environment_free(env);
    if (w->spec->log_dir)
        (void)close(log);
    return rc;
}

static int start_ranks(struct world *w, struct pkb_error *err)
{
    for (int r = 0; r < w->spec->ranks; r++)
        if (start_rank(w, r, err) < 0)
            return pkb_error_prefix(err, "rank %d", r);
    return 0;
}

static int take_signals(struct world *w, struct pkb_error *err)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGHUP);
    (void)sigaddset(&set, SIGCHLD);
    (void)signal(SIGPIPE, SIG_IGN);
    /* Before the server's thread exists, so that it inherits the mask. */
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return pkb_error_errno(err, "sigprocmask");
    w->polls[0].fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (w->polls[0].fd < 0)
        return pkb_error_errno(err, "signalfd");
    return 0;
}

static int prepare(struct world *w, struct pkb_error *err)
{
    size_t n = (size_t)w->spec->ranks;
    w->ranks = calloc(n, sizeof(*w->ranks));
    w->polls = calloc(n + 2, sizeof(*w->polls));
    if (!w->ranks || !w->polls)
        return pkb_error_set(err, "out of memory");
    for (size_t r = 0; r < n; r++)
        w->ranks[r].process = PROCESS_NONE;
    w->polls[0].fd = w->polls[1].fd = -1;
    if (w->spec->log_dir && pkb_mkdirs(w->spec->log_dir, err) < 0)
        return -1;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return pkb_error_errno(err, "PR_SET_CHILD_SUBREAPER");
    if (take_signals(w, err) < 0)
        return -1;
    w->server = server_create(w->spec->ranks, err);
    if (!w->server)
        return -1;
    w->polls[1].fd = server_fd(w->server);
    return 0;
}

static void finish(struct world *w)
{
    for (int r = 0; w->ranks && r < w->spec->ranks; r++)
        process_kill(&w->ranks[r].process);
    orphans_kill();
    if (w->polls && w->polls[0].fd >= 0)
        (void)close(w->polls[0].fd);
    if (w->result->code == 0)
        server_destroy(w->server);
    free(w->polls);
    free(w->ranks);
}

int world_run(const struct world_spec *spec, struct world_result *result, struct pkb_error *err)
{
    struct world w = {.spec = spec, .result = result, .silent = -1};
    *result = (struct world_result){.code = 0, .rank = -1};
    if (spec->ranks < 1 || spec->ranks > WORLD_MAX_RANKS) {
        result->code = WORLD_EXIT_FAILED;
        return pkb_error_set(err, "%d ranks: 1 to %d are possible", spec->ranks, WORLD_MAX_RANKS);
    }
    int rc = prepare(&w, err);
    if (rc == 0)
        rc = start_ranks(&w, err);
    if (rc == 0)
        rc = watch(&w, err);
    if (rc < 0 && result->code == 0)
        result->code = WORLD_EXIT_FAILED;
    finish(&w);
    return rc;
}
