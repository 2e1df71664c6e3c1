/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/star.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/clock.h"

#define HELLO_SIZE (STAR_COOKIE + 8)
#define MAX_STRANGERS 32 /* connections that may be in their handshake at one time */
#define NS_PER_MS 1000000

/* ---- sockets --------------------------------------------------------------------------------------------------------- */

/* Small messages at once, and a peer whose machine vanished is noticed within about half a minute. */
static int tune(int fd, struct pkb_error *err)
{
    const struct {
        int level, name, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},   {SOL_SOCKET, SO_KEEPALIVE, 1}, {IPPROTO_TCP, TCP_KEEPIDLE, 10},
        {IPPROTO_TCP, TCP_KEEPINTVL, 5}, {IPPROTO_TCP, TCP_KEEPCNT, 4}, {IPPROTO_TCP, TCP_USER_TIMEOUT, 30000},
    };
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int)) < 0)
            return pkb_error_errno(err, "setsockopt");
    return 0;
}

static int bind_any(int family, bool loopback_only)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(loopback_only ? INADDR_LOOPBACK : INADDR_ANY)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
    const struct sockaddr *address = family == AF_INET ? (void *)&v4 : (void *)&v6;
    int off = 0, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    bool ok = family == AF_INET || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0;
    ok = ok && bind(fd, address, family == AF_INET ? sizeof(v4) : sizeof(v6)) == 0 && listen(fd, 1024) == 0;
    if (ok)
        return fd;
    int saved = errno;
    (void)close(fd);
    errno = saved;
    return -1;
}

int star_listen(bool loopback_only, int *port, struct pkb_error *err)
{
    struct sockaddr_in6 address; /* large enough for both families; the port is at the same place */
    socklen_t size = sizeof(address);
    int fd = loopback_only ? -1 : bind_any(AF_INET6, false);
    if (fd < 0)
        fd = bind_any(AF_INET, loopback_only);
    if (fd < 0)
        return pkb_error_errno(err, "cannot listen for agents");
    if (getsockname(fd, (struct sockaddr *)&address, &size) < 0) {
        pkb_error_errno(err, "getsockname");
        (void)close(fd);
        return -1;
    }
    *port = ntohs(address.sin6_port);
    return fd;
}

static int remaining_ms(int64_t deadline)
{
    int64_t left = deadline - pkb_now_ns();
    return left <= 0 ? 0 : (int)(left / NS_PER_MS) + 1;
}

/* ---- the hub's side -------------------------------------------------------------------------------------------------- */

struct handshake {
    struct frames *connection;
    int64_t deadline;
};

struct acceptor {
    int listen_fd, world, joined, strangers;
    const uint8_t *cookie;
    size_t payload_limit;
    struct frames **members;
    struct handshake open[MAX_STRANGERS];
    int n_open;
};

static void close_handshake(struct acceptor *a, int i, bool keep)
{
    if (!keep) {
        frames_destroy(a->open[i].connection);
        a->strangers++;
    }
    a->open[i] = a->open[--a->n_open];
}

static void accept_new(struct acceptor *a)
{
    while (a->n_open < MAX_STRANGERS) {
        int fd = accept4(a->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return; /* nothing there, or it is gone again */
        struct frames *f = tune(fd, NULL) < 0 ? NULL : frames_create(fd, HELLO_SIZE, NULL);
        if (!f) {
            (void)close(fd);
            continue;
        }
        a->open[a->n_open++] = (struct handshake){f, pkb_now_ns() + (int64_t)STAR_HANDSHAKE_MS * NS_PER_MS};
    }
}

/* The rank that a greeting proves, or -1. */
static int greeted_rank(const struct acceptor *a, const struct frame *frame)
{
    if (frame->type != FRAME_HELLO || frame->size != HELLO_SIZE)
        return -1;
    if (CRYPTO_memcmp(frame->data, a->cookie, STAR_COOKIE) != 0)
        return -1;
    uint32_t rank = frames_get32(frame->data + STAR_COOKIE), world = frames_get32(frame->data + STAR_COOKIE + 4);
    if (world != (uint32_t)a->world || rank < 1 || rank >= world || a->members[rank])
        return -1;
    return (int)rank;
}

/* Reads what a newcomer says. Returns true when it has left the list. */
static bool advance_handshake(struct acceptor *a, int i)
{
    struct frames *f = a->open[i].connection;
    struct frame frame;
    int rc = frames_fill(f, NULL);
    if (rc == 0)
        rc = frames_next(f, &frame, NULL);
    if (rc == 0)
        return false;
    int rank = rc == 1 ? greeted_rank(a, &frame) : -1;
    if (rank < 0 || frames_send(f, FRAME_WELCOME, 0, NULL, 0, NULL, 0, NULL) < 0) {
        close_handshake(a, i, false);
        return true;
    }
    frames_set_limit(f, a->payload_limit);
    a->members[rank] = f;
    a->joined++;
    close_handshake(a, i, true);
    return true;
}

static void expire_handshakes(struct acceptor *a)
{
    int64_t now = pkb_now_ns();
    for (int i = a->n_open - 1; i >= 0; i--)
        if (a->open[i].deadline <= now)
            close_handshake(a, i, false);
}

static int64_t next_deadline(const struct acceptor *a, int64_t deadline)
{
    for (int i = 0; i < a->n_open; i++)
        if (a->open[i].deadline < deadline)
            deadline = a->open[i].deadline;
    return deadline;
}

static int accept_step(struct acceptor *a, int64_t deadline, struct pkb_error *err)
{
    struct pollfd fds[MAX_STRANGERS + 1];
    int n = a->n_open;
    for (int i = 0; i < n; i++)
        fds[i] = (struct pollfd){.fd = frames_fd(a->open[i].connection), .events = POLLIN};
    /* A full list is not an invitation to wait for: the listener is left out until a place is free. */
    fds[n] = (struct pollfd){.fd = n < MAX_STRANGERS ? a->listen_fd : -1, .events = POLLIN};
    if (poll(fds, (nfds_t)n + 1, remaining_ms(next_deadline(a, deadline))) < 0 && errno != EINTR)
        return pkb_error_errno(err, "poll");
    for (int i = n - 1; i >= 0; i--)
        if (fds[i].revents)
            (void)advance_handshake(a, i);
    expire_handshakes(a);
    accept_new(a);
    return 0;
}

static int report_missing(const struct acceptor *a, int timeout_ms, struct pkb_error *err)
{
    char list[256] = "";
    size_t used = 0;
    for (int r = 1; r < a->world && used < sizeof(list) - 16; r++)
        if (!a->members[r])
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%d", used ? "," : "", r);
    return pkb_error_set(err, "agents of ranks %s did not connect within %d s", list, timeout_ms / 1000);
}

int star_accept(int listen_fd, int world, const uint8_t cookie[STAR_COOKIE], size_t payload_limit, int timeout_ms,
                struct frames **members, int *strangers, struct pkb_error *err)
{
    struct acceptor a = {.listen_fd = listen_fd,
                         .world = world,
                         .joined = 1,
                         .cookie = cookie,
                         .payload_limit = payload_limit,
                         .members = members};
    int64_t deadline = pkb_now_ns() + (int64_t)timeout_ms * NS_PER_MS;
    int rc = 0;
    memset(members, 0, (size_t)world * sizeof(*members));
    while (rc == 0 && a.joined < world) {
        rc = accept_step(&a, deadline, err);
        if (rc == 0 && a.joined < world && pkb_now_ns() >= deadline)
            rc = report_missing(&a, timeout_ms, err);
    }
    while (a.n_open > 0)
        close_handshake(&a, a.n_open - 1, false);
    if (strangers)
        *strangers = a.strangers;
    for (int r = 0; rc < 0 && r < world; r++) {
        frames_destroy(members[r]);
        members[r] = NULL;
    }
    return rc;
}

/* ---- a member's side ------------------------------------------------------------------------------------------------- */

static int wait_connected(int fd, int64_t deadline)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int n, error = 0;
    socklen_t size = sizeof(error);
    do
        n = poll(&p, 1, remaining_ms(deadline));
    while (n < 0 && errno == EINTR);
    if (n == 0)
        errno = ETIMEDOUT;
    if (n <= 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        return -1;
    errno = error;
    return error ? -1 : 0;
}

static int dial(const char *address, int port, int64_t deadline, struct pkb_error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *list = NULL;
    char service[16];
    (void)snprintf(service, sizeof(service), "%d", port);
    int rc = getaddrinfo(address, service, &hints, &list);
    if (rc != 0)
        return pkb_error_set(err, "address %s: %s", address, gai_strerror(rc));
    int fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool ok = fd >= 0 &&
              (connect(fd, list->ai_addr, list->ai_addrlen) == 0 || (errno == EINPROGRESS && wait_connected(fd, deadline) == 0));
    if (!ok)
        pkb_error_errno(err, "cannot connect to agent 0 at %s port %d", address, port);
    freeaddrinfo(list);
    if (ok && tune(fd, err) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static int wait_welcome(struct frames *f, int64_t deadline, struct pkb_error *err)
{
    struct frame frame;
    int rc = 0;
    while (rc == 0) {
        struct pollfd p = {.fd = frames_fd(f), .events = POLLIN};
        int n = poll(&p, 1, remaining_ms(deadline));
        if (n == 0)
            return pkb_error_set(err, "agent 0 did not answer the greeting in time");
        if (n < 0 && errno != EINTR)
            return pkb_error_errno(err, "poll");
        rc = frames_fill(f, err);
        if (rc == 0)
            rc = frames_next(f, &frame, err);
    }
    if (rc == -2)
        return pkb_error_set(err, "agent 0 refused the connection");
    if (rc == 1 && frame.type != FRAME_WELCOME)
        return pkb_error_set(err, "unexpected answer from agent 0");
    return rc == 1 ? 0 : -1;
}

static struct frames *greet(int fd, int rank, int world, const uint8_t *cookie, int64_t deadline, struct pkb_error *err)
{
    uint8_t hello[8];
    struct frames *f = frames_create(fd, HELLO_SIZE, err);
    if (!f) {
        (void)close(fd);
        return NULL;
    }
    frames_put32(hello, (uint32_t)rank);
    frames_put32(hello + 4, (uint32_t)world);
    if (frames_send(f, FRAME_HELLO, 0, cookie, STAR_COOKIE, hello, sizeof(hello), err) < 0 ||
        wait_welcome(f, deadline, err) < 0) {
        frames_destroy(f);
        return NULL;
    }
    return f;
}

struct frames *star_connect(const char *const *addresses, int n, int port, int rank, int world, const uint8_t cookie[STAR_COOKIE],
                            size_t payload_limit, int timeout_ms, struct pkb_error *err)
{
    int64_t deadline = pkb_now_ns() + (int64_t)timeout_ms * NS_PER_MS;
    pkb_error_set(err, "agent 0 has no address");
    for (int i = 0; i < n; i++) {
        /* An address that leads nowhere must leave time for the next one. */
        int64_t share = (deadline - pkb_now_ns()) / (n - i);
        int fd = dial(addresses[i], port, pkb_now_ns() + share, err);
        struct frames *f = fd < 0 ? NULL : greet(fd, rank, world, cookie, deadline, err);
        if (f) {
            frames_set_limit(f, payload_limit);
            return f;
        }
    }
    return NULL;
}
