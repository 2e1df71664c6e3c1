/* SPDX-License-Identifier: Apache-2.0 */
/* From the number of an element to the places of operands with strides. */
#ifndef PKB_RUNTIME_CUDA_WALK_CUH
#define PKB_RUNTIME_CUDA_WALK_CUH

#include "runtime/cuda/element.cuh"
#include "runtime/cuda/kernels.h"

/* I is uint32_t for up to 2^32 - 1 elements: divisions of 64-bit integers are slow. */
template <typename I> __device__ __forceinline__ void place(const struct cuda_walk &w, I i, int64_t *a, int64_t *b, int64_t *c)
{
    *a = *b = *c = 0;
    for (int d = w.ndim - 1; d > 0; d--) {
        I extent = (I)w.shape[d], rest = i / extent;
        int64_t index = (int64_t)(i - rest * extent);
        *a += index * w.a[d];
        *b += index * w.b[d];
        *c += index * w.c[d];
        i = rest;
    }
    *a += (int64_t)i * w.a[0];
    *b += (int64_t)i * w.b[0];
    *c += (int64_t)i * w.c[0];
}

__device__ __forceinline__ void places(const struct cuda_walk &w, int64_t i, int64_t *a, int64_t *b, int64_t *c)
{
    if (w.n <= (int64_t)UINT32_MAX)
        place<uint32_t>(w, (uint32_t)i, a, b, c);
    else
        place<uint64_t>(w, (uint64_t)i, a, b, c);
}

__device__ __forceinline__ void places(const struct cuda_walk &w, int64_t i, int64_t *a, int64_t *b)
{
    int64_t unused;
    places(w, i, a, b, &unused);
}

/* i / d for numbers that are not negative, d > 0. */
__device__ __forceinline__ int64_t quotient(int64_t i, int64_t d)
{
    return ((i | d) >> 32) == 0 ? (int64_t)((uint32_t)i / (uint32_t)d) : i / d;
}

/* Whether an operand's groups of neighbours start where groups can, or it stands still within a row. */
static inline bool in_groups(const struct cuda_array &x, int ndim, const int64_t *strides)
{
    if (strides[ndim - 1] == 0)
        return true;
    for (int i = 0; i < ndim - 1; i++) {
        if (strides[i] % GROUP != 0)
            return false;
    }
    return strides[ndim - 1] == 1 && starts_group(x);
}

#endif
