/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines over a socket. The peer may be hostile: it may send anything, in any portions, or stop reading. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "node_agent/protocol.h"
#include "util/clock.h"
#include "util/json.h"

#define FIRST_CAPACITY 4096
#define READ_AT_LEAST 4096

struct lines {
    int fd;
    char *buffer; /* bytes start .. used-1 are unread */
    size_t start, used, capacity;
    size_t scanned; /* start .. scanned-1 hold no newline */
    bool closed;    /* the peer has closed */
};

struct lines *lines_create(int fd, struct pkb_error *err)
{
    struct lines *l = calloc(1, sizeof(*l));
    if (!l) {
        pkb_error_errno(err, "control socket");
        (void)close(fd);
        return NULL;
    }
    l->fd = fd;
    return l;
}

void lines_destroy(struct lines *l)
{
    if (!l)
        return;
    int saved = errno;
    (void)close(l->fd);
    free(l->buffer);
    free(l);
    errno = saved;
}

int lines_fd(const struct lines *l)
{
    return l->fd;
}

/* Waits for an event until a deadline (negative: for ever). 1: it is there, 0: time is over, -1: error. */
static int wait_until(int fd, short events, int64_t deadline, struct pkb_error *err)
{
    for (;;) {
        struct pollfd p = {.fd = fd, .events = events};
        int64_t left = deadline < 0 ? -1 : deadline - pkb_now_ns();
        if (deadline >= 0 && left < 0)
            left = 0;
        int n = poll(&p, 1, left < 0 ? -1 : (int)((left + 999999) / 1000000));
        if (n > 0)
            return 1;
        if (n == 0)
            return 0;
        if (errno != EINTR)
            return pkb_error_errno(err, "control socket: poll");
    }
}

static int64_t deadline_after(int timeout_ms)
{
    return timeout_ms < 0 ? -1 : pkb_now_ns() + (int64_t)timeout_ms * 1000000;
}

/* ---- sending ----------------------------------------------------------------------------------------------------------- */

static int send_bytes(int fd, const char *data, size_t size, int timeout_ms, struct pkb_error *err)
{
    int64_t deadline = deadline_after(timeout_ms);
    while (size > 0) {
        ssize_t n = send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n >= 0) {
            data += n;
            size -= (size_t)n;
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK)
            return pkb_error_errno(err, "control socket: send");
        int ready = wait_until(fd, POLLOUT, deadline, err);
        if (ready < 0)
            return -1;
        if (ready == 0)
            return pkb_error_set(err, "control socket: the peer has not read its input for %d ms", timeout_ms);
    }
    return 0;
}

int lines_send(struct lines *l, const json_t *value, int timeout_ms, struct pkb_error *err)
{
    char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
    if (!text)
        return pkb_error_set(err, "control socket: cannot encode a message (out of memory or invalid text)");
    size_t size = strlen(text);
    text[size] = '\n'; /* takes the place of the final 0: the line is sent by size */
    int rc = size >= PROTOCOL_MAX_LINE ? pkb_error_set(err, "control socket: a message of %zu bytes is too long", size)
                                       : send_bytes(l->fd, text, size + 1, timeout_ms, err);
    free(text);
    return rc;
}

/* ---- receiving --------------------------------------------------------------------------------------------------------- */

/* Makes room behind the unread bytes: moves them to the front, then grows. */
static int make_room(struct lines *l, struct pkb_error *err)
{
    if (l->start > 0) {
        memmove(l->buffer, l->buffer + l->start, l->used - l->start);
        l->used -= l->start;
        l->scanned -= l->start;
        l->start = 0;
    }
    if (l->capacity - l->used >= READ_AT_LEAST)
        return 0;
    size_t capacity = l->capacity ? 2 * l->capacity : FIRST_CAPACITY + READ_AT_LEAST;
    char *grown = realloc(l->buffer, capacity);
    if (!grown)
        return pkb_error_errno(err, "control socket: buffer of %zu bytes", capacity);
    l->buffer = grown;
    l->capacity = capacity;
    return 0;
}

/* Reads what is there. 1: got bytes or the end, 0: nothing there, -1: error. */
static int read_some(struct lines *l, struct pkb_error *err)
{
    if (make_room(l, err) < 0)
        return -1;
    ssize_t n;
    do
        n = recv(l->fd, l->buffer + l->used, l->capacity - l->used, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n > 0) {
        l->used += (size_t)n;
        return 1;
    }
    if (n == 0 || errno == ECONNRESET) {
        l->closed = true;
        return 1;
    }
    return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : pkb_error_errno(err, "control socket: receive");
}

/* Takes the first complete line out of the buffer. 1: *text and *size are it; 0: there is none; -1: it is too long. */
static int take_line(struct lines *l, const char **text, size_t *size, struct pkb_error *err)
{
    const char *newline = l->used > l->scanned ? memchr(l->buffer + l->scanned, '\n', l->used - l->scanned) : NULL;
    size_t end = newline ? (size_t)(newline - l->buffer) : l->used;
    if (end - l->start > PROTOCOL_MAX_LINE)
        return pkb_error_set(err, "control socket: a line is longer than %d bytes", PROTOCOL_MAX_LINE);
    l->scanned = end;
    if (!newline)
        return 0;
    *text = l->buffer + l->start;
    *size = end - l->start;
    l->start = end + 1;
    l->scanned = l->start;
    return 1;
}

static int parse_line(const char *text, size_t size, json_t **value, struct pkb_error *err)
{
    json_t *v = pkb_json_parse(text, size, err);
    if (!v)
        return pkb_error_prefix(err, "control socket: a line of %zu bytes is not JSON", size);
    if (!json_is_object(v)) {
        json_decref(v);
        return pkb_error_set(err, "control socket: a line is not a JSON object");
    }
    *value = v;
    return 1;
}

int lines_receive(struct lines *l, int timeout_ms, json_t **value, struct pkb_error *err)
{
    int64_t deadline = deadline_after(timeout_ms);
    const char *text = NULL;
    size_t size = 0;
    *value = NULL;
    for (;;) {
        int rc = take_line(l, &text, &size, err);
        if (rc != 0)
            return rc < 0 ? -1 : parse_line(text, size, value, err);
        if (l->closed) {
            pkb_error_set(err, "control socket: the peer has closed it%s", l->used > l->start ? " in the middle of a line" : "");
            return -2;
        }
        rc = read_some(l, err);
        if (rc == 0)
            rc = wait_until(l->fd, POLLIN, deadline, err);
        if (rc <= 0)
            return rc;
    }
}
