/* SPDX-License-Identifier: Apache-2.0 */
/* What a candidate left behind. It shares this process's CUDA runtime (both link the shared library), so that its errors and the device
 * that it has selected show here. */
#include "runtime/cuda/device.h"

/* Answers to questions rather than failures: code that asks need not clear them. */
static bool is_harmless(cudaError_t status)
{
    return status == cudaSuccess || status == cudaErrorNotReady || status == cudaErrorPeerAccessAlreadyEnabled ||
           status == cudaErrorHostMemoryAlreadyRegistered;
}

enum rt_fault cuda_foreign_fault(struct rt_device *dev, struct pkb_error *err)
{
    int current = dev->ordinal;
    cudaError_t status = cudaGetLastError();
    if (is_harmless(status))
        status = cudaGetDevice(&current);
    if (status != cudaSuccess) {
        (void)cuda_error(dev, err, "%s: %s", cudaGetErrorName(status), cudaGetErrorString(status));
        return status == cudaErrorMemoryAllocation ? RT_FAULT_MEMORY : RT_FAULT_ERROR;
    }
    if (current == dev->ordinal)
        return RT_FAULT_NONE;
    (void)cudaSetDevice(dev->ordinal);
    (void)cuda_error(dev, err, "GPU %d was left selected", current);
    return RT_FAULT_DEVICE;
}

size_t cuda_cache_bytes(struct rt_device *dev)
{
    int bytes = 0;
    return cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, dev->ordinal) == cudaSuccess && bytes > 0 ? (size_t)bytes : 0;
}
