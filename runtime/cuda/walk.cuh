/* SPDX-License-Identifier: Apache-2.0 */
/* From the number of an element to the places of operands with strides. */
#ifndef PKB_RUNTIME_CUDA_WALK_CUH
#define PKB_RUNTIME_CUDA_WALK_CUH

#include "runtime/cuda/kernels.h"

/* I is uint32_t for up to 2^32 - 1 elements: divisions of 64-bit integers are slow. */
template <typename I> __device__ __forceinline__ void place(const struct cuda_walk &w, I i, int64_t *a, int64_t *b)
{
    *a = *b = 0;
    for (int d = w.ndim - 1; d > 0; d--) {
        I extent = (I)w.shape[d], rest = i / extent;
        int64_t index = (int64_t)(i - rest * extent);
        *a += index * w.a[d];
        *b += index * w.b[d];
        i = rest;
    }
    *a += (int64_t)i * w.a[0];
    *b += (int64_t)i * w.b[0];
}

__device__ __forceinline__ void places(const struct cuda_walk &w, int64_t i, int64_t *a, int64_t *b)
{
    if (w.n <= (int64_t)UINT32_MAX)
        place<uint32_t>(w, (uint32_t)i, a, b);
    else
        place<uint64_t>(w, (uint64_t)i, a, b);
}

#endif
