/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that several processes map: created here, exported as a descriptor, a fabric handle or a CUDA IPC handle, imported there. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/agree.h"
#include "runtime/cuda/symm.h"

/* ---- mappings ------------------------------------------------------------------------------------------------------ */

static CUmemAllocationHandleType handle_type(int method)
{
    return method == SYMM_FABRIC ? CU_MEM_HANDLE_TYPE_FABRIC : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
}

CUmemAllocationProp symm_properties(const struct rt_device *dev, int method)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = handle_type(method),
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev->ordinal},
    };
}

int symm_map(struct rt_device *dev, struct symm_mapping *m, size_t size, struct pkb_error *err)
{
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev->ordinal},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr address = 0;
    if (DRIVER_FAILS(dev, cuMemAddressReserve, err, &address, size, 0, 0, 0))
        return -1;
    if (DRIVER_FAILS(dev, cuMemMap, err, address, size, 0, m->handle, 0)) {
        (void)dev->driver->cuMemAddressFree(address, size);
        return -1;
    }
    m->address = address;
    if (DRIVER_FAILS(dev, cuMemSetAccess, err, address, size, &access, 1)) {
        (void)dev->driver->cuMemUnmap(address, size);
        (void)dev->driver->cuMemAddressFree(address, size);
        m->address = 0;
        return -1;
    }
    return 0;
}

void symm_unmap(struct rt_device *dev, struct symm_mapping *m, size_t size)
{
    if (m->address) {
        (void)dev->driver->cuMemUnmap(m->address, size);
        (void)dev->driver->cuMemAddressFree(m->address, size);
    }
    if (m->handle)
        (void)dev->driver->cuMemRelease(m->handle);
    *m = (struct symm_mapping){0, 0};
}

/* ---- this rank's part ---------------------------------------------------------------------------------------------- */

static void *pointer(CUdeviceptr address)
{
    return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr): that is what the driver's addresses are */
}

static int create(struct rt_device *dev, struct symm_mapping *m, size_t size, struct pkb_error *err)
{
    CUmemAllocationProp prop = symm_properties(dev, dev->symm->method);
    CUresult status = dev->driver->cuMemCreate(&m->handle, size, &prop, 0);
    if (status == CUDA_ERROR_OUT_OF_MEMORY)
        return cuda_error(dev, err, "out of memory for %zu bytes", size);
    return cuda_driver_check(dev, status, "cuMemCreate", err) ? -1 : symm_map(dev, m, size, err);
}

static int create_ipc(struct rt_device *dev, struct symm_mapping *m, size_t size, struct pkb_error *err)
{
    void *memory = NULL;
    cudaError_t status = cudaMalloc(&memory, size);
    if (status == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return cuda_error(dev, err, "out of memory for %zu bytes", size);
    }
    m->address = (CUdeviceptr)(uintptr_t)memory;
    return cuda_check(dev, status, "cudaMalloc", err);
}

int symm_create_own(struct rt_device *dev, struct symm_block *b, struct pkb_error *err)
{
    struct symm_mapping *own = &b->maps[dev->options->rank];
    size_t unit = dev->symm->granularity;
    if (b->bytes > SIZE_MAX / 2)
        return pkb_error_set(err, "out of memory for %zu bytes", b->bytes);
    b->size = (b->bytes + unit - 1) / unit * unit;
    if (dev->symm->method == SYMM_IPC ? create_ipc(dev, own, b->size, err) : create(dev, own, b->size, err))
        return -1;
    b->peers[dev->options->rank] = pointer(own->address);
    if (CUDA_FAILS(dev, cudaMemsetAsync(pointer(own->address), 0, b->size, dev->stream), err))
        return -1;
    return cuda_wait(dev, err);
}

/* ---- the others' parts --------------------------------------------------------------------------------------------- */

int symm_swap_fds(struct rt_device *dev, int fd, int *fds, struct pkb_error *err)
{
    struct cuda_symm *s = dev->symm;
    struct fds_swap swap = {s->addresses,        s->peer,     dev->options->rank,
                            dev->options->world, s->serial++, dev->settings.timeout_ns};
    struct pkb_error own = {""};
    int rc = fds_swap(&s->fds, &swap, fd, fds, &own);
    return rt_agree(dev->options, 0, rc, &own, err);
}

/* Takes over the descriptors. */
static int import_fds(struct rt_device *dev, struct symm_block *b, const int *fds, struct pkb_error *err)
{
    for (int i = 0; i < dev->options->world; i++) {
        struct symm_mapping *m = &b->maps[i];
        if (fds[i] < 0)
            continue;
        if (DRIVER_FAILS(dev, cuMemImportFromShareableHandle, err, &m->handle, pointer((CUdeviceptr)fds[i]),
                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) ||
            symm_map(dev, m, b->size, err))
            return pkb_error_prefix(err, "memory of rank %d", i);
    }
    return 0;
}

static int export_fd(struct rt_device *dev, const struct symm_block *b, int *fd, struct pkb_error *err)
{
    const struct symm_mapping *own = &b->maps[dev->options->rank];
    return DRIVER_FAILS(dev, cuMemExportToShareableHandle, err, fd, own->handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ? -1
                                                                                                                              : 0;
}

void symm_close_fds(int *fds, int n)
{
    for (int i = 0; fds && i < n; i++) {
        if (fds[i] >= 0)
            (void)close(fds[i]);
    }
    free(fds);
}

static int map_by_fds(struct rt_device *dev, struct symm_block *b, struct pkb_error *err)
{
    int world = dev->options->world, fd = -1;
    struct pkb_error own = {""};
    int *fds = malloc((size_t)world * sizeof(*fds));
    int rc = fds ? export_fd(dev, b, &fd, &own) : pkb_error_set(&own, "out of memory");
    for (int i = 0; fds && i < world; i++)
        fds[i] = -1;
    rc = rt_agree(dev->options, b->bytes, rc, &own, err);
    if (rc == 0)
        rc = symm_swap_fds(dev, fd, fds, err);
    if (rc == 0)
        rc = import_fds(dev, b, fds, err);
    symm_close_fds(fds, world);
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

/* A handle that travels in an exchange. */
union symm_ticket {
    CUmemFabricHandle fabric;
    cudaIpcMemHandle_t ipc;
};

static int export_ticket(struct rt_device *dev, const struct symm_block *b, union symm_ticket *ticket, struct pkb_error *err)
{
    const struct symm_mapping *own = &b->maps[dev->options->rank];
    if (dev->symm->method == SYMM_IPC)
        return CUDA_FAILS(dev, cudaIpcGetMemHandle(&ticket->ipc, pointer(own->address)), err) ? -1 : 0;
    return DRIVER_FAILS(dev, cuMemExportToShareableHandle, err, &ticket->fabric, own->handle, CU_MEM_HANDLE_TYPE_FABRIC, 0) ? -1
                                                                                                                            : 0;
}

static int import_ticket(struct rt_device *dev, struct symm_mapping *m, union symm_ticket *ticket, size_t size,
                         struct pkb_error *err)
{
    void *memory = NULL;
    if (dev->symm->method == SYMM_FABRIC)
        return DRIVER_FAILS(dev, cuMemImportFromShareableHandle, err, &m->handle, &ticket->fabric, CU_MEM_HANDLE_TYPE_FABRIC)
                   ? -1
                   : symm_map(dev, m, size, err);
    if (CUDA_FAILS(dev, cudaIpcOpenMemHandle(&memory, ticket->ipc, cudaIpcMemLazyEnablePeerAccess), err))
        return -1;
    m->address = (CUdeviceptr)(uintptr_t)memory;
    return 0;
}

/* A fabric may reach other nodes, or not: there a failure leaves the rank out. */
static int import_tickets(struct rt_device *dev, struct symm_block *b, union symm_ticket *all, struct pkb_error *err)
{
    for (int i = 0; i < dev->options->world; i++) {
        bool near = dev->symm->peer[i];
        if (i == dev->options->rank || (!near && dev->symm->method != SYMM_FABRIC))
            continue;
        if (import_ticket(dev, &b->maps[i], &all[i], b->size, err) == 0)
            continue;
        if (near)
            return pkb_error_prefix(err, "memory of rank %d", i);
        symm_unmap(dev, &b->maps[i], b->size);
    }
    return 0;
}

static int map_by_tickets(struct rt_device *dev, struct symm_block *b, struct pkb_error *err)
{
    const struct rt_options *o = dev->options;
    union symm_ticket mine, *all = calloc((size_t)o->world, sizeof(*all));
    struct pkb_error own = {""};
    memset(&mine, 0, sizeof(mine));
    int rc = all ? export_ticket(dev, b, &mine, &own) : pkb_error_set(&own, "out of memory");
    rc = rt_agree(o, b->bytes, rc, &own, err);
    if (rc == 0)
        rc = o->exchange(o->exchange_arg, &mine, sizeof(mine), all, err);
    if (rc == 0)
        rc = import_tickets(dev, b, all, err);
    free(all);
    return rc;
}

int symm_map_peers(struct rt_device *dev, struct symm_block *b, struct pkb_error *err)
{
    if (dev->options->world == 1)
        return 0;
    if (dev->symm->method == SYMM_FD ? map_by_fds(dev, b, err) : map_by_tickets(dev, b, err))
        return -1;
    for (int i = 0; i < dev->options->world; i++)
        b->peers[i] = pointer(b->maps[i].address);
    return 0;
}
