/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelined pull: shards are published in chunks and copied as soon as they are there. Counters instead of barriers. */
#include <pkb/candidate.h>

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define CHUNK 65536 /* bytes */
#define HEADER 256  /* the counter has a cache line of its own */

static pkb_symm box; /* counter, then two copies of x that are used in turn */
static size_t bytes; /* of a shard */
static uint64_t call;

static int64_t elements(const pkb_tensor *t)
{
    int64_t n = 1;
    for (int32_t d = 0; d < t->ndim; d++)
        n *= t->shape[d];
    return n;
}

static size_t item_size(const pkb_tensor *t)
{
    return t->dtype == PKB_BF16 ? 2 : 4;
}

/* How much a rank has published since the start; never goes back, so no flag has to be reset. */
static _Atomic uint64_t *ready(int32_t rank)
{
    return (_Atomic uint64_t *)box.peers[rank];
}

static void wait_for(int32_t rank, uint64_t count)
{
    while (atomic_load_explicit(ready(rank), memory_order_acquire) < count)
        sched_yield();
}

static size_t chunk_size(size_t at)
{
    return bytes - at < CHUNK ? bytes - at : CHUNK;
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    bytes = (size_t)elements(in) * item_size(in);
    return ctx->symm_alloc(ctx, HEADER + 2 * bytes, &box);
}

/* A rank that has published a chunk of this call has left the call before, so its older copy may be overwritten in the next. */
int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    uint64_t seen = call * ((bytes + CHUNK - 1) / CHUNK);
    size_t offset = HEADER + call++ % 2 * bytes;
    const char *x = in[0].data;
    char *y = out[0].data;

    for (size_t at = 0; at < bytes; at += CHUNK) {
        memcpy((char *)box.local + offset + at, x + at, chunk_size(at));
        atomic_fetch_add_explicit(ready(ctx->rank), 1, memory_order_release);
    }
    for (size_t at = 0; at < bytes; at += CHUNK) {
        seen++;
        for (int32_t step = 0; step < ctx->world; step++) {
            int32_t q = (ctx->rank + step) % ctx->world;
            wait_for(q, seen);
            memcpy(y + (size_t)q * bytes + at, (const char *)box.peers[q] + offset + at, chunk_size(at));
        }
    }
    return 0;
}
