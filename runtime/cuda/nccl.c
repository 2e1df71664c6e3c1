/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives through NCCL: a communicator per group, all on the device's one stream. Communicators do not block, so that every wait
 * is bounded and errors that arise later, in NCCL's own threads, are seen. A module of its own (plugins/cuda_nccl.so). */
#include <inttypes.h>
#include <nccl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/agree.h"
#include "runtime/cuda/comm.h"
#include "util/clock.h"

#define CLOSE_NS ((int64_t)2000000000)

struct nccl {
    ncclComm_t world;
    bool broken;
    void *word; /* device memory of barriers and of ids that are passed on */
};

/* ---- calls --------------------------------------------------------------------------------------------------------- */

static void nccl_abort(struct rt_device *dev);

static int nccl_failed(struct rt_device *dev, ncclComm_t comm, const char *call, ncclResult_t rc, struct pkb_error *err)
{
    const char *more = comm ? ncclGetLastError(comm) : NULL;
    (void)cuda_error(dev, err, "%s: %s%s%s", call, ncclGetErrorString(rc), more && more[0] ? ": " : "", more ? more : "");
    nccl_abort(dev);
    return -1;
}

/* After a call that may go on in the background: until it is done. */
static int settle(struct rt_device *dev, ncclComm_t comm, const char *call, ncclResult_t rc, struct pkb_error *err)
{
    int64_t deadline = pkb_now_ns() + dev->settings.timeout_ns;
    while (rc == ncclInProgress) {
        ncclResult_t asked = ncclCommGetAsyncError(comm, &rc);
        if (asked != ncclSuccess)
            rc = asked;
        if (rc == ncclInProgress && pkb_now_ns() > deadline) {
            (void)cuda_error(dev, err, "%s: not done after %" PRId64 " s; a peer may be gone", call,
                             dev->settings.timeout_ns / 1000000000);
            nccl_abort(dev);
            return -1;
        }
        if (rc == ncclInProgress)
            (void)sched_yield();
    }
    return rc == ncclSuccess ? 0 : nccl_failed(dev, comm, call, rc, err);
}

static int usable(struct rt_device *dev, struct pkb_error *err)
{
    const struct nccl *s = dev->comm_state;
    return s->broken ? cuda_error(dev, err, "communication was given up") : 0;
}

/* ---- life ---------------------------------------------------------------------------------------------------------- */

/* What ranks tell each other first. Rank 0's id is everybody's. */
struct hello {
    ncclUniqueId id;
    cudaUUID_t gpu;
    int32_t node;
};

static int check_gpus(const struct rt_device *dev, const struct hello *all, struct pkb_error *err)
{
    for (int i = 0; i < dev->options->world; i++) {
        for (int j = 0; j < i; j++) {
            if (all[i].node == all[j].node && memcmp(&all[i].gpu, &all[j].gpu, sizeof(all[i].gpu)) == 0)
                return pkb_error_set(err, "ranks %d and %d share a GPU, which NCCL does not allow; PKB_COMM=staged does", j, i);
        }
    }
    return 0;
}

static int own_hello(struct rt_device *dev, struct hello *mine, struct pkb_error *err)
{
    struct cudaDeviceProp prop;
    const struct rt_options *o = dev->options;
    if (CUDA_FAILS(dev, cudaGetDeviceProperties(&prop, dev->ordinal), err))
        return -1;
    mine->gpu = prop.uuid;
    mine->node = o->node_of_rank ? o->node_of_rank[o->rank] : 0;
    if (o->rank == 0) {
        ncclResult_t rc = ncclGetUniqueId(&mine->id);
        if (rc != ncclSuccess)
            return nccl_failed(dev, NULL, "ncclGetUniqueId", rc, err);
    }
    return 0;
}

static int exchange_hellos(struct rt_device *dev, ncclUniqueId *id, struct pkb_error *err)
{
    const struct rt_options *o = dev->options;
    struct hello mine = {0};
    struct pkb_error own = {""};
    int rc = own_hello(dev, &mine, &own);
    *id = mine.id;
    if (rt_agree(o, 0, rc, &own, err))
        return -1;
    if (o->world == 1)
        return 0;
    struct hello *all = calloc((size_t)o->world, sizeof(*all));
    if (!all)
        return pkb_error_set(err, "out of memory");
    rc = o->exchange(o->exchange_arg, &mine, sizeof(mine), all, err);
    if (rc == 0)
        rc = check_gpus(dev, all, err);
    *id = all[0].id;
    free(all);
    return rc;
}

static int create(struct rt_device *dev, ncclComm_t *comm, int size, const ncclUniqueId *id, int rank, struct pkb_error *err)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclResult_t rc = ncclCommInitRankConfig(comm, size, *id, rank, &config);
    if (settle(dev, *comm, "ncclCommInitRankConfig", rc, err) == 0)
        return 0;
    if (*comm)
        (void)ncclCommAbort(*comm);
    *comm = NULL;
    return -1;
}

static int nccl_setup(struct rt_device *dev, struct pkb_error *err)
{
    ncclUniqueId id;
    struct nccl *s = calloc(1, sizeof(*s));
    if (!s)
        return pkb_error_set(err, "out of memory");
    dev->comm_state = s;
    if (CUDA_FAILS(dev, cudaMalloc(&s->word, sizeof(id)), err) ||
        CUDA_FAILS(dev, cudaMemsetAsync(s->word, 0, sizeof(id), dev->stream), err) || exchange_hellos(dev, &id, err))
        return -1;
    return create(dev, &s->world, dev->options->world, &id, dev->options->rank, err);
}

/* Lets peers finish what they have begun, for a moment; then it ends. */
static void destroy(struct rt_device *dev, ncclComm_t comm)
{
    int64_t deadline = pkb_now_ns() + CLOSE_NS;
    ncclResult_t rc = cudaStreamQuery(dev->stream) == cudaSuccess ? ncclCommFinalize(comm) : ncclInternalError;
    while (rc == ncclInProgress && pkb_now_ns() < deadline) {
        if (ncclCommGetAsyncError(comm, &rc) != ncclSuccess)
            rc = ncclInternalError;
        (void)sched_yield();
    }
    if (rc == ncclSuccess)
        (void)ncclCommDestroy(comm);
    else
        (void)ncclCommAbort(comm);
}

static void nccl_teardown(struct rt_device *dev)
{
    struct nccl *s = dev->comm_state;
    if (!s)
        return;
    if (s->world)
        destroy(dev, s->world);
    (void)cudaFree(s->word);
    free(s);
    dev->comm_state = NULL;
}

/* Ends all communication, on the device too. Handles are gone afterwards. */
static void nccl_abort(struct rt_device *dev)
{
    struct nccl *s = dev->comm_state;
    s->broken = true;
    for (struct rt_comm *c = dev->comms; c; c = c->next) {
        if (c->handle && c->handle != s->world)
            (void)ncclCommAbort(c->handle);
        c->handle = NULL;
    }
    if (s->world)
        (void)ncclCommAbort(s->world);
    s->world = NULL;
}

static int watch_comm(struct rt_device *dev, ncclComm_t comm, struct pkb_error *err)
{
    ncclResult_t rc = ncclSuccess, asked = ncclCommGetAsyncError(comm, &rc);
    if (asked != ncclSuccess)
        rc = asked;
    return rc == ncclSuccess || rc == ncclInProgress ? 0 : nccl_failed(dev, comm, "NCCL", rc, err);
}

static int nccl_watch(struct rt_device *dev, struct pkb_error *err)
{
    struct nccl *s = dev->comm_state;
    if (s->world && watch_comm(dev, s->world, err))
        return -1;
    for (struct rt_comm *c = dev->comms; c; c = c->next) {
        if (c->handle && c->handle != s->world && watch_comm(dev, c->handle, err))
            return -1;
    }
    return 0;
}

/* ---- groups -------------------------------------------------------------------------------------------------------- */

static int nccl_messages(struct rt_device *dev, const struct cuda_message *list, size_t n, struct pkb_error *err);

/* The id of a group goes from its first member to the others, as messages of the world. */
static int pass_id(struct rt_comm *c, ncclUniqueId *id, struct pkb_error *err)
{
    struct rt_device *dev = c->dev;
    struct nccl *s = dev->comm_state;
    struct rt_comm world = {.dev = dev, .g = c->g, .handle = s->world};
    bool first = c->g->rank == 0;
    int rc = 0;
    if (first && CUDA_FAILS(dev, cudaMemcpyAsync(s->word, id, sizeof(*id), cudaMemcpyHostToDevice, dev->stream), err))
        return -1;
    for (int i = 1; i < c->g->size && rc == 0; i++) {
        struct cuda_message m = {&world, !first, c->g->ranks[first ? i : 0], s->word, sizeof(*id)};
        if (first || c->g->rank == i)
            rc = nccl_messages(dev, &m, 1, err);
    }
    if (rc == 0 && !first && CUDA_FAILS(dev, cudaMemcpyAsync(id, s->word, sizeof(*id), cudaMemcpyDeviceToHost, dev->stream), err))
        return -1;
    return rc ? -1 : cuda_wait(dev, err);
}

static int nccl_open(struct rt_comm *c, struct pkb_error *err)
{
    struct rt_device *dev = c->dev;
    struct nccl *s = dev->comm_state;
    ncclUniqueId id = {0};
    ncclComm_t comm = NULL;
    if (usable(dev, err))
        return -1;
    if (c->g->id == 0) {
        c->handle = s->world;
        return 0;
    }
    if (c->g->rank == 0) {
        ncclResult_t rc = ncclGetUniqueId(&id);
        if (rc != ncclSuccess)
            return nccl_failed(dev, NULL, "ncclGetUniqueId", rc, err);
    }
    if (pass_id(c, &id, err) || create(dev, &comm, c->g->size, &id, c->g->rank, err))
        return -1;
    c->handle = comm;
    return 0;
}

static void nccl_close(struct rt_comm *c)
{
    struct nccl *s = c->dev->comm_state;
    if (c->handle && c->handle != s->world)
        destroy(c->dev, c->handle);
}

/* ---- types --------------------------------------------------------------------------------------------------------- */

static ncclDataType_t type_of(int dtype)
{
    static const ncclDataType_t types[PKB_DTYPE_COUNT] = {
        [PKB_BF16] = ncclBfloat16,       [PKB_F16] = ncclFloat16, [PKB_F32] = ncclFloat32, [PKB_F64] = ncclFloat64,
        [PKB_FP8_E4M3] = ncclFloat8e4m3, [PKB_I32] = ncclInt32,   [PKB_I64] = ncclInt64,   [PKB_U8] = ncclUint8,
        [PKB_BOOL] = ncclUint8,
    };
    return types[dtype];
}

/* 1 + 1 is true: sums of truth values are maxima. */
static ncclRedOp_t operation_of(enum rt_reduction op, int dtype)
{
    static const ncclRedOp_t ops[RT_REDUCTION_COUNT] = {
        [RT_SUM] = ncclSum, [RT_PROD] = ncclProd, [RT_AMIN] = ncclMin, [RT_AMAX] = ncclMax};
    if (dtype == PKB_BOOL && op == RT_SUM)
        return ncclMax;
    return ops[op];
}

/* ---- collectives --------------------------------------------------------------------------------------------------- */

static int nccl_broadcast(struct rt_comm *c, int dtype, void *data, size_t count, int root, struct pkb_error *err)
{
    if (usable(c->dev, err))
        return -1;
    ncclResult_t rc = ncclBroadcast(data, data, count, type_of(dtype), root, c->handle, c->dev->stream);
    return settle(c->dev, c->handle, "ncclBroadcast", rc, err);
}

static int nccl_all_reduce(struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count,
                           struct pkb_error *err)
{
    if (usable(c->dev, err))
        return -1;
    ncclResult_t rc = ncclAllReduce(src, dst, count, type_of(dtype), operation_of(op, dtype), c->handle, c->dev->stream);
    return settle(c->dev, c->handle, "ncclAllReduce", rc, err);
}

static int nccl_reduce(struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count, int root,
                       struct pkb_error *err)
{
    if (usable(c->dev, err))
        return -1;
    ncclResult_t rc = ncclReduce(src, dst, count, type_of(dtype), operation_of(op, dtype), root, c->handle, c->dev->stream);
    return settle(c->dev, c->handle, "ncclReduce", rc, err);
}

static int nccl_all_gather(struct rt_comm *c, int dtype, void *dst, const void *src, size_t count, struct pkb_error *err)
{
    if (usable(c->dev, err))
        return -1;
    ncclResult_t rc = ncclAllGather(src, dst, count, type_of(dtype), c->handle, c->dev->stream);
    return settle(c->dev, c->handle, "ncclAllGather", rc, err);
}

static int nccl_reduce_scatter(struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count,
                               struct pkb_error *err)
{
    if (usable(c->dev, err))
        return -1;
    ncclResult_t rc = ncclReduceScatter(src, dst, count, type_of(dtype), operation_of(op, dtype), c->handle, c->dev->stream);
    return settle(c->dev, c->handle, "ncclReduceScatter", rc, err);
}

/* Everybody has come when the sum is there. */
static int nccl_barrier(struct rt_comm *c, struct pkb_error *err)
{
    struct nccl *s = c->dev->comm_state;
    return nccl_all_reduce(c, RT_SUM, PKB_I32, s->word, s->word, 1, err);
}

static ncclResult_t start_message(const struct cuda_message *m, cudaStream_t stream)
{
    if (m->receiving)
        return ncclRecv(m->data, m->bytes, ncclUint8, m->peer, m->comm->handle, stream);
    return ncclSend(m->data, m->bytes, ncclUint8, m->peer, m->comm->handle, stream);
}

/* Empty messages are left out, on both sides. */
static int nccl_messages(struct rt_device *dev, const struct cuda_message *list, size_t n, struct pkb_error *err)
{
    if (usable(dev, err))
        return -1;
    ncclResult_t started = ncclGroupStart();
    for (size_t i = 0; i < n && (started == ncclSuccess || started == ncclInProgress); i++) {
        if (list[i].bytes > 0)
            started = start_message(&list[i], dev->stream);
    }
    ncclResult_t rc = ncclGroupEnd();
    if (started != ncclSuccess && started != ncclInProgress)
        rc = started;
    if (rc != ncclSuccess && rc != ncclInProgress)
        return nccl_failed(dev, list[0].comm->handle, "ncclGroupEnd", rc, err);
    for (size_t i = 0; i < n; i++) {
        if (settle(dev, list[i].comm->handle, "ncclGroupEnd", rc, err))
            return -1;
    }
    return 0;
}

extern const struct cuda_comm_ops pkb_cuda_nccl;

__attribute__((visibility("default"))) const struct cuda_comm_ops pkb_cuda_nccl = {
    .setup = nccl_setup,
    .teardown = nccl_teardown,
    .open = nccl_open,
    .close = nccl_close,
    .watch = nccl_watch,
    .abort = nccl_abort,
    .broadcast = nccl_broadcast,
    .all_reduce = nccl_all_reduce,
    .reduce = nccl_reduce,
    .all_gather = nccl_all_gather,
    .reduce_scatter = nccl_reduce_scatter,
    .barrier = nccl_barrier,
    .messages = nccl_messages,
};
