/* SPDX-License-Identifier: Apache-2.0 */
/* Agent 0's side of the rounds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "node_agent/rounds_state.h"
#include "node_agent/star.h"

#define EVENTS_AT_ONCE 64 /* connections handled per epoll_wait */

static int watch(struct rounds *r, int rank, bool writable, bool add, struct pkb_error *err)
{
    struct epoll_event event = {.events = EPOLLIN | (writable ? EPOLLOUT : 0u), .data.u32 = (uint32_t)rank};
    if (epoll_ctl(r->epoll_fd, add ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, frames_fd(r->members[rank]), &event) < 0)
        return pkb_error_errno(err, "epoll_ctl");
    return 0;
}

int rounds_hub_open(struct rounds *r, struct pkb_error *err)
{
    r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (r->epoll_fd < 0)
        return pkb_error_errno(err, "epoll_create1");
    for (int i = 1; i < r->world; i++)
        if (watch(r, i, false, true, err) < 0)
            return -1;
    return 0;
}

/* The hub tells everybody which agent was lost. */
int rounds_hub_lose(struct rounds *r, int rank, int code, const char *why, struct pkb_error *err)
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
    return rounds_hub_lose(r, rank, 0, why, err);
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
        size += ROUNDS_ENTRY_HEADER + r->submissions[i].size;
    if (reserve(&r->reply, &r->reply_capacity, size, err) < 0)
        return -1;
    uint8_t *p = r->reply;
    for (int i = 0; i < r->world; i++) {
        struct submission *s = &r->submissions[i];
        frames_put32(p, s->kind);
        frames_put32(p + 4, s->arrival);
        frames_put32(p + 8, (uint32_t)s->size);
        if (s->size > 0)
            memcpy(p + ROUNDS_ENTRY_HEADER, s->data, s->size);
        p += ROUNDS_ENTRY_HEADER + s->size;
        s->there = false;
    }
    for (int i = 1; i < r->world; i++)
        if (hub_send(r, i, FRAME_REPLY, r->reply, size, err) < 0)
            return -1;
    r->n_there = 0;
    r->arrivals = 0;
    r->exit_seen = false;
    r->replied = true;
    rounds_next(r);
    return rounds_parse_reply(r, r->reply, size);
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

int rounds_hub_store(struct rounds *r, int rank, uint32_t kind, const void *data, size_t size, struct pkb_error *err)
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
    char text[ROUNDS_MAX_TEXT];
    if (frame->type == FRAME_BYE && frame->size >= 4) {
        rounds_copy_text(text, sizeof(text), frame->data + 4, frame->size - 4);
        return rounds_hub_lose(r, rank, (int)frames_get32(frame->data), text, err);
    }
    if (frame->type != FRAME_SUBMIT || frame->size < 4 || frame->round > r->number)
        return hub_lose(r, rank, "sent something that is not part of the protocol", err);
    if (frame->round < r->number)
        return 0; /* an EXIT that came after its round was answered */
    return rounds_hub_store(r, rank, frames_get32(frame->data), frame->data + 4, frame->size - 4, err);
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

int rounds_hub_progress(struct rounds *r, struct pkb_error *err)
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
