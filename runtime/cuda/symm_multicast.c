/* SPDX-License-Identifier: Apache-2.0 */
/* NVLink multicast: an address that stores to all ranks' parts of a block at once. Made only where PKB_NVLS=1 allows it and every
 * rank's GPU has it. */
#include <stdlib.h>
#include <unistd.h>

#include "runtime/agree.h"
#include "runtime/cuda/symm.h"

bool symm_can_multicast(const struct rt_device *dev)
{
    return dev->settings.multicast && cuda_driver_attribute(dev, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED);
}

int symm_multicast_granularity(struct rt_device *dev, size_t *unit, struct pkb_error *err)
{
    CUmulticastObjectProp prop = {.numDevices = (unsigned)dev->options->world,
                                  .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
    prop.size = *unit;
    return DRIVER_FAILS(dev, cuMulticastGetGranularity, err, unit, &prop, CU_MULTICAST_GRANULARITY_RECOMMENDED) ? -1 : 0;
}

/* On rank 0: the object and a descriptor of it. */
static int create(struct rt_device *dev, struct symm_block *b, int *fd, struct pkb_error *err)
{
    CUmulticastObjectProp prop = {
        .numDevices = (unsigned)dev->options->world, .size = b->size, .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
    if (DRIVER_FAILS(dev, cuMulticastCreate, err, &b->multicast.handle, &prop))
        return -1;
    return DRIVER_FAILS(dev, cuMemExportToShareableHandle, err, fd, b->multicast.handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                        0)
               ? -1
               : 0;
}

/* The object of rank 0 on the others. */
static int import(struct rt_device *dev, struct symm_block *b, int fd, struct pkb_error *err)
{
    void *from = (void *)(uintptr_t)fd; /* NOLINT(performance-no-int-to-ptr): so the driver takes descriptors */
    if (fd < 0)
        return pkb_error_set(err, "rank 0 has sent no multicast object");
    return DRIVER_FAILS(dev, cuMemImportFromShareableHandle, err, &b->multicast.handle, from,
                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
               ? -1
               : 0;
}

static int share(struct rt_device *dev, struct symm_block *b, struct pkb_error *err)
{
    int world = dev->options->world, fd = -1;
    bool first = dev->options->rank == 0;
    struct pkb_error own = {""};
    int *fds = malloc((size_t)world * sizeof(*fds));
    int rc = fds ? 0 : pkb_error_set(&own, "out of memory");
    if (rc == 0 && first)
        rc = create(dev, b, &fd, &own);
    rc = rt_agree(dev->options, b->bytes, rc, &own, err);
    if (rc == 0) {
        rc = symm_swap_fds(dev, fd, fds, err);
        if (rc == 0 && !first)
            rc = import(dev, b, fds[0], err);
        symm_close_fds(fds, world);
    } else {
        free(fds);
    }
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

/* All devices are added before any memory is bound. */
static int join(struct rt_device *dev, struct symm_block *b, struct pkb_error *err)
{
    struct pkb_error own = {""};
    int rc = cuda_driver_check(dev, dev->driver->cuMulticastAddDevice(b->multicast.handle, dev->ordinal), "cuMulticastAddDevice",
                               &own);
    if (rt_agree(dev->options, b->bytes, rc, &own, err))
        return -1;
    rc = cuda_driver_check(
        dev, dev->driver->cuMulticastBindMem(b->multicast.handle, 0, b->maps[dev->options->rank].handle, 0, b->size, 0),
        "cuMulticastBindMem", &own);
    if (rc == 0)
        rc = symm_map(dev, &b->multicast, b->size, &own);
    return rt_agree(dev->options, b->bytes, rc, &own, err);
}

int symm_add_multicast(struct rt_device *dev, struct symm_block *b, struct pkb_error *err)
{
    struct pkb_error own = {""};
    int rc = share(dev, b, &own);
    if (rt_agree(dev->options, b->bytes, rc, &own, err))
        return -1;
    return join(dev, b, err);
}
