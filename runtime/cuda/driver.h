/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the CUDA driver that the runtime library does not offer. Looked up at run time: machines that build have no driver. */
#ifndef PKB_RUNTIME_CUDA_DRIVER_H
#define PKB_RUNTIME_CUDA_DRIVER_H

#include <cuda.h>

#include "runtime/cuda/device.h"

#define CUDA_DRIVER_FUNCTIONS(X)                                                                                                 \
    X(cuGetErrorString)                                                                                                          \
    X(cuDeviceGetAttribute)                                                                                                      \
    X(cuMemGetAllocationGranularity)                                                                                             \
    X(cuMemCreate)                                                                                                               \
    X(cuMemRelease)                                                                                                              \
    X(cuMemAddressReserve)                                                                                                       \
    X(cuMemAddressFree)                                                                                                          \
    X(cuMemMap)                                                                                                                  \
    X(cuMemUnmap)                                                                                                                \
    X(cuMemSetAccess)                                                                                                            \
    X(cuMemExportToShareableHandle)                                                                                              \
    X(cuMemImportFromShareableHandle)                                                                                            \
    X(cuMulticastCreate)                                                                                                         \
    X(cuMulticastAddDevice)                                                                                                      \
    X(cuMulticastBindMem)                                                                                                        \
    X(cuMulticastGetGranularity)

struct cuda_driver {
#define CUDA_DRIVER_MEMBER(name) __typeof__(name) *name;
    CUDA_DRIVER_FUNCTIONS(CUDA_DRIVER_MEMBER)
#undef CUDA_DRIVER_MEMBER
};

/* Sets dev->driver, unless it is set. 0 or -1. */
int cuda_driver_load(struct rt_device *dev, struct pkb_error *err);

/* As cuda_check, for the driver's functions. */
int cuda_driver_check(const struct rt_device *dev, CUresult status, const char *call, struct pkb_error *err);
#define DRIVER_FAILS(dev, function, err, ...)                                                                                    \
    (cuda_driver_check((dev), (dev)->driver->function(__VA_ARGS__), #function, (err)) != 0)

/* An attribute of the device, 0 when it is unknown. */
int cuda_driver_attribute(const struct rt_device *dev, CUdevice_attribute attribute);

#endif
