/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of float, double and int64_t that several kernels share. Integers wrap around, NaN wins in minima and maxima. */
#ifndef PKB_RUNTIME_CUDA_ARITHMETIC_CUH
#define PKB_RUNTIME_CUDA_ARITHMETIC_CUH

#include <math_constants.h>
#include <stdint.h>

#include "runtime/cuda/kernels.h"

template <typename T> __device__ __forceinline__ T lesser(T x, T y)
{
    return x < y || x != x ? x : y;
}

template <typename T> __device__ __forceinline__ T greater(T x, T y)
{
    return x > y || x != x ? x : y;
}

__device__ __forceinline__ float plus(float x, float y)
{
    return x + y;
}

__device__ __forceinline__ double plus(double x, double y)
{
    return x + y;
}

__device__ __forceinline__ int64_t plus(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x + (uint64_t)y);
}

template <typename T> __device__ __forceinline__ T lowest(void);

template <> __device__ __forceinline__ float lowest<float>(void)
{
    return -CUDART_INF_F;
}

template <> __device__ __forceinline__ double lowest<double>(void)
{
    return -CUDART_INF;
}

template <> __device__ __forceinline__ int64_t lowest<int64_t>(void)
{
    return INT64_MIN;
}

/* First entry of segment s of `length` entries. */
__device__ __forceinline__ int64_t segment_start(const struct cuda_reduction &r, int64_t s)
{
    int64_t each = (r.length + r.segments - 1) / r.segments, start = s * each;
    return start < r.length ? start : r.length;
}

#endif
