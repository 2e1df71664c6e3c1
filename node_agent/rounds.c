/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/rounds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_agent/rounds_state.h"
#include "node_agent/star.h"
#include "util/clock.h"

#define FLUSH_MS 5000

size_t rounds_member_limit(void)
{
    return ROUNDS_MAX_DATA + 4;
}

size_t rounds_hub_limit(int world)
{
    return (size_t)world * (ROUNDS_MAX_DATA + ROUNDS_ENTRY_HEADER);
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
    if (rounds_hub_open(r, err) < 0) {
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

static int member_lose(struct rounds *r, const char *why, struct pkb_error *err)
{
    r->over = true;
    r->lost_rank = 0;
    return pkb_error_set(err, "lost agent 0: %s", why);
}

/* A peer's text, cut and made printable. */
void rounds_copy_text(char *text, size_t size, const uint8_t *data, size_t n)
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
        (void)rounds_hub_lose(r, 0, code, why, NULL);
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

int rounds_parse_reply(struct rounds *r, const uint8_t *p, size_t size)
{
    for (int i = 0; i < r->world; i++) {
        if (size < ROUNDS_ENTRY_HEADER)
            return -1;
        struct round_entry e = {.kind = frames_get32(p),
                                .arrival = frames_get32(p + 4),
                                .size = frames_get32(p + 8),
                                .data = p + ROUNDS_ENTRY_HEADER};
        size -= ROUNDS_ENTRY_HEADER;
        if (e.size > size)
            return -1;
        r->entries[i] = e;
        size -= e.size;
        p += ROUNDS_ENTRY_HEADER + e.size;
    }
    return size == 0 ? 0 : -1;
}

void rounds_next(struct rounds *r)
{
    r->number++;
    r->submitted = false;
    r->interrupted = false;
}

/* ---- a member -------------------------------------------------------------------------------------------------------- */

static int member_lost_frame(struct rounds *r, const struct frame *frame, struct pkb_error *err)
{
    char text[ROUNDS_MAX_TEXT];
    r->over = true;
    r->lost_rank = (int)frames_get32(frame->data);
    r->lost_code = (int)frames_get32(frame->data + 4);
    rounds_copy_text(text, sizeof(text), frame->data + 8, frame->size - 8);
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
    if (frame->type != FRAME_REPLY || frame->round != r->number || !r->submitted ||
        rounds_parse_reply(r, frame->data, frame->size) < 0)
        return member_lose(r, "it sent something that is not part of the protocol", err);
    rounds_next(r);
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
        return rounds_hub_store(r, 0, kind, data, size, err);
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
    int event = r->hub ? member_progress(r, err) : rounds_hub_progress(r, err);
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
