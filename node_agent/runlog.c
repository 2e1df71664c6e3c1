/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/runlog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/file.h"

struct runlog {
    char *path, *title;
    int fd; /* -1 until something is printed */
    uint64_t total;
    uint64_t ring_total; /* bytes that went into the ring */
    char ring[RUNLOG_TAIL];
};

struct runlog *runlog_create(const char *path, const char *title, struct pkb_error *err)
{
    struct runlog *log = malloc(sizeof(*log));
    if (!log) {
        pkb_error_errno(err, "log");
        return NULL;
    }
    log->path = strdup(path);
    log->title = strdup(title);
    log->fd = -1;
    log->total = log->ring_total = 0;
    if (!log->path || !log->title) {
        pkb_error_errno(err, "log");
        runlog_destroy(log);
        return NULL;
    }
    return log;
}

/* Opens the file at the first output. A path that cannot be opened is tried once per runner. */
static void begin(struct runlog *log)
{
    log->fd = open(log->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (log->fd >= 0)
        (void)dprintf(log->fd, "== %s\n", log->title);
}

static void ring_put(struct runlog *log, const char *data, size_t size)
{
    log->ring_total += size;
    if (size > RUNLOG_TAIL) {
        data += size - RUNLOG_TAIL;
        size = RUNLOG_TAIL;
    }
    size_t at = (size_t)((log->ring_total - size) % RUNLOG_TAIL);
    size_t first = size < RUNLOG_TAIL - at ? size : RUNLOG_TAIL - at;
    memcpy(log->ring + at, data, first);
    memcpy(log->ring, data + first, size - first);
}

void runlog_write(struct runlog *log, const void *data, size_t size)
{
    if (size == 0)
        return;
    if (log->total == 0)
        begin(log);
    size_t head = log->total < RUNLOG_HEAD ? RUNLOG_HEAD - (size_t)log->total : 0;
    if (head > size)
        head = size;
    if (head > 0 && log->fd >= 0)
        (void)pkb_write_all(log->fd, data, head);
    ring_put(log, data, size);
    log->total += size;
}

/* Copies the last n bytes of the ring (n <= what it holds). */
static void ring_copy(const struct runlog *log, char *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = log->ring[(log->ring_total - n + i) % RUNLOG_TAIL];
}

void runlog_last(const struct runlog *log, char *text, size_t size)
{
    size_t n = log->ring_total < RUNLOG_TAIL ? (size_t)log->ring_total : RUNLOG_TAIL;
    if (n > size - 1)
        n = size - 1;
    ring_copy(log, text, n);
    text[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if ((text[i] < 32 && text[i] != '\n' && text[i] != '\t') || text[i] >= 127)
            text[i] = '?';
    while (n > 0 && text[n - 1] == '\n')
        text[--n] = '\0';
}

static void write_tail(const struct runlog *log)
{
    static char tail[RUNLOG_TAIL];
    uint64_t beyond = log->total - RUNLOG_HEAD;
    size_t n = beyond < RUNLOG_TAIL ? (size_t)beyond : RUNLOG_TAIL;
    if (beyond > n)
        (void)dprintf(log->fd, "\n== %llu bytes left out\n", (unsigned long long)(beyond - n));
    ring_copy(log, tail, n);
    (void)pkb_write_all(log->fd, tail, n);
    (void)dprintf(log->fd, "\n");
}

void runlog_destroy(struct runlog *log)
{
    if (!log)
        return;
    int saved = errno;
    if (log->fd >= 0) {
        if (log->total > RUNLOG_HEAD)
            write_tail(log);
        (void)close(log->fd);
    }
    free(log->path);
    free(log->title);
    free(log);
    errno = saved;
}
