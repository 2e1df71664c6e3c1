/* SPDX-License-Identifier: Apache-2.0 */
/* Groups; collectives as the library has them; collectives made of messages. */
#include <stdlib.h>

#include "runtime/cuda/comm.h"
#include "runtime/module.h"

/* ---- groups -------------------------------------------------------------------------------------------------------- */

int cuda_comm_setup(struct rt_device *dev, struct pkb_error *err)
{
    if (dev->comm_ops)
        return 0;
    const struct cuda_comm_ops *ops = dev->settings.staged ? &cuda_staged : rt_module(CUDA_NCCL_MODULE, CUDA_NCCL_SYMBOL, err);
    if (!ops)
        return -1;
    if (ops->setup(dev, err)) {
        ops->teardown(dev);
        return -1;
    }
    dev->comm_ops = ops;
    return 0;
}

int cuda_comm_open(struct rt_device *dev, const struct rt_group *g, struct rt_comm **comm, struct pkb_error *err)
{
    struct rt_comm *c = calloc(1, sizeof(*c));
    if (!c)
        return pkb_error_set(err, "out of memory");
    c->dev = dev;
    c->g = g;
    if (dev->comm_ops->open(c, err)) {
        free(c);
        return -1;
    }
    c->next = dev->comms;
    dev->comms = c;
    *comm = c;
    return 0;
}

void cuda_comm_close(struct rt_device *dev, struct rt_comm *comm)
{
    struct rt_comm **at = &dev->comms;
    while (*at && *at != comm)
        at = &(*at)->next;
    if (*at)
        *at = comm->next;
    dev->comm_ops->close(comm);
    free(comm);
}

/* ---- as the library has them --------------------------------------------------------------------------------------- */

int cuda_broadcast(struct rt_comm *c, int dtype, void *data, size_t count, int root, struct pkb_error *err)
{
    return c->dev->comm_ops->broadcast(c, dtype, data, count, root, err);
}

int cuda_all_reduce(struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count,
                    struct pkb_error *err)
{
    return c->dev->comm_ops->all_reduce(c, op, dtype, dst, src, count, err);
}

int cuda_reduce(struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count, int root,
                struct pkb_error *err)
{
    return c->dev->comm_ops->reduce(c, op, dtype, dst, src, count, root, err);
}

int cuda_all_gather(struct rt_comm *c, int dtype, void *dst, const void *src, size_t count, struct pkb_error *err)
{
    return c->dev->comm_ops->all_gather(c, dtype, dst, src, count, err);
}

int cuda_reduce_scatter(struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count,
                        struct pkb_error *err)
{
    return c->dev->comm_ops->reduce_scatter(c, op, dtype, dst, src, count, err);
}

int cuda_barrier(struct rt_comm *c, struct pkb_error *err)
{
    return c->dev->comm_ops->barrier(c, err);
}

/* ---- messages ------------------------------------------------------------------------------------------------------ */

int cuda_p2p_begin(struct rt_device *dev, struct pkb_error *err)
{
    (void)err;
    dev->messages.n = 0;
    return 0;
}

static int add_message(struct rt_comm *c, bool receiving, int peer, void *data, size_t bytes, struct pkb_error *err)
{
    struct cuda_messages *m = &c->dev->messages;
    if (m->n == m->room) {
        size_t room = m->room ? 2 * m->room : 64;
        struct cuda_message *list = realloc(m->list, room * sizeof(*list));
        if (!list)
            return pkb_error_set(err, "out of memory");
        m->list = list;
        m->room = room;
    }
    m->list[m->n++] = (struct cuda_message){c, receiving, peer, data, bytes};
    return 0;
}

int cuda_p2p_end(struct rt_device *dev, struct pkb_error *err)
{
    size_t n = dev->messages.n;
    dev->messages.n = 0;
    return n ? dev->comm_ops->messages(dev, dev->messages.list, n, err) : 0;
}

int cuda_send(struct rt_comm *c, int dtype, const void *data, size_t count, int to, struct pkb_error *err)
{
    return add_message(c, false, to, (void *)(uintptr_t)data, count * dtype_size(dtype), err);
}

int cuda_recv(struct rt_comm *c, int dtype, void *data, size_t count, int from, struct pkb_error *err)
{
    return add_message(c, true, from, data, count * dtype_size(dtype), err);
}

/* ---- collectives made of messages ---------------------------------------------------------------------------------- */

static int copy_own(struct rt_comm *c, void *dst, const void *src, size_t bytes, struct pkb_error *err)
{
    struct rt_device *dev = c->dev;
    if (dst == src || bytes == 0)
        return 0;
    return CUDA_FAILS(dev, cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, dev->stream), err) ? -1 : 0;
}

/* Where a member's part of a buffer is, if it has one (which may be empty). */
struct part {
    bool there;
    char *at;
    size_t bytes;
};
typedef struct part part_fn(const void *arg, int member);

/* Sends part `out` of each peer and receives its part `in`; the own part is copied. */
static int swap_parts(struct rt_comm *c, part_fn *in, part_fn *out, const void *arg, struct pkb_error *err)
{
    int n = c->g->size, own = c->g->rank;
    if (cuda_p2p_begin(c->dev, err))
        return -1;
    for (int i = 1; i < n; i++) {
        int from = (own + n - i) % n, to = (own + i) % n;
        struct part coming = in(arg, from), going = out(arg, to);
        if (coming.there && add_message(c, true, from, coming.at, coming.bytes, err))
            return -1;
        if (going.there && add_message(c, false, to, going.at, going.bytes, err))
            return -1;
    }
    struct part to = in(arg, own), from = out(arg, own);
    if (to.there && from.there && copy_own(c, to.at, from.at, to.bytes, err))
        return -1;
    return cuda_p2p_end(c->dev, err);
}

/* Equal blocks; a side that takes no part has no address. */
struct blocks {
    char *dst;
    const char *src;
    size_t bytes;
    int rank, root;
};

static struct part block(const char *base, size_t bytes, size_t i)
{
    return (struct part){base != NULL, base ? (char *)(uintptr_t)base + i * bytes : NULL, bytes};
}

static struct part block_in(const void *arg, int member)
{
    const struct blocks *b = arg;
    return block(b->dst, b->bytes, (size_t)member);
}

static struct part block_out(const void *arg, int member)
{
    const struct blocks *b = arg;
    return block(b->src, b->bytes, (size_t)member);
}

static struct part whole_in_from_root(const void *arg, int member)
{
    const struct blocks *b = arg;
    return member == b->root ? block(b->dst, b->bytes, 0) : (struct part){0};
}

static struct part whole_out_to_root(const void *arg, int member)
{
    const struct blocks *b = arg;
    return member == b->root ? block(b->src, b->bytes, 0) : (struct part){0};
}

int cuda_gather(struct rt_comm *c, int dtype, void *dst, const void *src, size_t count, int root, struct pkb_error *err)
{
    struct blocks b = {.dst = dst, .src = src, .bytes = count * dtype_size(dtype), .root = root};
    return swap_parts(c, block_in, whole_out_to_root, &b, err);
}

int cuda_scatter(struct rt_comm *c, int dtype, void *dst, const void *src, size_t count, int root, struct pkb_error *err)
{
    struct blocks b = {.dst = dst, .src = src, .bytes = count * dtype_size(dtype), .root = root};
    return swap_parts(c, whole_in_from_root, block_out, &b, err);
}

int cuda_all_to_all(struct rt_comm *c, int dtype, void *dst, const void *src, size_t count, struct pkb_error *err)
{
    struct blocks b = {.dst = dst, .src = src, .bytes = count * dtype_size(dtype)};
    return swap_parts(c, block_in, block_out, &b, err);
}

struct rows {
    char *dst;
    const char *src;
    const int64_t *recv_rows, *send_rows;
    size_t bytes; /* of a row */
};

static struct part rows_of(const char *base, const int64_t *rows, size_t bytes, int member)
{
    size_t before = 0;
    for (int i = 0; i < member; i++)
        before += (size_t)rows[i];
    return (struct part){true, (char *)(uintptr_t)base + before * bytes, (size_t)rows[member] * bytes};
}

static struct part rows_in(const void *arg, int member)
{
    const struct rows *r = arg;
    return rows_of(r->dst, r->recv_rows, r->bytes, member);
}

static struct part rows_out(const void *arg, int member)
{
    const struct rows *r = arg;
    return rows_of(r->src, r->send_rows, r->bytes, member);
}

int cuda_all_to_all_v(struct rt_comm *c, int dtype, void *dst, const int64_t *recv_rows, const void *src,
                      const int64_t *send_rows, size_t row, struct pkb_error *err)
{
    struct rows r = {dst, src, recv_rows, send_rows, row * dtype_size(dtype)};
    int own = c->g->rank;
    if (recv_rows[own] != send_rows[own])
        return pkb_error_set(err, "%lld rows for this rank itself, %lld expected", (long long)send_rows[own],
                             (long long)recv_rows[own]);
    return swap_parts(c, rows_in, rows_out, &r, err);
}
