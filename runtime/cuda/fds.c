/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/fds.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/clock.h"

#define POLL_MS 20

struct letter {
    uint8_t cookie[16]; /* the receiver's */
    int32_t from;
    uint32_t serial;
};

/* Room for one descriptor. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int fds_open(struct fds *f, struct pkb_error *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    socklen_t size = sizeof(a);
    size_t start = offsetof(struct sockaddr_un, sun_path);
    *f = (struct fds){.socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (f->socket < 0)
        return pkb_error_errno(err, "socket");
    /* An address without a name asks the system for a free abstract one. */
    if (bind(f->socket, (struct sockaddr *)&a, sizeof(a.sun_family)) || getsockname(f->socket, (struct sockaddr *)&a, &size)) {
        (void)pkb_error_errno(err, "socket's name");
    } else if (size <= start || size - start > sizeof(f->own.name)) {
        (void)pkb_error_set(err, "socket's name: %u bytes", (unsigned)size);
    } else if (getrandom(f->own.cookie, sizeof(f->own.cookie), 0) != (ssize_t)sizeof(f->own.cookie)) {
        (void)pkb_error_errno(err, "random numbers");
    } else {
        f->own.size = (uint8_t)(size - start);
        memcpy(f->own.name, a.sun_path, f->own.size);
        return 0;
    }
    fds_close(f);
    return -1;
}

void fds_close(struct fds *f)
{
    if (f->socket >= 0)
        (void)close(f->socket);
    f->socket = -1;
}

/* 1: sent, 0: no room at the receiver for now, -1: failed. */
static int send_to(struct fds *f, const struct fds_swap *s, int rank, int fd, struct pkb_error *err)
{
    const struct fds_address *to = &s->all[rank];
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct letter letter = {.from = s->rank, .serial = s->serial};
    struct iovec part = {&letter, sizeof(letter)};
    union control control = {.bytes = {0}};
    struct msghdr m = {.msg_name = &a, .msg_iov = &part, .msg_iovlen = 1};
    if (to->size > sizeof(to->name))
        return pkb_error_set(err, "rank %d has a bad address", rank);
    memcpy(letter.cookie, to->cookie, sizeof(letter.cookie));
    memcpy(a.sun_path, to->name, to->size);
    m.msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + to->size);
    if (fd >= 0) {
        m.msg_control = control.bytes;
        m.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        *c = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    }
    if (sendmsg(f->socket, &m, MSG_NOSIGNAL) >= 0)
        return 1;
    if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS)
        return 0;
    return pkb_error_errno(err, "sending a descriptor to rank %d", rank);
}

static int descriptor_of(struct msghdr *m)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(m);
    int fd = -1;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(&fd, CMSG_DATA(c), sizeof(fd));
    return fd;
}

/* Takes one letter, if there is one: the rank it is from, or -1. Letters of strangers, and second ones, are thrown away. */
static int receive(struct fds *f, const struct fds_swap *s, const bool *missing, int *fd)
{
    struct letter letter;
    struct iovec part = {&letter, sizeof(letter)};
    union control control;
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
    ssize_t n = recvmsg(f->socket, &m, MSG_CMSG_CLOEXEC);
    if (n < 0)
        return -1;
    *fd = descriptor_of(&m);
    if (n == (ssize_t)sizeof(letter) && memcmp(letter.cookie, f->own.cookie, sizeof(letter.cookie)) == 0 &&
        letter.serial == s->serial && letter.from >= 0 && letter.from < s->world && missing[letter.from])
        return letter.from;
    if (*fd >= 0)
        (void)close(*fd);
    return -1;
}

/* What is left to do, per rank. */
struct open_ends {
    bool *unsent, *missing;
    int n;
};

static int step(struct fds *f, const struct fds_swap *s, int fd, int *fds, struct open_ends *ends, struct pkb_error *err)
{
    struct pollfd p = {.fd = f->socket, .events = POLLIN};
    int got, from;
    for (int i = 0; i < s->world; i++) {
        int rc = ends->unsent[i] ? send_to(f, s, i, fd, err) : 0;
        if (rc < 0)
            return -1;
        ends->unsent[i] = ends->unsent[i] && rc == 0;
        ends->n -= rc;
    }
    if (poll(&p, 1, POLL_MS) < 0 && errno != EINTR)
        return pkb_error_errno(err, "waiting for descriptors");
    while ((from = receive(f, s, ends->missing, &got)) >= 0) {
        fds[from] = got;
        ends->missing[from] = false;
        ends->n--;
    }
    return 0;
}

int fds_swap(struct fds *f, const struct fds_swap *s, int fd, int *fds, struct pkb_error *err)
{
    int64_t deadline = pkb_now_ns() + s->patience_ns;
    size_t world = (size_t)s->world;
    bool *flags = calloc(2 * world, sizeof(*flags));
    struct open_ends ends = {flags, flags + world, 0};
    int rc = 0;
    for (int i = 0; i < s->world; i++)
        fds[i] = -1;
    if (!flags)
        return pkb_error_set(err, "out of memory");
    for (int i = 0; i < s->world; i++) {
        ends.unsent[i] = ends.missing[i] = s->peer[i];
        ends.n += s->peer[i] ? 2 : 0;
    }
    while (ends.n > 0 && rc == 0) {
        rc = step(f, s, fd, fds, &ends, err);
        if (rc == 0 && ends.n > 0 && pkb_now_ns() > deadline)
            rc = pkb_error_set(err, "no descriptors have come from some ranks of this node");
    }
    free(flags);
    return rc;
}
