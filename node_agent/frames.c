/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEADER 16
#define SMALLEST_BUFFER 4096

struct buffer {
    uint8_t *data;
    size_t capacity, start, end;
};

struct frames {
    int fd;
    size_t limit;
    size_t taken; /* bytes of the frame handed out last, still at in.start */
    struct buffer in, out;
};

void frames_put32(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

void frames_put64(uint8_t *p, uint64_t value)
{
    frames_put32(p, (uint32_t)value);
    frames_put32(p + 4, (uint32_t)(value >> 32));
}

uint32_t frames_get32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint64_t frames_get64(const uint8_t *p)
{
    return frames_get32(p) | (uint64_t)frames_get32(p + 4) << 32;
}

struct frames *frames_create(int fd, size_t limit, struct pkb_error *err)
{
    struct frames *f = calloc(1, sizeof(*f));
    int flags = fcntl(fd, F_GETFL);
    if (!f) {
        pkb_error_errno(err, "connection");
        return NULL;
    }
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        pkb_error_errno(err, "connection: fcntl");
        free(f);
        return NULL;
    }
    f->fd = fd;
    f->limit = limit;
    return f;
}

void frames_destroy(struct frames *f)
{
    if (!f)
        return;
    int saved = errno;
    (void)close(f->fd);
    free(f->in.data);
    free(f->out.data);
    free(f);
    errno = saved;
}

int frames_fd(const struct frames *f)
{
    return f->fd;
}

void frames_set_limit(struct frames *f, size_t limit)
{
    f->limit = limit;
}

/* Makes room for `more` bytes behind b->end. Capacity doubles, so a long life settles at the largest frame. */
static int buffer_reserve(struct buffer *b, size_t more, struct pkb_error *err)
{
    size_t used = b->end - b->start, capacity = b->capacity ? b->capacity : SMALLEST_BUFFER;
    if (b->capacity - b->end >= more)
        return 0;
    if (b->start > 0) {
        memmove(b->data, b->data + b->start, used);
        b->start = 0;
        b->end = used;
    }
    while (capacity - used < more)
        capacity *= 2; /* used and more are bounded by the connection's limit */
    if (capacity == b->capacity)
        return 0;
    uint8_t *data = realloc(b->data, capacity);
    if (!data)
        return pkb_error_errno(err, "buffer of %zu bytes", capacity);
    b->data = data;
    b->capacity = capacity;
    return 0;
}

static int buffer_append(struct buffer *b, const void *data, size_t size, struct pkb_error *err)
{
    if (size == 0)
        return 0;
    if (buffer_reserve(b, size, err) < 0)
        return -1;
    memcpy(b->data + b->end, data, size);
    b->end += size;
    return 0;
}

/* Queues what is left of three parts after their first `sent` bytes. */
static int queue_rest(struct frames *f, const struct iovec *part, size_t sent, struct pkb_error *err)
{
    for (int i = 0; i < 3; i++) {
        size_t skip = sent < part[i].iov_len ? sent : part[i].iov_len;
        sent -= skip;
        if (buffer_append(&f->out, (const uint8_t *)part[i].iov_base + skip, part[i].iov_len - skip, err) < 0)
            return -1;
    }
    return 0;
}

static ssize_t send_parts(struct frames *f, struct iovec *part, struct pkb_error *err)
{
    struct msghdr message = {.msg_iov = part, .msg_iovlen = 3};
    ssize_t n;
    do
        n = sendmsg(f->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    return n < 0 ? pkb_error_errno(err, "send") : n;
}

int frames_send(struct frames *f, uint32_t type, uint64_t round, const void *a, size_t a_size, const void *b, size_t b_size,
                struct pkb_error *err)
{
    uint8_t header[HEADER];
    struct iovec part[3] = {{header, HEADER}, {(void *)(uintptr_t)a, a_size}, {(void *)(uintptr_t)b, b_size}};
    ssize_t sent = 0;
    if (a_size > UINT32_MAX || b_size > UINT32_MAX - a_size)
        return pkb_error_set(err, "send: payload of %zu bytes is too large", a_size);
    frames_put32(header, type);
    frames_put32(header + 4, (uint32_t)(a_size + b_size));
    frames_put64(header + 8, round);
    if (!frames_pending(f))
        sent = send_parts(f, part, err);
    if (sent < 0)
        return -1;
    if ((size_t)sent == HEADER + a_size + b_size)
        return 0;
    return queue_rest(f, part, (size_t)sent, err);
}

bool frames_pending(const struct frames *f)
{
    return f->out.end > f->out.start;
}

int frames_flush(struct frames *f, struct pkb_error *err)
{
    struct buffer *b = &f->out;
    while (b->end > b->start) {
        ssize_t n = send(f->fd, b->data + b->start, b->end - b->start, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        if (n < 0)
            return pkb_error_errno(err, "send");
        b->start += (size_t)n;
    }
    b->start = b->end = 0;
    return 0;
}

static void drop_taken(struct frames *f)
{
    f->in.start += f->taken;
    f->taken = 0;
    if (f->in.start == f->in.end)
        f->in.start = f->in.end = 0;
}

/* Bytes that are missing for the frame at the front, so that a large one is read in few pieces. */
static size_t wanted(const struct frames *f)
{
    size_t have = f->in.end - f->in.start;
    if (have < HEADER)
        return SMALLEST_BUFFER;
    size_t size = frames_get32(f->in.data + f->in.start + 4);
    if (size > f->limit || have >= HEADER + size)
        return SMALLEST_BUFFER;
    return HEADER + size - have;
}

int frames_fill(struct frames *f, struct pkb_error *err)
{
    ssize_t n;
    drop_taken(f);
    if (buffer_reserve(&f->in, wanted(f), err) < 0)
        return -1;
    do
        n = recv(f->fd, f->in.data + f->in.end, f->in.capacity - f->in.end, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return -2;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (n < 0)
        return pkb_error_errno(err, "receive");
    f->in.end += (size_t)n;
    return 0;
}

int frames_next(struct frames *f, struct frame *frame, struct pkb_error *err)
{
    drop_taken(f);
    size_t have = f->in.end - f->in.start;
    if (have < HEADER)
        return 0;
    const uint8_t *p = f->in.data + f->in.start;
    size_t size = frames_get32(p + 4);
    if (size > f->limit)
        return pkb_error_set(err, "frame of %zu bytes is above the limit of %zu", size, f->limit);
    if (have < HEADER + size)
        return 0;
    *frame = (struct frame){.type = frames_get32(p), .round = frames_get64(p + 8), .data = p + HEADER, .size = size};
    f->taken = HEADER + size;
    return 1;
}
