/* SPDX-License-Identifier: Apache-2.0 */
/* Life, memory and events of the CUDA backend, and its table of functions. */
#include "runtime/cuda/device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/comm.h"

/* ---- life ---------------------------------------------------------------------------------------------------------- */

static int read_device(struct rt_device *dev, struct pkb_error *err)
{
    struct cudaDeviceProp prop;
    int count = 0;
    if (CUDA_FAILS(dev, cudaGetDeviceCount(&count), err))
        return -1;
    if (dev->ordinal < 0 || dev->ordinal >= count)
        return pkb_error_set(err, "GPU %d of %d", dev->ordinal, count);
    if (CUDA_FAILS(dev, cudaSetDevice(dev->ordinal), err) || CUDA_FAILS(dev, cudaGetDeviceProperties(&prop, dev->ordinal), err))
        return -1;
    (void)snprintf(dev->name, sizeof(dev->name), "%.255s", prop.name);
    return 0;
}

/* NCCL reads the variable when it is loaded, which happens later. Otherwise it keeps its own defaults: a reference that is slower
 * than what anybody gets from NCCL would flatter candidates. */
static int forbid_nvls(const struct rt_device *dev, struct pkb_error *err)
{
    if (dev->settings.forbid_nvls && setenv("NCCL_NVLS_ENABLE", "0", 1))
        return pkb_error_errno(err, "environment");
    return 0;
}

static int open_memory(struct rt_device *dev, struct pkb_error *err)
{
    void *fault = NULL, *here = NULL, *cancel = NULL, *cancel_device = NULL;
    if (CUDA_FAILS(dev, cudaStreamCreateWithFlags(&dev->stream, cudaStreamNonBlocking), err) ||
        CUDA_FAILS(dev, cudaMalloc(&fault, sizeof(*dev->fault)), err))
        return -1;
    dev->fault = fault;
    if (CUDA_FAILS(dev, cudaMemsetAsync(fault, 0, sizeof(*dev->fault), dev->stream), err) ||
        CUDA_FAILS(dev, cudaHostAlloc(&here, sizeof(*dev->fault_here), cudaHostAllocDefault), err))
        return -1;
    dev->fault_here = here;
    if (CUDA_FAILS(dev, cudaHostAlloc(&cancel, sizeof(*dev->cancel), cudaHostAllocMapped), err))
        return -1;
    dev->cancel = cancel;
    *dev->cancel = 0;
    if (CUDA_FAILS(dev, cudaHostGetDevicePointer(&cancel_device, cancel, 0), err))
        return -1;
    dev->cancel_device = cancel_device;
    return 0;
}

static void cuda_close(struct rt_device *dev)
{
    if (dev->cancel)
        *dev->cancel = 1;
    while (dev->comms)
        cuda_comm_close(dev, dev->comms);
    if (dev->comm_ops)
        dev->comm_ops->teardown(dev);
    if (dev->stream)
        (void)cudaStreamSynchronize(dev->stream); /* nothing waits for peers any more */
    cuda_symm_teardown(dev);
    cuda_matmul_teardown(dev);
    cuda_transform_teardown(dev);
    for (int i = 0; i < SCRATCH_COUNT; i++)
        (void)cudaFree(dev->scratch[i].data);
    for (int i = 0; i < dev->n_events; i++)
        (void)cudaEventDestroy(dev->events[i]);
    (void)cudaFree(dev->fault);
    (void)cudaFreeHost(dev->fault_here);
    (void)cudaFreeHost((void *)(uintptr_t)dev->cancel);
    if (dev->stream)
        (void)cudaStreamDestroy(dev->stream);
    free(dev->events);
    free(dev->messages.list);
    free(dev);
}

static int cuda_open(const struct rt_options *options, struct rt_device **out, struct pkb_error *err)
{
    struct rt_device *dev = calloc(1, sizeof(*dev));
    if (!dev)
        return pkb_error_set(err, "out of memory");
    dev->options = options;
    dev->ordinal = options->device;
    if (cuda_settings_read(&dev->settings, getenv, err) || forbid_nvls(dev, err) || read_device(dev, err) ||
        open_memory(dev, err)) {
        cuda_close(dev);
        return -1;
    }
    *out = dev;
    return 0;
}

static void *cuda_stream(struct rt_device *dev)
{
    return dev->stream;
}

static const char *cuda_device_name(struct rt_device *dev)
{
    return dev->name;
}

/* ---- waiting ------------------------------------------------------------------------------------------------------- */

static int describe_fault(const struct rt_device *dev, struct pkb_error *err)
{
    static const char *const lookups[] = {
        [FAULT_TAKE] = "take", [FAULT_TAKE_ALONG] = "take_along", [FAULT_PUT_ROWS] = "put_rows", [FAULT_ADD_ROWS] = "add_rows"};
    const struct cuda_fault *f = dev->fault_here;
    switch (f->kind) {
    case FAULT_NONE:
        return 0;
    case FAULT_TAKE:
    case FAULT_TAKE_ALONG:
    case FAULT_PUT_ROWS:
    case FAULT_ADD_ROWS:
        return pkb_error_set(err, "%s: index[%" PRId64 "] is %" PRId64 ", there are %" PRId64 " entries", lookups[f->kind], f->at,
                             f->value, f->limit);
    case FAULT_BINCOUNT:
        return pkb_error_set(err, "bincount: values[%" PRId64 "] is %" PRId64 ", there are %" PRId64 " counts", f->at, f->value,
                             f->limit);
    case FAULT_DIVISION:
        return pkb_error_set(err, "division by zero: right operand, element %" PRId64, f->at);
    default:
        return cuda_error(dev, err, "symm_barrier: rank %" PRId64 " has not come for %" PRId64 " s", f->at,
                          dev->settings.timeout_ns / 1000000000);
    }
}

/* All streams of the device, foreign ones too. Foreign code may have selected another device; that is its fault to keep. */
static int wait_for_all(struct rt_device *dev, struct pkb_error *err)
{
    int current = dev->ordinal;
    if (CUDA_FAILS(dev, cudaGetDevice(&current), err))
        return -1;
    if (current != dev->ordinal && CUDA_FAILS(dev, cudaSetDevice(dev->ordinal), err))
        return -1;
    int rc = CUDA_FAILS(dev, cudaDeviceSynchronize(), err) ? -1 : 0;
    if (current != dev->ordinal)
        (void)cudaSetDevice(current);
    return rc;
}

/* What waits for peers is on the device's own stream, so that is waited for first. */
static int cuda_sync(struct rt_device *dev, struct pkb_error *err)
{
    const struct cuda_fault *from = dev->fault;
    if (CUDA_FAILS(dev, cudaMemcpyAsync(dev->fault_here, from, sizeof(*from), cudaMemcpyDeviceToHost, dev->stream), err) ||
        cuda_wait(dev, err) || wait_for_all(dev, err))
        return -1;
    return describe_fault(dev, err);
}

/* ---- memory -------------------------------------------------------------------------------------------------------- */

static int allocate(struct rt_device *dev, size_t bytes, void **ptr, struct pkb_error *err)
{
    cudaError_t status = cudaMalloc(ptr, bytes);
    if (status == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return cuda_error(dev, err, "out of memory for %zu bytes", bytes);
    }
    return cuda_check(dev, status, "cudaMalloc", err);
}

/* cudaFree waits for the device: what waits there for peers must be given up first. */
static void cuda_release(struct rt_device *dev, void *ptr)
{
    *dev->cancel = 1;
    (void)cudaFree(ptr);
}

/* One address for both sides, since addresses are unified. */
static int allocate_shared(struct rt_device *dev, size_t bytes, void **ptr, struct pkb_error *err)
{
    return CUDA_FAILS(dev, cudaHostAlloc(ptr, bytes, cudaHostAllocMapped | cudaHostAllocPortable), err) ? -1 : 0;
}

static void cuda_release_shared(struct rt_device *dev, void *ptr)
{
    *dev->cancel = 1;
    (void)cudaFreeHost(ptr);
}

void *cuda_scratch(struct rt_device *dev, enum cuda_scratch slot, size_t bytes, struct pkb_error *err)
{
    struct scratch *s = &dev->scratch[slot];
    if (s->size >= bytes && s->data)
        return s->data;
    if (cuda_wait(dev, err))
        return NULL;
    (void)cudaFree(s->data);
    *s = (struct scratch){NULL, 0};
    if (allocate(dev, bytes ? bytes : 256, &s->data, err))
        return NULL;
    s->size = bytes ? bytes : 256;
    return s->data;
}

/* The kinds of transfers follow from the addresses: tensors may lie in memory that is shared with the host. */
static int cuda_upload(struct rt_device *dev, void *dst, const void *host, size_t bytes, struct pkb_error *err)
{
    if (bytes == 0)
        return 0;
    return CUDA_FAILS(dev, cudaMemcpyAsync(dst, host, bytes, cudaMemcpyDefault, dev->stream), err) ? -1 : 0;
}

static int cuda_download(struct rt_device *dev, void *host, const void *src, size_t bytes, struct pkb_error *err)
{
    if (bytes == 0)
        return 0;
    return CUDA_FAILS(dev, cudaMemcpyAsync(host, src, bytes, cudaMemcpyDefault, dev->stream), err) ? -1 : 0;
}

static int cuda_fill_bytes(struct rt_device *dev, void *dst, int byte, size_t bytes, struct pkb_error *err)
{
    if (bytes == 0)
        return 0;
    return CUDA_FAILS(dev, cudaMemsetAsync(dst, byte, bytes, dev->stream), err) ? -1 : 0;
}

/* ---- events -------------------------------------------------------------------------------------------------------- */

static int cuda_events(struct rt_device *dev, int n, struct pkb_error *err)
{
    cudaEvent_t *events = realloc(dev->events, (size_t)n * sizeof(cudaEvent_t));
    if (!events)
        return pkb_error_set(err, "out of memory");
    dev->events = events;
    for (; dev->n_events < n; dev->n_events++) {
        if (CUDA_FAILS(dev, cudaEventCreateWithFlags(&events[dev->n_events], cudaEventDefault), err))
            return -1;
    }
    return 0;
}

static int cuda_event_record(struct rt_device *dev, int event, struct pkb_error *err)
{
    return CUDA_FAILS(dev, cudaEventRecord(dev->events[event], dev->stream), err) ? -1 : 0;
}

static int cuda_event_elapsed(struct rt_device *dev, int from, int to, double *ns, struct pkb_error *err)
{
    float ms = 0;
    if (CUDA_FAILS(dev, cudaEventElapsedTime(&ms, dev->events[from], dev->events[to]), err))
        return -1;
    *ns = (double)ms * 1e6;
    return 0;
}

/* ---- the table ----------------------------------------------------------------------------------------------------- */

extern const struct rt_backend pkb_rt_backend;

__attribute__((visibility("default"))) const struct rt_backend pkb_rt_backend = {
    .version = RT_BACKEND_VERSION,
    .size = sizeof(struct rt_backend),
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .stream = cuda_stream,
    .device_name = cuda_device_name,
    .sync = cuda_sync,
    .cache_bytes = cuda_cache_bytes,
    .foreign_fault = cuda_foreign_fault,
    .alloc = allocate,
    .release = cuda_release,
    .alloc_shared = allocate_shared,
    .release_shared = cuda_release_shared,
    .upload = cuda_upload,
    .download = cuda_download,
    .fill_bytes = cuda_fill_bytes,
    .copy = cuda_copy,
    .copy2d = cuda_copy2d,
    .fill = cuda_fill,
    .unary = cuda_unary,
    .binary = cuda_binary,
    .binary_scalar = cuda_binary_scalar,
    .where = cuda_where,
    .iota = cuda_iota,
    .softmax = cuda_softmax,
    .cumsum = cuda_cumsum,
    .reduce_axis = cuda_reduce_axis,
    .matmul = cuda_matmul,
    .permute = cuda_permute,
    .take = cuda_take,
    .take_along = cuda_take_along,
    .put_rows = cuda_put_rows,
    .add_rows = cuda_add_rows,
    .argsort = cuda_argsort,
    .search_sorted = cuda_search_sorted,
    .im2col = cuda_im2col,
    .fft = cuda_transform,
    .bincount = cuda_bincount,
    .diagonal = cuda_diagonal,
    .comm_setup = cuda_comm_setup,
    .comm_open = cuda_comm_open,
    .comm_close = cuda_comm_close,
    .broadcast = cuda_broadcast,
    .all_reduce = cuda_all_reduce,
    .reduce = cuda_reduce,
    .all_gather = cuda_all_gather,
    .reduce_scatter = cuda_reduce_scatter,
    .gather = cuda_gather,
    .scatter = cuda_scatter,
    .all_to_all = cuda_all_to_all,
    .all_to_all_v = cuda_all_to_all_v,
    .barrier = cuda_barrier,
    .p2p_begin = cuda_p2p_begin,
    .send = cuda_send,
    .recv = cuda_recv,
    .p2p_end = cuda_p2p_end,
    .symm_alloc = cuda_symm_alloc,
    .symm_barrier = cuda_symm_barrier,
    .events = cuda_events,
    .event_record = cuda_event_record,
    .event_elapsed = cuda_event_elapsed,
};
