/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/world.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/file.h"
#include "util/process.h"

/* From a child: what it brings to an exchange, or its result. To a child: everybody's blobs, or why there are none. */
enum kind { EXCHANGE, RESULT, BLOBS, REFUSED };

struct header {
    uint32_t kind;
    int32_t rc;    /* of RESULT */
    uint64_t size; /* of what follows */
};

static int read_all(int fd, void *data, size_t size)
{
    char *at = data;
    while (size > 0) {
        ssize_t n = read(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

static int write_message(int fd, enum kind kind, int rc, const void *data, size_t size)
{
    struct header h = {.kind = kind, .rc = rc, .size = size};
    return pkb_write_all(fd, &h, sizeof(h)) || pkb_write_all(fd, data, size) ? -1 : 0;
}

/* ---- the child ----------------------------------------------------------------------------------------------------- */

struct line {
    int fd, world;
};

static int exchange(void *arg, const void *blob, size_t size, void *all, struct pkb_error *err)
{
    const struct line *line = arg;
    struct header h;
    char text[1024] = "";
    if (write_message(line->fd, EXCHANGE, 0, blob, size) || read_all(line->fd, &h, sizeof(h)))
        return pkb_error_errno(err, "exchange");
    if (h.kind == BLOBS && h.size == size * (size_t)line->world)
        return read_all(line->fd, all, h.size) ? pkb_error_errno(err, "exchange") : 0;
    if (h.size >= sizeof(text) || read_all(line->fd, text, h.size))
        return pkb_error_set(err, "exchange: bad answer");
    return pkb_error_set(err, "exchange: %s", text);
}

static int run_opened(const struct world_spec *spec, const struct rt_options *o, struct pkb_error *err)
{
    const char *backend = spec->backend ? spec->backend : getenv("PKB_TEST_BACKEND");
    struct rt *rt = rt_open(backend ? backend : "host", o, err);
    if (!rt)
        return -1;
    int rc = spec->fn(rt, spec->arg, err);
    rt_close(rt);
    return rc;
}

/* The test framework's handlers would jump back into the parent's tests, and run them again in the child. */
static void die_of_crashes(void)
{
    static const int crashes[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS};
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
        (void)signal(crashes[i], SIG_DFL);
}

/* Ranks go round the GPUs, of which PKB_TEST_GPUS tells the number; default 1. */
static int device_of(int rank)
{
    const char *text = getenv("PKB_TEST_GPUS");
    int gpus = text ? atoi(text) : 1;
    return gpus > 0 ? rank % gpus : 0;
}

/* Valgrind reports leaks at exit. The leak sanitizer's tracer, which stops all threads, itself crashes now and then on those that
 * UCX has started ("Tracer caught signal 11"), so it is not asked about ranks; it is about programs of one process. */
static void leave(void)
{
#ifdef __SANITIZE_ADDRESS__
    _exit(0);
#else
    exit(0);
#endif
}

static void child(const struct world_spec *spec, int rank, int fd, const char *prefix)
{
    struct pkb_error err = {""};
    struct line line = {fd, spec->world};
    struct rt_options o = {
        .rank = rank,
        .world = spec->world,
        .node_of_rank = spec->node_of_rank,
        .shm_prefix = prefix,
        .device = device_of(rank),
        .exchange = exchange,
        .exchange_arg = &line,
    };
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    die_of_crashes();
    int rc = spec->raw ? spec->raw(&o, spec->arg, &err) : run_opened(spec, &o, &err);
    if (rc == 0)
        err.text[0] = '\0';
    (void)write_message(fd, RESULT, rc, err.text, strlen(err.text));
    leave();
}

/* ---- the parent ---------------------------------------------------------------------------------------------------- */

struct rank_state {
    pid_t pid;
    int fd;     /* -1: closed */
    char *blob; /* of the exchange that it waits in; NULL: it is in none */
    size_t size;
    bool returned;
    struct world_rank *out;
};

struct server {
    int world;
    struct rank_state ranks[WORLD_MAX];
};

static void refuse(struct rank_state *r, const char *text)
{
    (void)write_message(r->fd, REFUSED, 0, text, strlen(text));
    free(r->blob);
    r->blob = NULL;
}

static void answer(struct server *s)
{
    size_t size = s->ranks[0].size;
    char *all = malloc(size * (size_t)s->world + 1);
    bool same = all != NULL;
    for (int i = 0; i < s->world && same; i++) {
        same = s->ranks[i].size == size;
        if (same)
            memcpy(all + (size_t)i * size, s->ranks[i].blob, size);
    }
    for (int i = 0; i < s->world; i++) {
        if (!same) {
            refuse(&s->ranks[i], "ranks brought blobs of different sizes");
            continue;
        }
        (void)write_message(s->ranks[i].fd, BLOBS, 0, all, size * (size_t)s->world);
        free(s->ranks[i].blob);
        s->ranks[i].blob = NULL;
    }
    free(all);
}

/* Answers an exchange that all ranks have come to, or that cannot happen any more. */
static void settle(struct server *s)
{
    int waiting = 0, ended = -1;
    for (int i = 0; i < s->world; i++) {
        waiting += s->ranks[i].blob != NULL;
        if (s->ranks[i].fd < 0 || s->ranks[i].returned)
            ended = i;
    }
    if (waiting == s->world)
        answer(s);
    for (int i = 0; ended >= 0 && i < s->world; i++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "rank %d has ended", ended);
        if (s->ranks[i].blob)
            refuse(&s->ranks[i], text);
    }
}

static void hang_up(struct rank_state *r)
{
    (void)close(r->fd);
    r->fd = -1;
}

static void take_message(struct rank_state *r)
{
    struct header h;
    char *data = NULL;
    if (read_all(r->fd, &h, sizeof(h)) || h.size > (1u << 30) || !(data = calloc(1, h.size + 1)) ||
        read_all(r->fd, data, h.size)) {
        free(data);
        hang_up(r);
        return;
    }
    if (h.kind == EXCHANGE && !r->blob) {
        r->blob = data;
        r->size = h.size;
        return;
    }
    r->returned = true;
    r->out->end = WORLD_RETURNED;
    r->out->rc = h.rc;
    (void)snprintf(r->out->text, sizeof(r->out->text), "%s", data);
    free(data);
}

/* Until all children have hung up; 0, or 1 at the deadline. */
static int serve(struct server *s, int64_t deadline)
{
    for (;;) {
        struct pollfd p[WORLD_MAX];
        int open = 0;
        for (int i = 0; i < s->world; i++) {
            p[i] = (struct pollfd){.fd = s->ranks[i].fd, .events = POLLIN};
            open += p[i].fd >= 0;
        }
        int64_t left = (deadline - pkb_now_ns()) / 1000000;
        if (open == 0)
            return 0;
        if (left <= 0)
            return 1;
        if (poll(p, (nfds_t)s->world, left > 1000 ? 1000 : (int)left) < 0 && errno != EINTR)
            return 1;
        for (int i = 0; i < s->world; i++) {
            if (p[i].fd >= 0 && p[i].revents)
                take_message(&s->ranks[i]);
        }
        settle(s);
    }
}

static void reap(struct rank_state *r, int seconds, bool late)
{
    int status = 0;
    bool killed = late && r->fd >= 0;
    if (r->pid <= 0)
        return;
    if (killed)
        (void)kill(r->pid, SIGKILL);
    while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (killed) {
        r->out->end = WORLD_TIMED_OUT;
        r->out->rc = -1;
        (void)snprintf(r->out->text, sizeof(r->out->text), "still running after %d s", seconds);
    } else if (!r->returned || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        r->out->end = WORLD_DIED;
        r->out->rc = -1;
        process_describe_status(status, r->out->text, sizeof(r->out->text));
    }
    if (r->fd >= 0)
        hang_up(r);
    free(r->blob);
}

/* Shared memory of killed children. */
static void remove_leftovers(const char *prefix)
{
    DIR *dir = opendir("/dev/shm");
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char path[512];
        if (strncmp(entry->d_name, prefix + 1, strlen(prefix + 1)) != 0)
            continue;
        (void)snprintf(path, sizeof(path), "/dev/shm/%s", entry->d_name);
        (void)unlink(path);
    }
    if (dir)
        (void)closedir(dir);
}

static int start(struct server *s, const struct world_spec *spec, int rank, const char *prefix, struct pkb_error *err)
{
    int fds[2];
    struct rank_state *r = &s->ranks[rank];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
        return pkb_error_errno(err, "socket");
    r->pid = fork();
    if (r->pid < 0) {
        (void)close(fds[0]);
        (void)close(fds[1]);
        return pkb_error_errno(err, "fork");
    }
    if (r->pid == 0) {
        for (int i = 0; i < rank; i++)
            (void)close(s->ranks[i].fd);
        (void)close(fds[0]);
        /* Cluster tests make and remove network devices meanwhile: UCX is not to look at those. */
        if (setenv("UCX_NET_DEVICES", "lo", 0))
            _exit(1);
        child(spec, rank, fds[1], prefix);
    }
    (void)close(fds[1]);
    r->fd = fds[0];
    return 0;
}

int world_run_each(const struct world_spec *spec, struct world_rank *ranks, struct pkb_error *err)
{
    static unsigned count;
    struct server s = {.world = spec->world};
    char prefix[64];
    int rc = 0;
    if (spec->world < 1 || spec->world > WORLD_MAX)
        return pkb_error_set(err, "a world of %d ranks", spec->world);
    (void)snprintf(prefix, sizeof(prefix), "/pkb-test.%ld.%u", (long)getpid(), count++);
    memset(ranks, 0, (size_t)spec->world * sizeof(*ranks));
    (void)fflush(NULL); /* or children would print it again */
    for (int i = 0; i < spec->world; i++) {
        s.ranks[i].fd = -1;
        s.ranks[i].out = &ranks[i];
    }
    for (int i = 0; i < spec->world && rc == 0; i++)
        rc = start(&s, spec, i, prefix, err);
    int64_t deadline = rc ? 0 : pkb_now_ns() + (int64_t)spec->seconds * 1000000000;
    bool late = serve(&s, deadline) != 0;
    for (int i = 0; i < spec->world; i++)
        reap(&s.ranks[i], spec->seconds, late);
    remove_leftovers(prefix);
    return rc;
}

int world_run(int world, int seconds, world_fn *fn, void *arg, struct pkb_error *err)
{
    static struct world_rank ranks[WORLD_MAX];
    struct world_spec spec = {.world = world, .seconds = seconds, .fn = fn, .arg = arg};
    static const int weight[] = {[WORLD_TIMED_OUT] = 0, [WORLD_RETURNED] = 1, [WORLD_DIED] = 2};
    int worst = -1;
    if (world_run_each(&spec, ranks, err))
        return -1;
    /* A rank that died explains the errors of the others, an error explains those who wait for ever. */
    for (int i = world - 1; i >= 0; i--) {
        if (ranks[i].rc && (worst < 0 || weight[ranks[i].end] >= weight[ranks[worst].end]))
            worst = i;
    }
    if (worst < 0)
        return 0;
    return pkb_error_set(err, "rank %d: %s", worst, ranks[worst].text);
}
