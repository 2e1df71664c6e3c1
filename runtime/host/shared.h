/* SPDX-License-Identifier: Apache-2.0 */
/* POSIX shared memory objects, and a barrier in one. */
#ifndef PKB_RUNTIME_HOST_SHARED_H
#define PKB_RUNTIME_HOST_SHARED_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* Makes and maps an object of `bytes` zero bytes. The memory is reserved, so that a full file system is an error here and no
 * SIGBUS later. An object that is left from before is replaced. 0 or -1; on failure there is no object. */
int shared_create(const char *name, size_t bytes, void **address, struct pkb_error *err);

/* Maps an object that another process has made. */
int shared_map(const char *name, size_t bytes, void **address, struct pkb_error *err);

void shared_unmap(void *address, size_t bytes); /* NULL-safe */
void shared_unlink(const char *name);

/* A barrier for a fixed number of processes; all zero at the start. */
struct shared_barrier {
    _Atomic uint32_t arrived;
    _Atomic uint32_t generation; /* how often all had arrived; the futex */
    _Atomic uint32_t sleepers;
};

/* Returns when `members` processes have called it. Spins for a moment (if there are CPUs enough for all), then yields, then
 * sleeps. */
void shared_barrier_wait(struct shared_barrier *b, uint32_t members);

#endif
