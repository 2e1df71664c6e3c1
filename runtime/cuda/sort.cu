/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting: keys become 64-bit integers in the same order, so that one sort serves all element types. */
#include <cub/device/device_radix_sort.cuh>

#include "runtime/cuda/element.cuh"

/* -0 equals 0, NaN is last. */
__device__ __forceinline__ int64_t sortable(double x)
{
    if (isnan(x))
        return INT64_MAX;
    int64_t bits = __double_as_longlong(x + 0.0);
    return bits < 0 ? INT64_MIN - bits : bits;
}

__global__ void prepare_kernel(int64_t *key, int64_t *position, struct cuda_array keys, int64_t n)
{
    bool integer = keys.dtype == PKB_I32 || keys.dtype == PKB_I64 || keys.dtype == PKB_U8 || keys.dtype == PKB_BOOL;
    for (int64_t i = first_element(); i < n; i += element_step()) {
        key[i] = integer ? load<int64_t>(keys, i) : sortable(load<double>(keys, i));
        position[i] = i;
    }
}

cudaError_t kernel_argsort(int64_t *order, struct cuda_array keys, int n, void *scratch, size_t *bytes, cudaStream_t stream)
{
    int64_t *from = (int64_t *)scratch, *to = from + n, *position = to + n;
    size_t lists = 3 * (size_t)n * sizeof(int64_t), rest = 0;
    cudaError_t rc = cub::DeviceRadixSort::SortPairs(NULL, rest, (const int64_t *)from, to, (const int64_t *)position, order, n,
                                                     0, 64, stream);
    if (rc != cudaSuccess || !scratch) {
        *bytes = (lists + 255) / 256 * 256 + rest;
        return rc;
    }
    prepare_kernel<<<grid_for(n, KERNEL_THREADS), KERNEL_THREADS, 0, stream>>>(from, position, keys, n);
    rc = cudaGetLastError();
    if (rc != cudaSuccess)
        return rc;
    return cub::DeviceRadixSort::SortPairs((char *)scratch + (lists + 255) / 256 * 256, rest, (const int64_t *)from, to,
                                           (const int64_t *)position, order, n, 0, 64, stream);
}
