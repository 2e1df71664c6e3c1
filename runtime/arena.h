/* SPDX-License-Identifier: Apache-2.0 */
/* Storage for tensors: device memory in large blocks and the tensor structs themselves. Releasing everything keeps both, so
 * that a loop does not allocate after its first iteration. */
#ifndef PKB_RUNTIME_ARENA_H
#define PKB_RUNTIME_ARENA_H

#include "runtime/backend.h"

struct arena;

/* An empty arena over a device's memory; `shared`: over memory that the host reads as well. NULL with the error set when memory
 * runs out. */
struct arena *arena_create(const struct rt_backend *be, struct rt_device *dev, bool shared, struct pkb_error *err);
void arena_destroy(struct arena *a);

/* `bytes` of device memory, aligned to 256 bytes; 0 bytes give an address too. */
int arena_storage(struct arena *a, size_t bytes, void **ptr, struct pkb_error *err);

/* A tensor struct, all zero. NULL with the error set when memory runs out. */
pkb_tensor *arena_tensor(struct arena *a, struct pkb_error *err);

/* Everything is free again; nothing is given back to the system. */
void arena_reset(struct arena *a);

/* Device memory that the arena holds, in bytes. */
size_t arena_held(const struct arena *a);

#endif
