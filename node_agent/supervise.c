/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node_agent/leftovers.h"
#include "node_agent/runlog.h"
#include "node_agent/segment.h"
#include "util/process.h"

#define MAX_RUNNERS 4            /* alive at one time */
#define MAX_QUEUED (64u << 20)   /* bytes for a runner that does not read */
#define LOG_PER_TURN (256 << 10) /* bytes taken from the log pipe at a time: a flood must not starve the rest */
/* From closing the socket to having ended: a killed process closes it long before a driver, say, has taken back all memory. */
#define CLOSED_WAIT_MS 5000

struct supervisor {
    char *program;
    char **environment;
    char prefix[64];
    struct runner *runners[MAX_RUNNERS];
};

struct runner {
    struct supervisor *owner;
    struct process process;
    struct lines *control;
    bool closed; /* the control socket */
    int log_fd;
    struct runlog *log;
    struct segment status_page;
    char *queue; /* what is still to be sent */
    size_t queue_start, queue_end;
    struct runner_end end;
    long oom_kills; /* of the system, when it started */
    char shm_prefix[96];
};

/* Runners number GPUs as agents do (util/gpu.h). */
#define DEVICE_ORDER "CUDA_DEVICE_ORDER="

/* ---- the environment ------------------------------------------------------------------------------------------------- */

/* What a runner may see: nothing of the launcher, nothing of the user's that is not needed to find programs and libraries. */
static bool allowed(const char *variable)
{
    if (strncmp(variable, DEVICE_ORDER, strlen(DEVICE_ORDER)) == 0)
        return false;
    static const char *const names[] = {
        "PATH=", "HOME=", "TMPDIR=", "LD_LIBRARY_PATH=", "ASAN_OPTIONS=", "UBSAN_OPTIONS=", "LSAN_OPTIONS="};
    static const char *const prefixes[] = {"UCX_", "PKB_", "OPENBLAS_CORETYPE=", "CUDA_", "NCCL_", "NVSHMEM_", "TORCH_SYMM_MEM_"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static void free_strings(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}

static char **make_environment(struct pkb_error *err)
{
    extern char **environ;
    static const char *const fixed[] = {"LANG=C", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", DEVICE_ORDER "PCI_BUS_ID"};
    size_t n_fixed = sizeof(fixed) / sizeof(fixed[0]), n = 0, used = 0;
    bool ok = true;
    while (environ[n])
        n++;
    char **list = calloc(n + n_fixed + 1, sizeof(*list));
    for (size_t i = 0; list && i < n_fixed; i++)
        ok = (list[used++] = strdup(fixed[i])) != NULL && ok;
    for (size_t i = 0; list && ok && i < n; i++)
        if (allowed(environ[i]))
            ok = (list[used++] = strdup(environ[i])) != NULL && ok;
    if (list && ok)
        return list;
    pkb_error_set(err, "environment: out of memory");
    free_strings(list);
    return NULL;
}

/* ---- supervisor ------------------------------------------------------------------------------------------------------ */

struct supervisor *supervisor_create(const char *program, const char *shm_prefix, struct pkb_error *err)
{
    struct supervisor *s = calloc(1, sizeof(*s));
    if (!s) {
        pkb_error_errno(err, "supervisor");
        return NULL;
    }
    s->program = strdup(program);
    s->environment = make_environment(err);
    if (!s->program || !s->environment || leftovers_adopt(err) < 0) {
        supervisor_destroy(s);
        return NULL;
    }
    (void)snprintf(s->prefix, sizeof(s->prefix), "%s", shm_prefix);
    leftovers_unlink_orphans();
    return s;
}

void supervisor_destroy(struct supervisor *s)
{
    if (!s)
        return;
    int saved = errno;
    free(s->program);
    free_strings(s->environment);
    free(s);
    errno = saved;
}

static int enlist(struct supervisor *s, struct runner *r, struct pkb_error *err)
{
    for (int i = 0; i < MAX_RUNNERS; i++)
        if (!s->runners[i]) {
            s->runners[i] = r;
            r->owner = s;
            return 0;
        }
    return pkb_error_set(err, "more than %d runners", MAX_RUNNERS);
}

static void kill_strays(const struct supervisor *s)
{
    pid_t keep[MAX_RUNNERS];
    size_t n = 0;
    for (int i = 0; i < MAX_RUNNERS; i++)
        if (s->runners[i] && s->runners[i]->process.pid > 0)
            keep[n++] = s->runners[i]->process.pid;
    leftovers_kill(keep, n);
}

/* How often the system has killed a process for want of memory; -1: it does not say. */
static long count_oom_kills(void)
{
    char line[128];
    long count = -1;
    FILE *f = fopen("/proc/vmstat", "re");
    if (!f)
        return -1;
    while (count < 0 && fgets(line, sizeof(line), f))
        if (sscanf(line, "oom_kill %ld", &count) != 1)
            count = -1;
    (void)fclose(f);
    return count;
}

/* ---- start and end --------------------------------------------------------------------------------------------------- */

static int spawn(struct runner *r, const struct runner_spec *spec, int control, int log, struct pkb_error *err)
{
    const char *const argv[] = {r->owner->program, NULL};
    struct process_spec p = {
        .argv = argv,
        .env = (const char *const *)r->owner->environment,
        .stdin_fd = -1,
        .stdout_fd = log,
        .stderr_fd = log,
        .fds = {control, spec->inputs, spec->results, r->status_page.fd},
        .n_fds = 4,
        .address_space = spec->address_space,
        .data_bytes = spec->data_bytes,
        .no_core = true,
        .ignore_user_signals = true, /* Slurm sends them to every process of a job step */
    };
    return process_spawn(&p, &r->process, err);
}

/* Makes the socket and the log pipe, and starts the child with their other ends. */
static int connect_and_spawn(struct runner *r, const struct runner_spec *spec, struct pkb_error *err)
{
    int sockets[2], pipes[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
        return pkb_error_errno(err, "socketpair");
    r->control = lines_create(sockets[0], err); /* takes it over even when it fails */
    if (!r->control || pipe2(pipes, O_CLOEXEC) < 0) {
        if (r->control)
            pkb_error_errno(err, "pipe");
        (void)close(sockets[1]);
        return -1;
    }
    r->log_fd = pipes[0];
    int rc =
        fcntl(r->log_fd, F_SETFL, O_NONBLOCK) < 0 ? pkb_error_errno(err, "fcntl") : spawn(r, spec, sockets[1], pipes[1], err);
    (void)close(sockets[1]);
    (void)close(pipes[1]);
    return rc;
}

struct runner *runner_start(struct supervisor *s, const struct runner_spec *spec, struct pkb_error *err)
{
    struct runner *r = calloc(1, sizeof(*r));
    if (!r) {
        pkb_error_errno(err, "runner");
        return NULL;
    }
    r->process = PROCESS_NONE;
    r->status_page = SEGMENT_NONE;
    r->log_fd = -1;
    r->oom_kills = count_oom_kills();
    (void)snprintf(r->shm_prefix, sizeof(r->shm_prefix), "%s.%llu.", s->prefix, (unsigned long long)spec->number);
    r->log = runlog_create(spec->log_path, spec->title, err);
    if (!r->log || enlist(s, r, err) < 0 ||
        segment_create("pkb-status", sizeof(struct runner_status), &r->status_page, err) < 0 ||
        connect_and_spawn(r, spec, err) < 0) {
        pkb_error_prefix(err, "cannot start a runner");
        runner_destroy(r);
        return NULL;
    }
    return r;
}

static const struct runner_status *status_of(const struct runner *r)
{
    return r->status_page.data;
}

static bool is_inside(uint32_t stage)
{
    return stage == STAGE_SETUP || stage == STAGE_SOLUTION || stage == STAGE_BARRIER || stage == STAGE_ALLOC ||
           stage == STAGE_WAIT || stage == STAGE_TEARDOWN;
}

/* Remembers where the runner was when it ended or is about to be killed. */
static void remember(struct runner *r)
{
    const struct runner_status *s = status_of(r);
    if (!s)
        return;
    r->end.refused = atomic_load(&s->alloc_refused) != 0;
    r->end.inside = is_inside(atomic_load(&s->stage));
    runner_status_describe(s, r->end.stage, sizeof(r->end.stage));
}

static void drain_log(struct runner *r)
{
    static char chunk[32 << 10];
    for (int taken = 0; r->log_fd >= 0 && taken < LOG_PER_TURN;) {
        ssize_t n = read(r->log_fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return; /* nothing there */
        if (n == 0) {
            (void)close(r->log_fd);
            r->log_fd = -1;
            return;
        }
        runlog_write(r->log, chunk, (size_t)n);
        taken += (int)n;
    }
}

void runner_kill(struct runner *r)
{
    if (r->process.pid <= 0)
        return;
    remember(r);
    process_kill(&r->process);
    kill_strays(r->owner);
    drain_log(r);
}

void runner_destroy(struct runner *r)
{
    if (!r)
        return;
    int saved = errno;
    runner_kill(r);
    drain_log(r);
    for (int i = 0; r->owner && i < MAX_RUNNERS; i++)
        if (r->owner->runners[i] == r)
            r->owner->runners[i] = NULL;
    if (r->owner)
        kill_strays(r->owner);
    leftovers_unlink(r->shm_prefix);
    lines_destroy(r->control);
    if (r->log_fd >= 0)
        (void)close(r->log_fd);
    runlog_destroy(r->log);
    segment_destroy(&r->status_page);
    free(r->queue);
    free(r);
    errno = saved;
}

/* ---- asking ---------------------------------------------------------------------------------------------------------- */

const char *runner_shm_prefix(const struct runner *r)
{
    return r->shm_prefix;
}

pid_t runner_pid(const struct runner *r)
{
    return r->process.pid;
}

bool runner_alive(const struct runner *r)
{
    return r->process.pid > 0;
}

void runner_end(const struct runner *r, struct runner_end *end)
{
    *end = r->end;
}

void runner_stage(const struct runner *r, char *text, size_t size)
{
    if (r->process.pid > 0)
        runner_status_describe(status_of(r), text, size);
    else
        (void)snprintf(text, size, "%s", r->end.stage);
}

void runner_output(const struct runner *r, char *text, size_t size)
{
    runlog_last(r->log, text, size);
}

/* ---- talking --------------------------------------------------------------------------------------------------------- */

static void send_queued(struct runner *r)
{
    while (r->queue_end > r->queue_start) {
        ssize_t n =
            send(lines_fd(r->control), r->queue + r->queue_start, r->queue_end - r->queue_start, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (n < 0)
            break; /* it has closed the socket, which shows when it is read */
        r->queue_start += (size_t)n;
    }
    free(r->queue);
    r->queue = NULL;
    r->queue_start = r->queue_end = 0;
}

int runner_send(struct runner *r, const json_t *value, struct pkb_error *err)
{
    char *text = json_dumps(value, JSON_COMPACT);
    if (!text)
        return pkb_error_set(err, "message for the runner: out of memory");
    size_t size = strlen(text) + 1;
    text[size - 1] = '\n';
    char *queue = r->queue_end + size > MAX_QUEUED ? NULL : realloc(r->queue, r->queue_end + size);
    if (queue) {
        memcpy(queue + r->queue_end, text, size);
        r->queue = queue;
        r->queue_end += size;
    }
    free(text);
    if (!queue)
        return pkb_error_set(err, "message of %zu bytes for the runner: too much queued or out of memory", size);
    send_queued(r);
    return 0;
}

void runner_pollfds(const struct runner *r, struct pollfd *fds)
{
    bool alive = r->process.pid > 0;
    short control = (short)(POLLIN | (r->queue_end > r->queue_start ? POLLOUT : 0));
    fds[0] = (struct pollfd){.fd = alive && !r->closed ? lines_fd(r->control) : -1, .events = control};
    fds[1] = (struct pollfd){.fd = alive ? r->process.pidfd : -1, .events = POLLIN};
    fds[2] = (struct pollfd){.fd = alive ? r->log_fd : -1, .events = POLLIN};
}

/* ---- events ---------------------------------------------------------------------------------------------------------- */

static enum runner_event break_off(struct runner *r, const char *why)
{
    runner_kill(r);
    r->end.broken = true;
    (void)snprintf(r->end.text, sizeof(r->end.text), "%.*s", RUNNER_TEXT - 1, why);
    return RUNNER_BROKEN;
}

/* Ended by itself? Its group is killed while its zombie still holds the group's number. */
static bool reap(struct runner *r, int timeout_ms)
{
    struct pollfd p = {.fd = r->process.pidfd, .events = POLLIN};
    pid_t group = r->process.pid;
    if (poll(&p, 1, timeout_ms) <= 0)
        return false;
    remember(r);
    (void)kill(-group, SIGKILL);
    r->end.oom_killer = count_oom_kills() > r->oom_kills;
    if (process_wait(&r->process, 0, &r->end.status, NULL) != 1)
        return false;
    kill_strays(r->owner);
    drain_log(r);
    return true;
}

static enum runner_event receive(struct runner *r, json_t **message)
{
    struct pkb_error why;
    if (r->closed)
        return RUNNER_QUIET;
    int rc = lines_receive(r->control, 0, message, &why);
    if (rc == 1)
        return RUNNER_MESSAGE;
    if (rc == -1)
        return break_off(r, why.text);
    if (rc == -2)
        r->closed = true;
    return RUNNER_QUIET;
}

enum runner_event runner_progress(struct runner *r, json_t **message)
{
    *message = NULL;
    if (r->process.pid <= 0)
        return RUNNER_QUIET;
    drain_log(r);
    send_queued(r);
    /* What it said before it ended comes first. */
    struct pollfd p = {.fd = r->process.pidfd, .events = POLLIN};
    bool ended = poll(&p, 1, 0) > 0;
    enum runner_event event = receive(r, message);
    if (event != RUNNER_QUIET)
        return event;
    if (r->closed || ended) {
        if (reap(r, CLOSED_WAIT_MS))
            return RUNNER_ENDED;
        return r->closed ? break_off(r, "closed its control socket and went on") : RUNNER_QUIET;
    }
    return RUNNER_QUIET;
}
