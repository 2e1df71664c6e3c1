/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/rounds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "node_agent/star.h"
#include "util/clock.h"

#define ENTRY_HEADER 12   /* kind, arrival, size in front of each rank's data in a REPLY */
#define EVENTS_AT_ONCE 64 /* connections handled per epoll_wait */
#define FLUSH_MS 5000
#define MAX_TEXT 400

/* What the hub holds of one rank in the current round. */
struct submission {
    bool there;
    uint32_t kind, arrival;
    size_t size, capacity;
    uint8_t *data;
};

struct rounds {
    int rank, world;
    uint64_t number;  /* the current round */
    bool submitted;   /* by this agent in it */
    bool interrupted; /* an INTERRUPT of it is to be reported */
    bool replied;     /* hub: a REPLY is to be reported */
    int lost_rank, lost_code;
    bool over;
    struct round_entry *entries;

    struct frames *hub; /* a member's connection; NULL at the hub */

    struct frames **members; /* the hub's connections, by rank */
    int epoll_fd;
    struct submission *submissions;
    int n_there;
    uint32_t arrivals;
    bool exit_seen;
    uint8_t *reply;
    size_t reply_capacity;
};

size_t rounds_member_limit(void)
{
    return ROUNDS_MAX_DATA + 4;
}

size_t rounds_hub_limit(int world)
{
    return (size_t)world * (ROUNDS_MAX_DATA + ENTRY_HEADER);
}

/* ---- life ------------------------------------------------------------------------------------------------------------ */

static struct rounds *create(int rank, int world, struct pkb_error *err)
{
    struct rounds *r = calloc(1, sizeof(*r));
    if (!r) {
        pkb_error_errno(err, "rounds");
        return NULL;
    }
    *r = (struct rounds){.rank = rank, .world = world, .lost_rank = -1, .epoll_fd = -1};
    r->entries = calloc((size_t)world, sizeof(*r->entries));
    if (!r->entries) {
        pkb_error_errno(err, "rounds");
        rounds_destroy(r);
        return NULL;
    }
    return r;
}

static int watch(struct rounds *r, int rank, bool writable, bool add, struct pkb_error *err)
{
    struct epoll_event event = {.events = EPOLLIN | (writable ? EPOLLOUT : 0u), .data.u32 = (uint32_t)rank};
    if (epoll_ctl(r->epoll_fd, add ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, frames_fd(r->members[rank]), &event) < 0)
        return pkb_error_errno(err, "epoll_ctl");
    return 0;
}

static int hub_open(struct rounds *r, struct pkb_error *err)
{
    r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (r->epoll_fd < 0)
        return pkb_error_errno(err, "epoll_create1");
    for (int i = 1; i < r->world; i++)
        if (watch(r, i, false, true, err) < 0)
            return -1;
    return 0;
}

struct rounds *rounds_create_hub(int world, struct frames *const *members, struct pkb_error *err)
{
    struct rounds *r = create(0, world, err);
    struct frames **copy = calloc((size_t)world, sizeof(struct frames *));
    struct submission *submissions = calloc((size_t)world, sizeof(struct submission));
    if (!r || !copy || !submissions) {
        pkb_error_set(err, "rounds: out of memory");
        for (int i = 1; i < world; i++)
            frames_destroy(members[i]);
        free(copy);
        free(submissions);
        rounds_destroy(r);
        return NULL;
    }
    for (int i = 1; i < world; i++)
        copy[i] = members[i];
    r->members = copy;
    r->submissions = submissions;
    if (hub_open(r, err) < 0) {
        rounds_destroy(r);
        return NULL;
    }
    return r;
}

struct rounds *rounds_create_member(int rank, int world, struct frames *hub, struct pkb_error *err)
{
    struct rounds *r = create(rank, world, err);
    if (!r) {
        frames_destroy(hub);
        return NULL;
    }
    r->hub = hub;
    return r;
}

static void flush_connection(struct frames *f, int64_t deadline)
{
    while (frames_pending(f)) {
        int64_t left = (deadline - pkb_now_ns()) / 1000000;
        struct pollfd p = {.fd = frames_fd(f), .events = POLLOUT};
        if (left <= 0 || (poll(&p, 1, (int)left) < 0 && errno != EINTR) || frames_flush(f, NULL) < 0)
            return;
    }
}

void rounds_destroy(struct rounds *r)
{
    if (!r)
        return;
    int saved = errno;
    int64_t deadline = pkb_now_ns() + (int64_t)FLUSH_MS * 1000000;
    if (r->hub)
        flush_connection(r->hub, deadline);
    frames_destroy(r->hub);
    for (int i = 1; r->members && i < r->world; i++) {
        if (r->members[i])
            flush_connection(r->members[i], deadline);
        frames_destroy(r->members[i]);
    }
    for (int i = 0; r->submissions && i < r->world; i++)
        free(r->submissions[i].data);
    if (r->epoll_fd >= 0)
        (void)close(r->epoll_fd);
    free(r->members);
    free(r->submissions);
    free(r->reply);
    free(r->entries);
    free(r);
    errno = saved;
}

/* ---- the end of the world -------------------------------------------------------------------------------------------- */

/* The hub tells everybody which agent was lost. */
static int hub_lose_with(struct rounds *r, int rank, int code, const char *why, struct pkb_error *err)
{
    uint8_t numbers[8];
    frames_put32(numbers, (uint32_t)rank);
    frames_put32(numbers + 4, (uint32_t)code);
    r->over = true;
    r->lost_rank = rank;
    r->lost_code = code;
    for (int i = 1; i < r->world; i++)
        if (i != rank)
            (void)frames_send(r->members[i], FRAME_LOST, r->number, numbers, sizeof(numbers), why, strlen(why), NULL);
    return pkb_error_set(err, "lost the agent of rank %d: %s", rank, why);
}

static int hub_lose(struct rounds *r, int rank, const char *why, struct pkb_error *err)
{
    return hub_lose_with(r, rank, 0, why, err);
}

static int member_lose(struct rounds *r, const char *why, struct pkb_error *err)
{
    r->over = true;
    r->lost_rank = 0;
    return pkb_error_set(err, "lost agent 0: %s", why);
}

/* A peer's text, cut and made printable. */
static void copy_text(char *text, size_t size, const uint8_t *data, size_t n)
{
    size_t used = n < size - 1 ? n : size - 1;
    for (size_t i = 0; i < used; i++)
        text[i] = data[i] >= 32 && data[i] < 127 ? (char)data[i] : '?';
    text[used] = '\0';
}

void rounds_leave(struct rounds *r, int code, const char *why)
{
    uint8_t number[4];
    if (r->over)
        return;
    frames_put32(number, (uint32_t)code);
    if (r->hub)
        (void)frames_send(r->hub, FRAME_BYE, r->number, number, sizeof(number), why, strlen(why), NULL);
    else
        (void)hub_lose_with(r, 0, code, why, NULL);
    r->over = true;
}

int rounds_lost_rank(const struct rounds *r)
{
    return r->lost_rank;
}

int rounds_lost_code(const struct rounds *r)
{
    return r->lost_code;
}

/* ---- replies --------------------------------------------------------------------------------------------------------- */

static int parse_reply(struct rounds *r, const uint8_t *p, size_t size)
{
    for (int i = 0; i < r->world; i++) {
        if (size < ENTRY_HEADER)
            return -1;
        struct round_entry e = {
            .kind = frames_get32(p), .arrival = frames_get32(p + 4), .size = frames_get32(p + 8), .data = p + ENTRY_HEADER};
        size -= ENTRY_HEADER;
        if (e.size > size)
            return -1;
        r->entries[i] = e;
        size -= e.size;
        p += ENTRY_HEADER + e.size;
    }
    return size == 0 ? 0 : -1;
}

static void next_round(struct rounds *r)
{
    r->number++;
    r->submitted = false;
    r->interrupted = false;
}

/* ---- the hub --------------------------------------------------------------------------------------------------------- */

static int hub_send(struct rounds *r, int rank, enum frame_type type, const void *data, size_t size, struct pkb_error *err)
{
    struct frames *f = r->members[rank];
    struct pkb_error why;
    bool queued = frames_pending(f);
    if (frames_send(f, type, r->number, data, size, NULL, 0, &why) < 0)
        return hub_lose(r, rank, why.text, err);
    if (!queued && frames_pending(f))
        return watch(r, rank, true, false, err);
    return 0;
}

static int reserve(uint8_t **data, size_t *capacity, size_t size, struct pkb_error *err)
{
    if (size <= *capacity)
        return 0;
    uint8_t *larger = realloc(*data, size);
    if (!larger)
        return pkb_error_errno(err, "round of %zu bytes", size);
    *data = larger;
    *capacity = size;
    return 0;
}

static int hub_finish(struct rounds *r, struct pkb_error *err)
{
    size_t size = 0;
    for (int i = 0; i < r->world; i++)
        size += ENTRY_HEADER + r->submissions[i].size;
    if (reserve(&r->reply, &r->reply_capacity, size, err) < 0)
        return -1;
    uint8_t *p = r->reply;
    for (int i = 0; i < r->world; i++) {
        struct submission *s = &r->submissions[i];
        frames_put32(p, s->kind);
        frames_put32(p + 4, s->arrival);
        frames_put32(p + 8, (uint32_t)s->size);
        if (s->size > 0)
            memcpy(p + ENTRY_HEADER, s->data, s->size);
        p += ENTRY_HEADER + s->size;
        s->there = false;
    }
    for (int i = 1; i < r->world; i++)
        if (hub_send(r, i, FRAME_REPLY, r->reply, size, err) < 0)
            return -1;
    r->n_there = 0;
    r->arrivals = 0;
    r->exit_seen = false;
    r->replied = true;
    next_round(r);
    return parse_reply(r, r->reply, size);
}

/* The first EXIT of a round: those who are still busy must not stay so. */
static int hub_interrupt(struct rounds *r, struct pkb_error *err)
{
    if (r->exit_seen)
        return 0;
    r->exit_seen = true;
    if (!r->submissions[0].there)
        r->interrupted = true;
    for (int i = 1; i < r->world; i++)
        if (!r->submissions[i].there && hub_send(r, i, FRAME_INTERRUPT, NULL, 0, err) < 0)
            return -1;
    return 0;
}

static int hub_store(struct rounds *r, int rank, uint32_t kind, const void *data, size_t size, struct pkb_error *err)
{
    struct submission *s = &r->submissions[rank];
    if (s->there && (kind != ROUND_EXIT || s->kind == ROUND_EXIT))
        return rank == 0 ? pkb_error_set(err, "submitted twice in one round")
                         : hub_lose(r, rank, "submitted twice in one round", err);
    if (reserve(&s->data, &s->capacity, size, err) < 0)
        return -1;
    if (size > 0)
        memcpy(s->data, data, size);
    r->n_there += s->there ? 0 : 1;
    s->there = true;
    s->kind = kind;
    s->size = size;
    s->arrival = r->arrivals++;
    if (kind == ROUND_EXIT && hub_interrupt(r, err) < 0)
        return -1;
    return r->n_there == r->world ? hub_finish(r, err) : 0;
}

static int hub_frame(struct rounds *r, int rank, const struct frame *frame, struct pkb_error *err)
{
    char text[MAX_TEXT];
    if (frame->type == FRAME_BYE && frame->size >= 4) {
        copy_text(text, sizeof(text), frame->data + 4, frame->size - 4);
        return hub_lose_with(r, rank, (int)frames_get32(frame->data), text, err);
    }
    if (frame->type != FRAME_SUBMIT || frame->size < 4 || frame->round > r->number)
        return hub_lose(r, rank, "sent something that is not part of the protocol", err);
    if (frame->round < r->number)
        return 0; /* an EXIT that came after its round was answered */
    return hub_store(r, rank, frames_get32(frame->data), frame->data + 4, frame->size - 4, err);
}

static int hub_read(struct rounds *r, int rank, struct pkb_error *err)
{
    struct pkb_error why;
    struct frame frame;
    struct frames *f = r->members[rank];
    int rc = frames_fill(f, &why);
    if (rc == -2)
        return hub_lose(r, rank, "its connection was closed", err);
    while (rc >= 0) {
        rc = frames_next(f, &frame, &why);
        if (rc == 0)
            return 0;
        if (rc == 1 && hub_frame(r, rank, &frame, err) < 0)
            return -1;
    }
    return hub_lose(r, rank, why.text, err);
}

static int hub_event(struct rounds *r, const struct epoll_event *event, struct pkb_error *err)
{
    struct pkb_error why;
    int rank = (int)event->data.u32;
    if (event->events & EPOLLOUT) {
        if (frames_flush(r->members[rank], &why) < 0)
            return hub_lose(r, rank, why.text, err);
        if (!frames_pending(r->members[rank]) && watch(r, rank, false, false, err) < 0)
            return -1;
    }
    return event->events & ~(uint32_t)EPOLLOUT ? hub_read(r, rank, err) : 0;
}

static int hub_progress(struct rounds *r, struct pkb_error *err)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    /* A reply that has not been reported yet must survive: the next round cannot end without this agent. */
    int n = r->replied || r->interrupted ? 0 : epoll_wait(r->epoll_fd, events, EVENTS_AT_ONCE, 0);
    if (n < 0 && errno != EINTR)
        return pkb_error_errno(err, "epoll_wait");
    for (int i = 0; i < n; i++)
        if (hub_event(r, &events[i], err) < 0)
            return -1;
    if (r->replied) {
        r->replied = false;
        return ROUNDS_REPLY;
    }
    return ROUNDS_NONE;
}

/* ---- a member -------------------------------------------------------------------------------------------------------- */

static int member_lost_frame(struct rounds *r, const struct frame *frame, struct pkb_error *err)
{
    char text[MAX_TEXT];
    r->over = true;
    r->lost_rank = (int)frames_get32(frame->data);
    r->lost_code = (int)frames_get32(frame->data + 4);
    copy_text(text, sizeof(text), frame->data + 8, frame->size - 8);
    return pkb_error_set(err, "lost the agent of rank %d: %s", r->lost_rank, text);
}

static int member_frame(struct rounds *r, const struct frame *frame, struct pkb_error *err)
{
    if (frame->type == FRAME_LOST && frame->size >= 8)
        return member_lost_frame(r, frame, err);
    if (frame->type == FRAME_INTERRUPT && frame->round == r->number) {
        r->interrupted = !r->submitted;
        return ROUNDS_NONE;
    }
    if (frame->type != FRAME_REPLY || frame->round != r->number || !r->submitted || parse_reply(r, frame->data, frame->size) < 0)
        return member_lose(r, "it sent something that is not part of the protocol", err);
    next_round(r);
    return ROUNDS_REPLY;
}

/* Handles frames that were read until one is an event. */
static int member_frames(struct rounds *r, struct pkb_error *err)
{
    struct pkb_error why;
    struct frame frame;
    int rc = 1;
    while (rc == 1) {
        rc = frames_next(r->hub, &frame, &why);
        if (rc < 0)
            return member_lose(r, why.text, err);
        int event = rc == 1 ? member_frame(r, &frame, err) : ROUNDS_NONE;
        if (event != ROUNDS_NONE || r->interrupted)
            return event;
    }
    return ROUNDS_NONE;
}

static int member_progress(struct rounds *r, struct pkb_error *err)
{
    struct pkb_error why;
    int event = member_frames(r, err);
    if (event != ROUNDS_NONE || r->interrupted)
        return event;
    if (frames_flush(r->hub, &why) < 0)
        return member_lose(r, why.text, err);
    int rc = frames_fill(r->hub, &why);
    if (rc == -2)
        return member_lose(r, "its connection was closed", err);
    if (rc < 0)
        return member_lose(r, why.text, err);
    return member_frames(r, err);
}

/* ---- for all --------------------------------------------------------------------------------------------------------- */

int rounds_submit(struct rounds *r, enum round_kind kind, const void *data, size_t size, struct pkb_error *err)
{
    uint8_t number[4];
    struct pkb_error why;
    if (r->over)
        return pkb_error_set(err, "the world is over");
    if (size > ROUNDS_MAX_DATA)
        return pkb_error_set(err, "a round's data of %zu bytes is above the limit of %u", size, ROUNDS_MAX_DATA);
    r->submitted = true;
    r->interrupted = false;
    if (!r->hub)
        return hub_store(r, 0, kind, data, size, err);
    frames_put32(number, kind);
    if (frames_send(r->hub, FRAME_SUBMIT, r->number, number, sizeof(number), data, size, &why) < 0)
        return member_lose(r, why.text, err);
    return 0;
}

uint64_t rounds_number(const struct rounds *r)
{
    return r->number;
}

bool rounds_submitted(const struct rounds *r)
{
    return r->submitted;
}

struct pollfd rounds_pollfd(const struct rounds *r)
{
    if (!r->hub)
        return (struct pollfd){.fd = r->epoll_fd, .events = POLLIN};
    return (struct pollfd){.fd = frames_fd(r->hub), .events = (short)(POLLIN | (frames_pending(r->hub) ? POLLOUT : 0))};
}

int rounds_progress(struct rounds *r, struct pkb_error *err)
{
    if (r->over)
        return pkb_error_set(err, "the world is over");
    int event = r->hub ? member_progress(r, err) : hub_progress(r, err);
    if (event == ROUNDS_NONE && r->interrupted) {
        r->interrupted = false;
        return ROUNDS_INTERRUPT;
    }
    return event;
}

int rounds_wait(struct rounds *r, int timeout_ms, struct pkb_error *err)
{
    int64_t deadline = pkb_now_ns() + (int64_t)timeout_ms * 1000000;
    for (;;) {
        int event = rounds_progress(r, err);
        if (event < 0 || event == ROUNDS_REPLY)
            return event < 0 ? -1 : 0;
        if (event == ROUNDS_INTERRUPT)
            continue;
        struct pollfd p = rounds_pollfd(r);
        int64_t left = (deadline - pkb_now_ns()) / 1000000;
        if (timeout_ms >= 0 && left <= 0)
            return 1;
        if (poll(&p, 1, timeout_ms < 0 ? -1 : (int)left + 1) < 0 && errno != EINTR)
            return pkb_error_errno(err, "poll");
    }
}

const struct round_entry *rounds_entry(const struct rounds *r, int rank)
{
    return &r->entries[rank];
}
