/* SPDX-License-Identifier: Apache-2.0 */
/* Frames over a TCP connection between agents: a 16-byte header (type, payload size, round; little-endian) and a payload.
 *
 * Nothing here blocks: frames_send queues what the kernel does not take, frames_fill reads what is there. A payload above the
 * connection's limit is an error before anything is allocated for it.
 */
#ifndef PKB_NODE_AGENT_FRAMES_H
#define PKB_NODE_AGENT_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct frames;

struct frame {
    uint32_t type;
    uint64_t round;
    const uint8_t *data; /* valid until the next frames_next or frames_fill of the connection */
    size_t size;
};

/* Takes over a connected socket and makes it non-blocking. */
struct frames *frames_create(int fd, size_t limit, struct pkb_error *err);
void frames_destroy(struct frames *f);
int frames_fd(const struct frames *f);

/* The largest payload that is accepted from now on. */
void frames_set_limit(struct frames *f, size_t limit);

/* Sends a frame whose payload is two parts (either may be empty). */
int frames_send(struct frames *f, uint32_t type, uint64_t round, const void *a, size_t a_size, const void *b, size_t b_size,
                struct pkb_error *err);

/* Sends queued bytes; call when the socket is writable. frames_pending: there are some. */
int frames_flush(struct frames *f, struct pkb_error *err);
bool frames_pending(const struct frames *f);

/* Reads once. 0: read something or there was nothing; -1: error; -2: the peer has closed. */
int frames_fill(struct frames *f, struct pkb_error *err);

/* The next frame that has been read completely. 1: got it, 0: none, -1: above the limit. */
int frames_next(struct frames *f, struct frame *frame, struct pkb_error *err);

/* Little-endian numbers in payloads. */
void frames_put32(uint8_t *p, uint32_t value);
void frames_put64(uint8_t *p, uint64_t value);
uint32_t frames_get32(const uint8_t *p);
uint64_t frames_get64(const uint8_t *p);

#endif
