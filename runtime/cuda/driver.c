/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static int look_up(void *library, const char *name, void *function, struct pkb_error *err)
{
    void *address = dlsym(library, name);
    if (!address)
        return pkb_error_set(err, "the CUDA driver has no %s", name);
    memcpy(function, &address, sizeof(address));
    return 0;
}

int cuda_driver_load(struct rt_device *dev, struct pkb_error *err)
{
    if (dev->driver)
        return 0;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); /* the runtime library has it loaded; it stays */
    if (!library)
        return pkb_error_set(err, "%s", dlerror());
    struct cuda_driver *d = calloc(1, sizeof(*d));
    if (!d)
        return pkb_error_set(err, "out of memory");
#define CUDA_DRIVER_LOOK_UP(name) look_up(library, #name, &d->name, err) ||
    if (CUDA_DRIVER_FUNCTIONS(CUDA_DRIVER_LOOK_UP) 0) {
        free(d);
        return -1;
    }
    dev->driver = d;
    return 0;
}

int cuda_driver_check(const struct rt_device *dev, CUresult status, const char *call, struct pkb_error *err)
{
    const char *text = NULL;
    if (status == CUDA_SUCCESS)
        return 0;
    if (dev->driver->cuGetErrorString(status, &text) != CUDA_SUCCESS || !text)
        text = "unknown error";
    return cuda_error(dev, err, "%s: %s", call, text);
}

int cuda_driver_attribute(const struct rt_device *dev, CUdevice_attribute attribute)
{
    int value = 0;
    return dev->driver->cuDeviceGetAttribute(&value, attribute, dev->ordinal) == CUDA_SUCCESS ? value : 0;
}
