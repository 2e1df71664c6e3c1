/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric memory: blocks of all ranks, the method that all of them can use, the barrier. */
#include "runtime/cuda/symm.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/agree.h"
#include "runtime/cuda/comm.h"

/* ---- blocks -------------------------------------------------------------------------------------------------------- */

static void destroy_block(struct rt_device *dev, struct symm_block *b)
{
    int world = dev->options->world, rank = dev->options->rank;
    if (!b)
        return;
    symm_unmap(dev, &b->multicast, b->size);
    for (int i = 0; b->maps && i < world; i++) {
        void *address = (void *)(uintptr_t)b->maps[i].address;
        if (dev->symm->method != SYMM_IPC)
            symm_unmap(dev, &b->maps[i], b->size);
        else if (address && i != rank)
            (void)cudaIpcCloseMemHandle(address);
        else
            (void)cudaFree(address);
    }
    free(b->maps);
    free(b->peers);
    free(b);
}

static struct symm_block *create_block(struct rt_device *dev, size_t bytes, struct pkb_error *err)
{
    size_t world = (size_t)dev->options->world;
    struct symm_block *b = calloc(1, sizeof(*b));
    if (b) {
        b->bytes = bytes;
        b->maps = calloc(world, sizeof(*b->maps));
        b->peers = calloc(world, sizeof(*b->peers));
    }
    if (b && b->maps && b->peers)
        return b;
    (void)pkb_error_set(err, "out of memory");
    if (b) {
        free(b->maps);
        free(b->peers);
    }
    free(b);
    return NULL;
}

/* One block on all ranks, or on none. */
static struct symm_block *allocate(struct rt_device *dev, size_t bytes, struct pkb_error *err)
{
    struct pkb_error own = {""};
    struct symm_block *b = create_block(dev, bytes, &own);
    int rc = b ? symm_create_own(dev, b, &own) : -1;
    if (rt_agree(dev->options, bytes, rc, &own, err)) {
        destroy_block(dev, b);
        return NULL;
    }
    rc = symm_map_peers(dev, b, &own);
    rc = rt_agree(dev->options, bytes, rc, &own, err);
    if (rc == 0 && dev->symm->multicast)
        rc = symm_add_multicast(dev, b, err);
    if (rc == 0) {
        b->next = dev->symm->blocks;
        dev->symm->blocks = b;
        return b;
    }
    destroy_block(dev, b);
    return NULL;
}

/* ---- the method ---------------------------------------------------------------------------------------------------- */

/* Whether memory can be made and exported in that way; a driver may have an attribute set and refuse all the same. */
static bool works(struct rt_device *dev, int method)
{
    CUmemAllocationProp prop = symm_properties(dev, method);
    CUmemGenericAllocationHandle handle = 0;
    CUmemFabricHandle fabric;
    size_t unit = 0;
    CUdevice_attribute attribute = method == SYMM_FABRIC ? CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED
                                                         : CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED;
    const struct cuda_driver *d = dev->driver;
    if (method == SYMM_IPC)
        return true;
    if (!cuda_driver_attribute(dev, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) ||
        !cuda_driver_attribute(dev, attribute))
        return false;
    bool ok = d->cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) == CUDA_SUCCESS &&
              d->cuMemCreate(&handle, unit, &prop, 0) == CUDA_SUCCESS;
    if (ok && method == SYMM_FABRIC)
        ok = d->cuMemExportToShareableHandle(&fabric, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0) == CUDA_SUCCESS;
    if (handle)
        (void)d->cuMemRelease(handle);
    return ok;
}

/* What each rank tells the others first. */
struct symm_hello {
    struct fds_address address;
    uint8_t works[SYMM_METHODS];
    uint8_t multicast;
    int8_t wanted;
};

/* Descriptors inside a node; a fabric where it may reach further; else CUDA IPC. */
static int choose(const struct rt_device *dev, const struct symm_hello *all, struct pkb_error *err)
{
    struct cuda_symm *s = dev->symm;
    bool can[SYMM_METHODS] = {true, true, true};
    for (int i = 0; i < dev->options->world; i++) {
        if (all[i].wanted != all[0].wanted)
            return pkb_error_set(err, "PKB_SYMM differs between ranks 0 and %d", i);
        for (int m = 0; m < SYMM_METHODS; m++)
            can[m] = can[m] && all[i].works[m];
        s->multicast = s->multicast && all[i].multicast;
    }
    int best = !s->one_node && can[SYMM_FABRIC] ? SYMM_FABRIC : can[SYMM_FD] ? SYMM_FD : SYMM_IPC;
    s->method = all[0].wanted >= 0 ? all[0].wanted : best;
    s->multicast = s->multicast && s->method == SYMM_FD && s->one_node;
    if (!can[s->method])
        return cuda_error(dev, err, "PKB_SYMM=%s does not work here", symm_method_name(s->method));
    return 0;
}

static int agree_on_method(struct rt_device *dev, struct pkb_error *err)
{
    const struct rt_options *o = dev->options;
    struct cuda_symm *s = dev->symm;
    struct symm_hello mine = {.address = s->fds.own, .wanted = (int8_t)dev->settings.symm, .multicast = symm_can_multicast(dev)};
    struct symm_hello *all = s->hellos;
    for (int m = 0; m < SYMM_METHODS; m++)
        mine.works[m] = works(dev, m);
    all[0] = mine;
    int rc = o->world == 1 ? 0 : o->exchange(o->exchange_arg, &mine, sizeof(mine), all, err);
    for (int i = 0; i < o->world && rc == 0; i++)
        s->addresses[i] = all[i].address;
    s->multicast = o->world > 1;
    return rc ? -1 : choose(dev, all, err);
}

static int read_granularity(struct rt_device *dev, struct pkb_error *err)
{
    struct cuda_symm *s = dev->symm;
    CUmemAllocationProp prop = symm_properties(dev, s->method);
    s->granularity = 256;
    if (s->method == SYMM_IPC)
        return 0;
    if (DRIVER_FAILS(dev, cuMemGetAllocationGranularity, err, &s->granularity, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        return -1;
    return s->multicast ? symm_multicast_granularity(dev, &s->granularity, err) : 0;
}

/* ---- opening ------------------------------------------------------------------------------------------------------- */

static void destroy(struct rt_device *dev)
{
    struct cuda_symm *s = dev->symm;
    while (s && s->blocks) {
        struct symm_block *next = s->blocks->next;
        destroy_block(dev, s->blocks);
        s->blocks = next;
    }
    if (s) {
        (void)cudaFree(s->pad_table);
        fds_close(&s->fds);
        free(s->addresses);
        free(s->hellos);
        free(s->peer);
        free(s->ranks);
    }
    free(s);
    dev->symm = NULL;
}

void cuda_symm_teardown(struct rt_device *dev)
{
    destroy(dev);
    free(dev->driver);
    dev->driver = NULL;
}

static int find_peers(struct rt_device *dev, struct pkb_error *err)
{
    const struct rt_options *o = dev->options;
    struct cuda_symm *s = dev->symm;
    s->peer = calloc((size_t)o->world, sizeof(*s->peer));
    s->addresses = calloc((size_t)o->world, sizeof(*s->addresses));
    s->hellos = calloc((size_t)o->world, sizeof(*s->hellos));
    if (!s->peer || !s->addresses || !s->hellos)
        return pkb_error_set(err, "out of memory");
    s->one_node = true;
    for (int i = 0; i < o->world; i++) {
        bool near = !o->node_of_rank || o->node_of_rank[i] == o->node_of_rank[o->rank];
        s->peer[i] = near && i != o->rank;
        s->one_node = s->one_node && near;
    }
    return 0;
}

/* Where nodes cannot reach each other's pads, a collective makes the barrier. */
static int open_comm(struct rt_device *dev, struct pkb_error *err)
{
    const struct rt_options *o = dev->options;
    struct cuda_symm *s = dev->symm;
    s->ranks = calloc((size_t)o->world, sizeof(*s->ranks));
    if (!s->ranks)
        return pkb_error_set(err, "out of memory");
    for (int i = 0; i < o->world; i++)
        s->ranks[i] = i;
    s->world = (struct rt_group){.id = 0, .size = o->world, .rank = o->rank, .ranks = s->ranks};
    return cuda_comm_setup(dev, err) ? -1 : cuda_comm_open(dev, &s->world, &s->comm, err);
}

static int upload_pad_table(struct rt_device *dev, struct pkb_error *err)
{
    struct cuda_symm *s = dev->symm;
    size_t world = (size_t)dev->options->world;
    if (CUDA_FAILS(dev, cudaMalloc(&s->pad_table, world * sizeof(void *)), err) ||
        CUDA_FAILS(
            dev, cudaMemcpyAsync(s->pad_table, s->pads->peers, world * sizeof(void *), cudaMemcpyHostToDevice, dev->stream), err))
        return -1;
    return cuda_wait(dev, err);
}

static int open_pads(struct rt_device *dev, struct pkb_error *err)
{
    struct cuda_symm *s = dev->symm;
    struct pkb_error own = {""};
    s->pads = allocate(dev, ((size_t)dev->options->world + 1) * sizeof(uint32_t), err);
    if (!s->pads)
        return -1;
    int rc = upload_pad_table(dev, &own);
    return rt_agree(dev->options, 0, rc, &own, err);
}

static int open_parts(struct rt_device *dev, struct pkb_error *err)
{
    struct pkb_error own = {""};
    int rc = find_peers(dev, &own);
    if (rc == 0)
        rc = cuda_driver_load(dev, &own);
    if (rc == 0)
        rc = fds_open(&dev->symm->fds, &own);
    if (rt_agree(dev->options, 0, rc, &own, err) || agree_on_method(dev, err))
        return -1;
    rc = read_granularity(dev, &own);
    if (rt_agree(dev->options, 0, rc, &own, err) || (!dev->symm->one_node && open_comm(dev, err)))
        return -1;
    return open_pads(dev, err);
}

/* Collective: at the first allocation or barrier. */
static int open_symm(struct rt_device *dev, struct pkb_error *err)
{
    if (dev->symm)
        return 0;
    dev->symm = calloc(1, sizeof(*dev->symm));
    if (!dev->symm)
        return pkb_error_set(err, "out of memory");
    dev->symm->fds.socket = -1;
    if (open_parts(dev, err) == 0)
        return 0;
    destroy(dev);
    return -1;
}

/* ---- what the table has -------------------------------------------------------------------------------------------- */

int cuda_symm_alloc(struct rt_device *dev, size_t bytes, pkb_symm *symm, struct pkb_error *err)
{
    if (open_symm(dev, err))
        return -1;
    struct symm_block *b = allocate(dev, bytes, err);
    if (!b)
        return -1;
    *symm = (pkb_symm){.size = bytes,
                       .local = b->peers[dev->options->rank],
                       .peers = b->peers,
                       .multicast = (void *)(uintptr_t)b->multicast.address};
    return 0;
}

int cuda_symm_barrier(struct rt_device *dev, struct pkb_error *err)
{
    if (open_symm(dev, err))
        return -1;
    if (dev->symm->comm)
        return cuda_barrier(dev->symm->comm, err);
    struct cuda_barrier b = {
        .pads = dev->symm->pad_table,
        .rank = dev->options->rank,
        .world = dev->options->world,
        .patience = (uint64_t)dev->settings.timeout_ns,
        .cancel = dev->cancel_device,
    };
    return CUDA_FAILS(dev, kernel_barrier(&b, dev->fault, dev->stream), err) ? -1 : 0;
}
