/* SPDX-License-Identifier: Apache-2.0 */
/* Life, memory and events of the host backend, and its table of functions. */
#include "runtime/host/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"

/* ---- life ---------------------------------------------------------------------------------------------------------- */

static void read_cpu_name(char *name, size_t size)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "re");
    (void)snprintf(name, size, "CPU");
    while (f && fgets(line, sizeof(line), f)) {
        char *value = strstr(line, ": ");
        if (strncmp(line, "model name", 10) != 0 || !value)
            continue;
        value[2 + strcspn(value + 2, "\n")] = '\0';
        (void)snprintf(name, size, "%s", value + 2);
        break;
    }
    if (f)
        (void)fclose(f);
}

static int host_open(const struct rt_options *options, struct rt_device **dev, struct pkb_error *err)
{
    *dev = calloc(1, sizeof(**dev));
    if (!*dev)
        return pkb_error_set(err, "out of memory");
    (*dev)->options = options;
    read_cpu_name((*dev)->name, sizeof((*dev)->name));
    return 0;
}

static void host_close(struct rt_device *dev)
{
    host_comm_teardown(dev);
    host_symm_teardown(dev);
    host_transform_teardown(dev);
    for (int i = 0; i < SCRATCH_COUNT; i++)
        free(dev->scratch[i].data);
    free(dev->events);
    free(dev);
}

static void *host_stream(struct rt_device *dev)
{
    (void)dev;
    return NULL;
}

static const char *host_device_name(struct rt_device *dev)
{
    return dev->name;
}

static int host_sync(struct rt_device *dev, struct pkb_error *err)
{
    (void)dev;
    (void)err;
    return 0;
}

/* ---- memory -------------------------------------------------------------------------------------------------------- */

static int host_alloc(struct rt_device *dev, size_t bytes, void **ptr, struct pkb_error *err)
{
    (void)dev;
    if (posix_memalign(ptr, 4096, bytes))
        return pkb_error_set(err, "out of memory for %zu bytes", bytes);
    return 0;
}

static void host_release(struct rt_device *dev, void *ptr)
{
    host_comm_cancel(dev); /* after a failure */
    free(ptr);
}

void *host_scratch(struct rt_device *dev, enum host_scratch slot, size_t bytes, struct pkb_error *err)
{
    struct scratch *s = &dev->scratch[slot];
    if (s->size >= bytes && s->data)
        return s->data;
    free(s->data);
    *s = (struct scratch){NULL, 0};
    if (posix_memalign(&s->data, 64, bytes ? bytes : 64)) {
        s->data = NULL;
        (void)pkb_error_set(err, "out of memory for %zu bytes", bytes);
        return NULL;
    }
    s->size = bytes ? bytes : 64;
    return s->data;
}

static int host_transfer(struct rt_device *dev, void *dst, const void *src, size_t bytes, struct pkb_error *err)
{
    (void)dev;
    (void)err;
    memcpy(dst, src, bytes);
    return 0;
}

static int host_fill_bytes(struct rt_device *dev, void *dst, int byte, size_t bytes, struct pkb_error *err)
{
    (void)dev;
    (void)err;
    memset(dst, byte, bytes);
    return 0;
}

/* ---- events -------------------------------------------------------------------------------------------------------- */

static int host_events(struct rt_device *dev, int n, struct pkb_error *err)
{
    int64_t *events = realloc(dev->events, (size_t)n * sizeof(*events));
    if (!events)
        return pkb_error_set(err, "out of memory");
    for (int i = dev->n_events; i < n; i++)
        events[i] = 0;
    dev->events = events;
    dev->n_events = n;
    return 0;
}

static int host_event_record(struct rt_device *dev, int event, struct pkb_error *err)
{
    (void)err;
    dev->events[event] = pkb_now_ns();
    return 0;
}

static int host_event_elapsed(struct rt_device *dev, int from, int to, double *ns, struct pkb_error *err)
{
    (void)err;
    *ns = (double)(dev->events[to] - dev->events[from]);
    return 0;
}

/* ---- the table ----------------------------------------------------------------------------------------------------- */

extern const struct rt_backend pkb_rt_backend;

__attribute__((visibility("default"))) const struct rt_backend pkb_rt_backend = {
    .version = RT_BACKEND_VERSION,
    .size = sizeof(struct rt_backend),
    .name = "host",
    .open = host_open,
    .close = host_close,
    .stream = host_stream,
    .device_name = host_device_name,
    .sync = host_sync,
    .alloc = host_alloc,
    .release = host_release,
    .alloc_shared = host_alloc,
    .release_shared = host_release,
    .upload = host_transfer,
    .download = host_transfer,
    .fill_bytes = host_fill_bytes,
    .copy = host_copy,
    .copy2d = host_copy2d,
    .fill = host_fill,
    .unary = host_unary,
    .binary = host_binary,
    .binary_scalar = host_binary_scalar,
    .where = host_where,
    .iota = host_iota,
    .softmax = host_softmax,
    .cumsum = host_cumsum,
    .reduce_axis = host_reduce_axis,
    .matmul = host_matmul,
    .permute = host_permute,
    .take = host_take,
    .take_along = host_take_along,
    .put_rows = host_put_rows,
    .add_rows = host_add_rows,
    .argsort = host_argsort,
    .search_sorted = host_search_sorted,
    .im2col = host_im2col,
    .fft = host_transform,
    .bincount = host_bincount,
    .diagonal = host_diagonal,
    .comm_setup = host_comm_setup,
    .comm_open = host_comm_open,
    .comm_close = host_comm_close,
    .broadcast = host_broadcast,
    .all_reduce = host_all_reduce,
    .reduce = host_reduce,
    .all_gather = host_all_gather,
    .reduce_scatter = host_reduce_scatter,
    .gather = host_gather,
    .scatter = host_scatter,
    .all_to_all = host_all_to_all,
    .all_to_all_v = host_all_to_all_v,
    .barrier = host_barrier,
    .p2p_begin = host_p2p_begin,
    .send = host_send,
    .recv = host_recv,
    .p2p_end = host_p2p_end,
    .symm_alloc = host_symm_alloc,
    .symm_barrier = host_symm_barrier,
    .events = host_events,
    .event_record = host_event_record,
    .event_elapsed = host_event_elapsed,
};
