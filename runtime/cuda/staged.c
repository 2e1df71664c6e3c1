/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives through the host: device memory to pinned memory, the host backend's collective, and back. Ranks that share a GPU can
 * communicate so, which NCCL does not allow. The host backend is loaded as the front end would load it. */
#include <stdlib.h>

#include "runtime/cuda/comm.h"
#include "runtime/cuda/staging.h"
#include "runtime/module.h"

struct pinned {
    void *data;
    size_t size;
};

struct staged {
    const struct rt_backend *host;
    struct rt_device *dev; /* the host backend's */
    struct pinned in, out;
    size_t *places; /* of messages: sizes, then offsets */
    size_t n_places;
};

/* ---- life ---------------------------------------------------------------------------------------------------------- */

static int staged_setup(struct rt_device *dev, struct pkb_error *err)
{
    struct staged *s = calloc(1, sizeof(*s));
    if (!s)
        return pkb_error_set(err, "out of memory");
    dev->comm_state = s;
    s->host = rt_module("backend_host.so", RT_BACKEND_SYMBOL, err);
    if (!s->host)
        return -1;
    if (s->host->version != RT_BACKEND_VERSION || s->host->size != sizeof(*s->host))
        return pkb_error_set(err, "backend_host.so is of another build");
    if (s->host->open(dev->options, &s->dev, err)) {
        s->dev = NULL;
        return -1;
    }
    return s->host->comm_setup(s->dev, err);
}

static void staged_teardown(struct rt_device *dev)
{
    struct staged *s = dev->comm_state;
    if (!s)
        return;
    if (s->dev)
        s->host->close(s->dev);
    (void)cudaFreeHost(s->in.data);
    (void)cudaFreeHost(s->out.data);
    free(s->places);
    free(s);
    dev->comm_state = NULL;
}

static int staged_open(struct rt_comm *c, struct pkb_error *err)
{
    struct staged *s = c->dev->comm_state;
    struct rt_comm *host = NULL;
    if (s->host->comm_open(s->dev, c->g, &host, err))
        return -1;
    c->handle = host;
    return 0;
}

static void staged_close(struct rt_comm *c)
{
    struct staged *s = c->dev->comm_state;
    s->host->comm_close(s->dev, c->handle);
}

/* Nothing on the device waits for peers. */
static int staged_watch(struct rt_device *dev, struct pkb_error *err)
{
    (void)dev;
    (void)err;
    return 0;
}

static void staged_abort(struct rt_device *dev)
{
    (void)dev;
}

/* ---- between device and host --------------------------------------------------------------------------------------- */

/* Pinned memory; what still reads it must have ended. */
static int make_room(struct rt_device *dev, struct pinned *p, size_t bytes, struct pkb_error *err)
{
    if (p->size >= bytes)
        return 0;
    (void)cudaFreeHost(p->data);
    *p = (struct pinned){NULL, 0};
    if (CUDA_FAILS(dev, cudaHostAlloc(&p->data, bytes, cudaHostAllocDefault), err))
        return -1;
    p->size = bytes;
    return 0;
}

/* Brings in_bytes at src to the host and makes room for out_bytes. Waits, so that earlier transfers have ended too. */
static struct staged *enter(struct rt_comm *c, const void *src, size_t in_bytes, size_t out_bytes, struct pkb_error *err)
{
    struct rt_device *dev = c->dev;
    struct staged *s = dev->comm_state;
    if (cuda_wait(dev, err) || make_room(dev, &s->in, in_bytes, err) || make_room(dev, &s->out, out_bytes, err))
        return NULL;
    if (in_bytes > 0 && (CUDA_FAILS(dev, cudaMemcpyAsync(s->in.data, src, in_bytes, cudaMemcpyDeviceToHost, dev->stream), err) ||
                         cuda_wait(dev, err)))
        return NULL;
    return s;
}

static int leave(struct rt_comm *c, void *dst, const void *from, size_t bytes, struct pkb_error *err)
{
    struct rt_device *dev = c->dev;
    return CUDA_FAILS(dev, cudaMemcpyAsync(dst, from, bytes, cudaMemcpyHostToDevice, dev->stream), err) ? -1 : 0;
}

/* ---- collectives --------------------------------------------------------------------------------------------------- */

static int staged_broadcast(struct rt_comm *c, int dtype, void *data, size_t count, int root, struct pkb_error *err)
{
    size_t bytes = count * dtype_size(dtype);
    bool giving = c->g->rank == root;
    struct staged *s = enter(c, data, giving ? bytes : 0, giving ? 0 : bytes, err);
    if (!s)
        return -1;
    void *buffer = giving ? s->in.data : s->out.data;
    if (s->host->broadcast(c->handle, dtype, buffer, count, root, err))
        return -1;
    return giving ? 0 : leave(c, data, buffer, bytes, err);
}

static int staged_all_reduce(struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count,
                             struct pkb_error *err)
{
    size_t bytes = count * dtype_size(dtype);
    struct staged *s = enter(c, src, bytes, bytes, err);
    if (!s || s->host->all_reduce(c->handle, op, dtype, s->out.data, s->in.data, count, err))
        return -1;
    return leave(c, dst, s->out.data, bytes, err);
}

static int staged_reduce(struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count, int root,
                         struct pkb_error *err)
{
    size_t bytes = count * dtype_size(dtype);
    bool taking = c->g->rank == root;
    struct staged *s = enter(c, src, bytes, taking ? bytes : 0, err);
    if (!s || s->host->reduce(c->handle, op, dtype, taking ? s->out.data : NULL, s->in.data, count, root, err))
        return -1;
    return taking ? leave(c, dst, s->out.data, bytes, err) : 0;
}

static int staged_all_gather(struct rt_comm *c, int dtype, void *dst, const void *src, size_t count, struct pkb_error *err)
{
    size_t bytes = count * dtype_size(dtype), all = bytes * (size_t)c->g->size;
    struct staged *s = enter(c, src, bytes, all, err);
    if (!s || s->host->all_gather(c->handle, dtype, s->out.data, s->in.data, count, err))
        return -1;
    return leave(c, dst, s->out.data, all, err);
}

static int staged_reduce_scatter(struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count,
                                 struct pkb_error *err)
{
    size_t bytes = count * dtype_size(dtype);
    struct staged *s = enter(c, src, bytes * (size_t)c->g->size, bytes, err);
    if (!s || s->host->reduce_scatter(c->handle, op, dtype, s->out.data, s->in.data, count, err))
        return -1;
    return leave(c, dst, s->out.data, bytes, err);
}

static int staged_barrier(struct rt_comm *c, struct pkb_error *err)
{
    struct staged *s = enter(c, NULL, 0, 0, err);
    return s ? s->host->barrier(c->handle, err) : -1;
}

/* ---- messages ------------------------------------------------------------------------------------------------------ */

/* Offsets of all messages, what is sent in `in`, what is received in `out`. */
static const size_t *lay_out(struct staged *s, const struct cuda_message *list, size_t n, size_t *total, struct pkb_error *err)
{
    if (s->n_places < n) {
        size_t *places = realloc(s->places, 2 * n * sizeof(*places));
        if (!places) {
            (void)pkb_error_set(err, "out of memory");
            return NULL;
        }
        s->places = places;
        s->n_places = n;
    }
    for (size_t i = 0; i < n; i++)
        s->places[i] = list[i].bytes;
    return staging_lay_out(s->places, n, s->places + n, total, err) ? NULL : s->places + n;
}

/* Messages that are received (or sent) between their places in the staging buffer and the device. */
static int transfer(struct rt_device *dev, const struct cuda_message *list, size_t n, const size_t *offsets, char *base,
                    bool receiving, struct pkb_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct cuda_message *m = &list[i];
        char *here = base + offsets[i];
        if (m->receiving != receiving || m->bytes == 0)
            continue;
        void *to = receiving ? m->data : here, *from = receiving ? here : m->data;
        enum cudaMemcpyKind kind = receiving ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
        if (CUDA_FAILS(dev, cudaMemcpyAsync(to, from, m->bytes, kind, dev->stream), err))
            return -1;
    }
    return 0;
}

static int pass(struct staged *s, const struct cuda_message *list, size_t n, const size_t *offsets, struct pkb_error *err)
{
    char *base = s->in.data;
    if (s->host->p2p_begin(s->dev, err))
        return -1;
    for (size_t i = 0; i < n; i++) {
        const struct cuda_message *m = &list[i];
        int rc = m->receiving ? s->host->recv(m->comm->handle, PKB_U8, base + offsets[i], m->bytes, m->peer, err)
                              : s->host->send(m->comm->handle, PKB_U8, base + offsets[i], m->bytes, m->peer, err);
        if (rc)
            return -1;
    }
    return s->host->p2p_end(s->dev, err);
}

static int staged_messages(struct rt_device *dev, const struct cuda_message *list, size_t n, struct pkb_error *err)
{
    struct staged *s = dev->comm_state;
    size_t total = 0;
    const size_t *offsets = lay_out(s, list, n, &total, err);
    if (!offsets || cuda_wait(dev, err) || make_room(dev, &s->in, total ? total : 1, err) ||
        transfer(dev, list, n, offsets, s->in.data, false, err) || cuda_wait(dev, err) || pass(s, list, n, offsets, err))
        return -1;
    return transfer(dev, list, n, offsets, s->in.data, true, err);
}

const struct cuda_comm_ops cuda_staged = {
    .setup = staged_setup,
    .teardown = staged_teardown,
    .open = staged_open,
    .close = staged_close,
    .watch = staged_watch,
    .abort = staged_abort,
    .broadcast = staged_broadcast,
    .all_reduce = staged_all_reduce,
    .reduce = staged_reduce,
    .all_gather = staged_all_gather,
    .reduce_scatter = staged_reduce_scatter,
    .barrier = staged_barrier,
    .messages = staged_messages,
};
