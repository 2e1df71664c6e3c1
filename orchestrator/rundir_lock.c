/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "orchestrator/rundir.h"
#include "util/clock.h"
#include "util/file.h"

#define REMAINS_MS 15000 /* how long the processes of a dead driver may take to end */
#define GLANCE_MS 200    /* 'pkb status' takes the lock for an instant */
#define POLL_US 5000

static int open_lock(const struct rundir *r, int flags, struct pkb_error *err)
{
    char *path = pkb_format(err, "%s/lock", r->path);
    if (!path)
        return -1;
    int fd = open(path, flags | O_CLOEXEC, 0666);
    if (fd < 0)
        pkb_error_errno(err, "%s", path);
    free(path);
    return fd;
}

/* The lock file's line, "" when there is none. */
static void read_owner(int fd, char *who, size_t size)
{
    ssize_t n = pread(fd, who, size - 1, 0);
    who[n > 0 ? n : 0] = '\0';
    who[strcspn(who, "\n")] = '\0';
}

static int write_owner(int fd, struct pkb_error *err)
{
    char host[HOST_NAME_MAX + 1] = "?", now[32], line[HOST_NAME_MAX + 96];
    (void)gethostname(host, sizeof(host) - 1);
    pkb_utc_now(now, sizeof(now));
    int n = snprintf(line, sizeof(line), "%s %ld %s\n", host, (long)getpid(), now);
    if (ftruncate(fd, 0) < 0 || pwrite(fd, line, (size_t)n, 0) != (ssize_t)n)
        return pkb_error_errno(err, "writing the lock file");
    return 0;
}

/* Whether the owner lived on this host and is gone: what still holds the lock is about to end. */
static bool owner_is_dead(const char *who)
{
    char host[HOST_NAME_MAX + 1] = "";
    long pid = 0;
    (void)gethostname(host, sizeof(host) - 1);
    size_t n = strlen(host);
    if (strncmp(who, host, n) != 0 || who[n] != ' ')
        return false;
    pid = strtol(who + n, NULL, 10);
    return pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

static int busy(const struct rundir *r, const char *who, struct pkb_error *err)
{
    char host[HOST_NAME_MAX + 1] = "?", since[32] = "?";
    long pid = 0;
    if (sscanf(who, "%64s %ld %31s", host, &pid, since) != 3)
        (void)snprintf(host, sizeof(host), "?");
    pkb_error_set(err, "%s: another pkb drives this run: process %ld on %s, since %s; 'pkb status' shows how far it is", r->path,
                  pid, host, since);
    return -2;
}

/* 0, -1, or -2 with the error set: somebody else has it. */
static int take(const struct rundir *r, int fd, struct pkb_error *err)
{
    int64_t start = pkb_now_ns();
    for (;;) {
        char who[HOST_NAME_MAX + 96];
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return write_owner(fd, err);
        if (errno != EWOULDBLOCK && errno != EINTR)
            return pkb_error_errno(err, "%s/lock", r->path);
        int64_t waited = (pkb_now_ns() - start) / 1000000;
        read_owner(fd, who, sizeof(who));
        if (waited >= (owner_is_dead(who) ? REMAINS_MS : GLANCE_MS))
            return busy(r, who, err);
        (void)usleep(POLL_US);
    }
}

int rundir_lock(struct rundir *r, struct pkb_error *err)
{
    int fd = open_lock(r, O_RDWR | O_CREAT, err);
    if (fd < 0)
        return -1;
    int rc = take(r, fd, err);
    if (rc < 0)
        (void)close(fd);
    else
        r->lock_fd = fd;
    return rc;
}

void rundir_unlock(struct rundir *r)
{
    if (r->lock_fd >= 0)
        (void)close(r->lock_fd);
    r->lock_fd = -1;
}

int rundir_driver(const struct rundir *r, bool *driven, char *who, size_t size, struct pkb_error *err)
{
    *driven = false;
    who[0] = '\0';
    int fd = open_lock(r, O_RDONLY, NULL);
    if (fd < 0)
        return errno == ENOENT ? 0 : pkb_error_errno(err, "%s/lock", r->path);
    read_owner(fd, who, size);
    if (flock(fd, LOCK_SH | LOCK_NB) < 0)
        *driven = errno == EWOULDBLOCK;
    (void)close(fd);
    return 0;
}
