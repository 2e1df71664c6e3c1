/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over a group: each member gets one block of everybody's data, reduces it in the order of the members in the arithmetic type,
 * and rounds once. Every element is computed on one member alone, so all members hold the same bits. */
#include <string.h>

#include "runtime/host/comm.h"
#include "runtime/host/kernels.h"

#define SMALL_BYTES 4096 /* up to here everybody gets everything and computes it all: one exchange instead of two */

static inline size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Member i's block of `count` elements: first .. first + size - 1. */
struct block {
    size_t first, size;
};

static struct block block_of(const struct rt_comm *c, size_t count, int i)
{
    size_t n = (size_t)c->g->size, place = (size_t)i;
    size_t each = count / n, more = count % n;
    return (struct block){place * each + lesser(place, more), each + (place < more ? 1 : 0)};
}

/* dst = reduction over the members of their blocks; `others` holds everybody's block but this member's, which is `own`, one after
 * another. dst may be own. */
static void reduce_blocks(const struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *own,
                          const void *others, size_t count)
{
    enum arithmetic type = arithmetic_of(dtype, dtype, dtype);
    size_t size = dtype_size(dtype), width = type == ARITHMETIC_F32 ? sizeof(float) : sizeof(double);
    union kernel_buffer sum, buf;
    for (size_t i = 0; i < count; i += KERNEL_CHUNK) {
        size_t n = lesser(count - i, KERNEL_CHUNK);
        for (int m = 0; m < c->g->size; m++) {
            size_t slot = (size_t)(m - (m > c->g->rank ? 1 : 0)) * count;
            const char *block = m == c->g->rank ? own : (const char *)others + slot * size;
            const void *x = kernel_load(type, &buf, dtype, block + i * size, n);
            if (m == 0)
                memcpy(&sum, x, n * width);
            else
                kernel_accumulate(type, op, &sum, x, n);
        }
        char *to = (char *)dst + i * size;
        if (kernel_target(type, &sum, dtype, to) == to)
            memcpy(to, &sum, n * width);
        else
            kernel_store(type, &sum, dtype, to, n);
    }
}

/* Everybody's block `mine` to this member, into scratch memory in the order of reduce_blocks; src holds `count` elements. */
static const void *collect(struct rt_comm *c, int dtype, const void *src, size_t count, bool whole, struct pkb_error *err)
{
    size_t size = dtype_size(dtype);
    struct block mine = whole ? (struct block){0, count} : block_of(c, count, c->g->rank);
    char *others = host_scratch(c->dev, SCRATCH_A, (size_t)c->g->size * mine.size * size, err);
    if (!others)
        return NULL;
    comm_begin(c);
    for (int m = 0; m < c->g->size; m++) {
        size_t slot = (size_t)(m - (m > c->g->rank ? 1 : 0)) * mine.size;
        if (m != c->g->rank && comm_recv(c, PHASE_FIRST, m, others + slot * size, mine.size * size, err))
            return NULL;
    }
    for (int i = 1; i < c->g->size; i++) {
        int to = (c->g->rank + i) % c->g->size;
        struct block b = whole ? mine : block_of(c, count, to);
        if (comm_send(c, PHASE_FIRST, to, (const char *)src + b.first * size, b.size * size, err))
            return NULL;
    }
    return comm_wait(c, err) ? NULL : others;
}

int host_reduce_scatter(struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count,
                        struct pkb_error *err)
{
    const char *own = (const char *)src + (size_t)c->g->rank * count * dtype_size(dtype);
    const void *others = collect(c, dtype, src, count * (size_t)c->g->size, false, err);
    if (!others)
        return -1;
    reduce_blocks(c, op, dtype, dst, own, others, count);
    return 0;
}

/* Reduced blocks from their members to everybody. */
static int spread(struct rt_comm *c, int dtype, char *dst, size_t count, struct pkb_error *err)
{
    size_t size = dtype_size(dtype);
    struct block mine = block_of(c, count, c->g->rank);
    for (int i = 1; i < c->g->size; i++) {
        int from = (c->g->rank + c->g->size - i) % c->g->size;
        struct block b = block_of(c, count, from);
        if (comm_recv(c, PHASE_SECOND, from, dst + b.first * size, b.size * size, err))
            return -1;
    }
    for (int i = 1; i < c->g->size; i++) {
        int to = (c->g->rank + i) % c->g->size;
        if (comm_send(c, PHASE_SECOND, to, dst + mine.first * size, mine.size * size, err))
            return -1;
    }
    return comm_wait(c, err);
}

int host_all_reduce(struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count,
                    struct pkb_error *err)
{
    size_t size = dtype_size(dtype);
    bool whole = count * size <= SMALL_BYTES;
    struct block mine = whole ? (struct block){0, count} : block_of(c, count, c->g->rank);
    const void *others = collect(c, dtype, src, count, whole, err);
    if (!others)
        return -1;
    reduce_blocks(c, op, dtype, (char *)dst + mine.first * size, (const char *)src + mine.first * size, others, mine.size);
    return whole ? 0 : spread(c, dtype, dst, count, err);
}

int host_reduce(struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count, int root,
                struct pkb_error *err)
{
    size_t size = dtype_size(dtype);
    struct block mine = block_of(c, count, c->g->rank);
    const void *others = collect(c, dtype, src, count, false, err);
    char *own = c->g->rank == root ? (char *)dst + mine.first * size
                : others           ? host_scratch(c->dev, SCRATCH_B, mine.size * size, err)
                                   : NULL;
    if (!others || !own)
        return -1;
    reduce_blocks(c, op, dtype, own, (const char *)src + mine.first * size, others, mine.size);
    if (c->g->rank != root)
        return comm_send(c, PHASE_SECOND, root, own, mine.size * size, err) ? -1 : comm_wait(c, err);
    for (int m = 0; m < c->g->size; m++) {
        struct block b = block_of(c, count, m);
        if (m != root && comm_recv(c, PHASE_SECOND, m, (char *)dst + b.first * size, b.size * size, err))
            return -1;
    }
    return comm_wait(c, err);
}
