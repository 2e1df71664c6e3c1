/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives and messages against the host backend: staged on ranks that share a GPU, NCCL where there are several GPUs. NCCL on one
 * GPU is tested below the front end, which copies in groups of one. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/backend.h"
#include "tests/gpu/gpu.h"
#include "util/paths.h"

/* A collective of `count` elements per block. */
struct comm_case {
    int kind, dtype, op, root;
    int64_t count;
};

enum kind { ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, GATHER, SCATTER, ALL_TO_ALL, ALL_TO_ALL_V, RING, KINDS };

static const char *const kind_names[KINDS] = {"all_reduce", "reduce",  "broadcast",  "all_gather",   "reduce_scatter",
                                              "gather",     "scatter", "all_to_all", "all_to_all_v", "ring"};

/* ---- on a world ---------------------------------------------------------------------------------------------------- */

static void call_v(struct rt *rt, const struct rt_group *g, const struct comm_case *c, pkb_tensor *dst, pkb_tensor *src)
{
    int64_t send[WORLD_MAX], recv[WORLD_MAX], rows = 0, taken = 0;
    for (int i = 0; i < g->size; i++) {
        send[i] = (g->rank + 2 * i) % 3;
        recv[i] = (i + 2 * g->rank) % 3;
        rows += send[i];
        taken += recv[i];
    }
    pkb_tensor from = {src->data, c->dtype, 2, {rows, c->count / 2}}, to = {dst->data, c->dtype, 2, {taken, c->count / 2}};
    rt_all_to_all_v(rt, g, &to, recv, &from, send);
}

static void call_ring(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *src)
{
    rt_p2p_begin(rt);
    rt_send(rt, g, src, (g->rank + 1) % g->size);
    rt_recv(rt, g, dst, (g->rank + g->size - 1) % g->size);
    rt_p2p_end(rt);
}

/* src and dst hold one block per member; collectives use what they need of them. */
static void call(struct rt *rt, const struct rt_group *g, const struct comm_case *c, pkb_tensor *dst, pkb_tensor *src)
{
    int n = g->size, root = c->root % n;
    pkb_tensor one_in = {src->data, c->dtype, 1, {c->count}}, one_out = {dst->data, c->dtype, 1, {c->count}};
    pkb_tensor all_in = {src->data, c->dtype, 1, {c->count * n}}, all_out = {dst->data, c->dtype, 1, {c->count * n}};
    enum rt_reduction op = (enum rt_reduction)c->op;
    bool rooted = g->rank == root;
    switch (c->kind) {
    case ALL_REDUCE:
        rt_all_reduce(rt, g, op, &one_out, &one_in);
        break;
    case REDUCE:
        rt_reduce(rt, g, op, rooted ? &one_out : NULL, &one_in, root);
        break;
    case BROADCAST:
        rt_copy(rt, &one_out, &one_in);
        rt_broadcast(rt, g, &one_out, root);
        break;
    case ALL_GATHER:
        rt_all_gather(rt, g, &all_out, &one_in);
        break;
    case REDUCE_SCATTER:
        rt_reduce_scatter(rt, g, op, &one_out, &all_in);
        break;
    case GATHER:
        rt_gather(rt, g, rooted ? &all_out : NULL, &one_in, root);
        break;
    case SCATTER:
        rt_scatter(rt, g, &one_out, rooted ? &all_in : NULL, root);
        break;
    case ALL_TO_ALL:
        rt_all_to_all(rt, g, &all_out, &all_in);
        break;
    case ALL_TO_ALL_V:
        call_v(rt, g, c, dst, src);
        break;
    default:
        call_ring(rt, g, &one_out, &one_in);
        break;
    }
}

/* The room of a test's tensors: blocks of the largest count for each member, twice as much for uneven ones. */
#define LARGEST 3001

static int run_on(struct rt *rt, const struct rt_group *g, const struct comm_case *c, const void *input, void *output,
                  struct pkb_error *err)
{
    pkb_tensor *src = rt_new(rt, c->dtype, RT_SHAPE(2 * LARGEST * g->size));
    pkb_tensor *dst = rt_new(rt, c->dtype, RT_SHAPE(2 * LARGEST * g->size));
    rt_upload(rt, src, input);
    rt_fill_bytes(rt, dst, 0x11);
    if (src && dst)
        call(rt, g, c, dst, src);
    rt_download(rt, output, dst);
    int rc = rt_sync(rt, err);
    rt_release_all(rt);
    return rc;
}

struct comm_world {
    struct gpu_tolerance tolerance;
    int64_t n; /* elements of a buffer */
    char *input, *host, *cuda;
};

static int run_case(const struct gpu_pair *pair, const int *ranks, int size, const struct comm_case *c,
                    const struct comm_world *w, struct pkb_error *err)
{
    char text[128];
    const struct rt_group *on_host = rt_group(pair->host, size, ranks), *on_cuda = rt_group(pair->cuda, size, ranks);
    if (!on_host || !on_cuda)
        return rt_status(on_host ? pair->cuda : pair->host, err);
    (void)snprintf(text, sizeof(text), "%s %s op %d, %lld elements, %d members, rank %d", kind_names[c->kind],
                   dtype_name(c->dtype), c->op, (long long)c->count, size, rt_rank(pair->host));
    gpu_values(w->input, c->dtype, 2 * LARGEST * size, VALUES_SIGNED, (uint32_t)rt_rank(pair->host));
    if (run_on(pair->host, on_host, c, w->input, w->host, err) || run_on(pair->cuda, on_cuda, c, w->input, w->cuda, err))
        return pkb_error_prefix(err, "%s", text);
    bool sums = c->kind == ALL_REDUCE || c->kind == REDUCE || c->kind == REDUCE_SCATTER;
    gpu_compare(text, c->dtype, 2 * LARGEST * size, w->cuda, w->host, sums ? w->tolerance : (struct gpu_tolerance){0, 0});
    return 0;
}

static int all_cases(const struct gpu_pair *pair, const int *ranks, int size, struct comm_world *w, struct pkb_error *err)
{
    static const int64_t counts[] = {2, 1000, LARGEST};
    for (int kind = 0; kind < KINDS; kind++) {
        bool reduces = kind == ALL_REDUCE || kind == REDUCE || kind == REDUCE_SCATTER;
        for (int type = 0; type < PKB_DTYPE_COUNT; type++) {
            for (int i = 0; i < 3; i++) {
                struct comm_case c = {kind, type, reduces ? (i + type) % RT_REDUCTION_COUNT : 0, type % size, counts[i]};
                if (run_case(pair, ranks, size, &c, w, err))
                    return -1;
            }
        }
    }
    return 0;
}

static int run_world(const struct rt_options *o, void *arg, struct pkb_error *err)
{
    struct gpu_pair pair;
    struct comm_world w = {.tolerance = *(const struct gpu_tolerance *)arg};
    size_t bytes = (size_t)(2 * LARGEST * o->world) * 8;
    int ranks[WORLD_MAX], first = o->rank < o->world / 2 ? 0 : o->world / 2, half = o->world / 2;
    w.input = malloc(bytes), w.host = malloc(bytes), w.cuda = malloc(bytes);
    int rc = w.input && w.host && w.cuda ? gpu_open_pair(o, &pair, err) : pkb_error_set(err, "out of memory");
    if (rc == 0) {
        for (int i = 0; i < o->world; i++)
            ranks[i] = o->world - 1 - i; /* another order than the world's */
        rc = all_cases(&pair, ranks, o->world, &w, err);
        for (int i = 0; i < half; i++)
            ranks[i] = first + i;
        if (rc == 0 && half > 1)
            rc = all_cases(&pair, ranks, half, &w, err);
        rt_barrier(pair.cuda, rt_world(pair.cuda));
        rt_barrier(pair.host, rt_world(pair.host));
        rc = rc ? rc : rt_sync(pair.cuda, err);
        gpu_close_pair(&pair);
    }
    free(w.input);
    free(w.host);
    free(w.cuda);
    return rc;
}

static int gpus(void)
{
    const char *text = getenv("PKB_TEST_GPUS");
    return text ? atoi(text) : 1;
}

void test_collectives(void)
{
    struct gpu_tolerance exact = {0, 0}, near = {0.04, 0.04};
    gpu_world("collectives", 2, "staged", run_world, &exact);
    gpu_world("collectives", 4, "staged", run_world, &exact);
    if (gpus() > 1)
        gpu_world("collectives", gpus(), "nccl", run_world, &near);
}

/* ---- NCCL with one rank -------------------------------------------------------------------------------------------- */

#define ALONE 1000

static const struct rt_backend *backend(struct pkb_error *err)
{
    char *path = pkb_path(PKB_PATH_PLUGIN, "backend_cuda.so", err);
    void *plugin = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const struct rt_backend *be = plugin ? dlsym(plugin, RT_BACKEND_SYMBOL) : NULL;
    if (path && !be)
        (void)pkb_error_set(err, "%s", dlerror());
    free(path);
    return be;
}

static int call_alone(const struct rt_backend *be, struct rt_comm *comm, const struct comm_case *c, void *dst, void *src,
                      struct pkb_error *err)
{
    const int64_t rows[] = {ALONE / 2};
    size_t n = ALONE;
    enum rt_reduction op = (enum rt_reduction)c->op;
    switch (c->kind) {
    case ALL_REDUCE:
        return be->all_reduce(comm, op, c->dtype, dst, src, n, err);
    case REDUCE:
        return be->reduce(comm, op, c->dtype, dst, src, n, 0, err);
    case BROADCAST:
        return be->broadcast(comm, c->dtype, src, n, 0, err) || be->all_gather(comm, c->dtype, dst, src, n, err);
    case ALL_GATHER:
        return be->all_gather(comm, c->dtype, dst, src, n, err);
    case REDUCE_SCATTER:
        return be->reduce_scatter(comm, op, c->dtype, dst, src, n, err);
    case GATHER:
        return be->gather(comm, c->dtype, dst, src, n, 0, err);
    case SCATTER:
        return be->scatter(comm, c->dtype, dst, src, n, 0, err);
    case ALL_TO_ALL:
        return be->all_to_all(comm, c->dtype, dst, src, n, err);
    default:
        return be->all_to_all_v(comm, c->dtype, dst, rows, src, rows, 2, err) || be->barrier(comm, err);
    }
}

/* With one member every collective is a copy. */
static int check_alone(const struct rt_backend *be, struct rt_device *dev, struct rt_comm *comm, const struct comm_case *c,
                       struct pkb_error *err)
{
    static double input[ALONE], output[ALONE];
    void *src = NULL, *dst = NULL;
    size_t bytes = ALONE * dtype_size(c->dtype);
    char text[96];
    gpu_values(input, c->dtype, ALONE, VALUES_SIGNED, 5);
    if (be->alloc(dev, bytes, &src, err) || be->alloc(dev, bytes, &dst, err) || be->upload(dev, src, input, bytes, err) ||
        be->fill_bytes(dev, dst, 0x55, bytes, err) || call_alone(be, comm, c, dst, src, err) ||
        be->download(dev, output, dst, bytes, err) || be->sync(dev, err))
        return pkb_error_prefix(err, "%s %s", kind_names[c->kind], dtype_name(c->dtype));
    (void)snprintf(text, sizeof(text), "NCCL alone: %s %s op %d", kind_names[c->kind], dtype_name(c->dtype), c->op);
    gpu_compare(text, c->dtype, ALONE, output, input, (struct gpu_tolerance){0, 0});
    return 0;
}

static int all_alone(const struct rt_backend *be, struct rt_device *dev, struct rt_comm *comm, struct pkb_error *err)
{
    for (int kind = 0; kind < RING; kind++) {
        bool reduces = kind == ALL_REDUCE || kind == REDUCE || kind == REDUCE_SCATTER;
        for (int type = 0; type < PKB_DTYPE_COUNT; type++) {
            for (int op = 0; op < (reduces ? RT_REDUCTION_COUNT : 1); op++) {
                struct comm_case c = {kind, type, op, 0, ALONE};
                if (check_alone(be, dev, comm, &c, err))
                    return -1;
            }
        }
    }
    return 0;
}

static int run_alone(const struct rt_options *o, void *arg, struct pkb_error *err)
{
    static const int ranks[] = {0};
    struct rt_group world = {.id = 0, .size = 1, .ranks = ranks}, other = {.id = 77, .size = 1, .ranks = ranks};
    struct rt_comm *comm = NULL, *second = NULL;
    struct rt_device *dev = NULL;
    const struct rt_backend *be = backend(err);
    (void)arg;
    if (!be || be->open(o, &dev, err))
        return -1;
    int rc = be->comm_setup(dev, err) || be->comm_open(dev, &world, &comm, err) || be->comm_open(dev, &other, &second, err);
    rc = rc || all_alone(be, dev, comm, err) || all_alone(be, dev, second, err);
    if (second)
        be->comm_close(dev, second);
    if (comm)
        be->comm_close(dev, comm);
    be->close(dev);
    return rc ? -1 : 0;
}

/* Ranks that share a GPU cannot use NCCL, and are told what can be done. */
static int run_shared(const struct rt_options *o, void *arg, struct pkb_error *err)
{
    struct rt *rt = rt_open("cuda", o, err);
    (void)arg;
    if (!rt)
        return -1;
    struct pkb_error why = {""};
    gpu_check(rt_connect(rt, &why) != 0 && strstr(why.text, "PKB_COMM=staged"), "two ranks on one GPU: %s", why.text);
    rt_close(rt);
    return 0;
}

void test_nccl_alone(void)
{
    gpu_world("nccl", 1, "nccl", run_alone, NULL);
    if (gpus() == 1)
        gpu_world("nccl on a shared GPU", 2, "nccl", run_shared, NULL);
}
