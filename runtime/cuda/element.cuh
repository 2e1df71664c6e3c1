/* SPDX-License-Identifier: Apache-2.0 */
/* Elements in memory and in arithmetic: T is float, double or int64_t. */
#ifndef PKB_RUNTIME_CUDA_ELEMENT_CUH
#define PKB_RUNTIME_CUDA_ELEMENT_CUH

#define PKB_NO_EXPORTS
#include <pkb/candidate.h>

#include "runtime/cuda/kernels.h"
#include "runtime/element.h"

#define KERNEL_THREADS 256

/* ---- conversions --------------------------------------------------------------------------------------------------- */

__device__ __forceinline__ void from_element(float x, float *t)
{
    *t = x;
}

__device__ __forceinline__ void from_element(float x, double *t)
{
    *t = (double)x;
}

__device__ __forceinline__ void from_element(float x, int64_t *t)
{
    *t = i64_of_f64((double)x);
}

__device__ __forceinline__ void from_element(double x, float *t)
{
    *t = (float)x;
}

__device__ __forceinline__ void from_element(double x, double *t)
{
    *t = x;
}

__device__ __forceinline__ void from_element(double x, int64_t *t)
{
    *t = i64_of_f64(x);
}

template <typename T> __device__ __forceinline__ void from_element(int64_t x, T *t)
{
    *t = (T)x;
}

/* An f32 from which a narrower type is rounded, without an error of its own. */
__device__ __forceinline__ float f32_for_narrow(float x)
{
    return x;
}

__device__ __forceinline__ float f32_for_narrow(double x)
{
    return odd_f32_of_f64(x);
}

__device__ __forceinline__ float f32_for_narrow(int64_t x)
{
    return odd_f32_of_i64(x);
}

__device__ __forceinline__ int64_t integer_of(float x)
{
    return i64_of_f64((double)x);
}

__device__ __forceinline__ int64_t integer_of(double x)
{
    return i64_of_f64(x);
}

__device__ __forceinline__ int64_t integer_of(int64_t x)
{
    return x;
}

/* ---- memory -------------------------------------------------------------------------------------------------------- */

template <typename T> __device__ __forceinline__ T load(const struct cuda_array &a, int64_t i)
{
    T t;
    switch (a.dtype) {
    case PKB_BF16:
        from_element(f32_of_bf16(((const uint16_t *)a.data)[i]), &t);
        break;
    case PKB_F16:
        from_element(f32_of_f16(((const uint16_t *)a.data)[i]), &t);
        break;
    case PKB_F32:
        from_element(((const float *)a.data)[i], &t);
        break;
    case PKB_F64:
        from_element(((const double *)a.data)[i], &t);
        break;
    case PKB_FP8_E4M3:
        from_element(f32_of_e4m3(((const uint8_t *)a.data)[i]), &t);
        break;
    case PKB_I32:
        from_element((int64_t)((const int32_t *)a.data)[i], &t);
        break;
    case PKB_I64:
        from_element(((const int64_t *)a.data)[i], &t);
        break;
    case PKB_U8:
        from_element((int64_t)((const uint8_t *)a.data)[i], &t);
        break;
    default: /* PKB_BOOL */
        from_element((int64_t)(((const uint8_t *)a.data)[i] != 0), &t);
        break;
    }
    return t;
}

template <typename T> __device__ __forceinline__ void store(const struct cuda_array &d, int64_t i, T x)
{
    switch (d.dtype) {
    case PKB_BF16:
        ((uint16_t *)d.data)[i] = bf16_of_f32(f32_for_narrow(x));
        break;
    case PKB_F16:
        ((uint16_t *)d.data)[i] = f16_of_f32(f32_for_narrow(x));
        break;
    case PKB_F32:
        ((float *)d.data)[i] = (float)x;
        break;
    case PKB_F64:
        ((double *)d.data)[i] = (double)x;
        break;
    case PKB_FP8_E4M3:
        ((uint8_t *)d.data)[i] = e4m3_of_f32(f32_for_narrow(x));
        break;
    case PKB_I32:
        ((int32_t *)d.data)[i] = i32_of_i64(integer_of(x));
        break;
    case PKB_I64:
        ((int64_t *)d.data)[i] = integer_of(x);
        break;
    case PKB_U8:
        ((uint8_t *)d.data)[i] = u8_of_i64(integer_of(x));
        break;
    default: /* PKB_BOOL */
        ((uint8_t *)d.data)[i] = x != 0;
        break;
    }
}

/* ---- groups of four ------------------------------------------------------------------------------------------------ */

/* Neighbours that are read and written together, when their place is a multiple of four and the array starts at a multiple of
 * four elements. */
#define GROUP 4

template <typename E> struct alignas(sizeof(E) * GROUP > 16 ? 16 : sizeof(E) * GROUP) group_of {
    E e[GROUP];
};

/* N groups; all are under way before the first is used. */
template <typename T, int N, typename E, typename F>
__device__ __forceinline__ void load_groups_as(const struct cuda_array &a, const int64_t at[N], T x[N][GROUP], F convert)
{
    struct group_of<E> g[N];
#pragma unroll
    for (int q = 0; q < N; q++)
        g[q] = *(const struct group_of<E> *)((const E *)a.data + at[q]);
#pragma unroll
    for (int q = 0; q < N; q++) {
#pragma unroll
        for (int k = 0; k < GROUP; k++)
            from_element(convert(g[q].e[k]), &x[q][k]);
    }
}

template <typename T, int N>
__device__ __forceinline__ void load_groups(const struct cuda_array &a, const int64_t at[N], T x[N][GROUP])
{
    switch (a.dtype) {
    case PKB_BF16:
        load_groups_as<T, N, uint16_t>(a, at, x, [](uint16_t e) { return f32_of_bf16(e); });
        break;
    case PKB_F16:
        load_groups_as<T, N, uint16_t>(a, at, x, [](uint16_t e) { return f32_of_f16(e); });
        break;
    case PKB_F32:
        load_groups_as<T, N, float>(a, at, x, [](float e) { return e; });
        break;
    case PKB_F64:
        load_groups_as<T, N, double>(a, at, x, [](double e) { return e; });
        break;
    case PKB_FP8_E4M3:
        load_groups_as<T, N, uint8_t>(a, at, x, [](uint8_t e) { return f32_of_e4m3(e); });
        break;
    case PKB_I32:
        load_groups_as<T, N, int32_t>(a, at, x, [](int32_t e) { return (int64_t)e; });
        break;
    case PKB_I64:
        load_groups_as<T, N, int64_t>(a, at, x, [](int64_t e) { return e; });
        break;
    case PKB_U8:
        load_groups_as<T, N, uint8_t>(a, at, x, [](uint8_t e) { return (int64_t)e; });
        break;
    default: /* PKB_BOOL */
        load_groups_as<T, N, uint8_t>(a, at, x, [](uint8_t e) { return (int64_t)(e != 0); });
        break;
    }
}

template <typename T, typename E, typename F>
__device__ __forceinline__ void store_group_as(const struct cuda_array &d, int64_t i, const T x[GROUP], F convert)
{
    struct group_of<E> g;
#pragma unroll
    for (int k = 0; k < GROUP; k++)
        g.e[k] = (E)convert(x[k]);
    *(struct group_of<E> *)((E *)d.data + i) = g;
}

template <typename T> __device__ __forceinline__ void store_group(const struct cuda_array &d, int64_t i, const T x[GROUP])
{
    switch (d.dtype) {
    case PKB_BF16:
        store_group_as<T, uint16_t>(d, i, x, [](T e) { return bf16_of_f32(f32_for_narrow(e)); });
        break;
    case PKB_F16:
        store_group_as<T, uint16_t>(d, i, x, [](T e) { return f16_of_f32(f32_for_narrow(e)); });
        break;
    case PKB_F32:
        store_group_as<T, float>(d, i, x, [](T e) { return (float)e; });
        break;
    case PKB_F64:
        store_group_as<T, double>(d, i, x, [](T e) { return (double)e; });
        break;
    case PKB_FP8_E4M3:
        store_group_as<T, uint8_t>(d, i, x, [](T e) { return e4m3_of_f32(f32_for_narrow(e)); });
        break;
    case PKB_I32:
        store_group_as<T, int32_t>(d, i, x, [](T e) { return i32_of_i64(integer_of(e)); });
        break;
    case PKB_I64:
        store_group_as<T, int64_t>(d, i, x, [](T e) { return integer_of(e); });
        break;
    case PKB_U8:
        store_group_as<T, uint8_t>(d, i, x, [](T e) { return u8_of_i64(integer_of(e)); });
        break;
    default: /* PKB_BOOL */
        store_group_as<T, uint8_t>(d, i, x, [](T e) { return e != 0; });
        break;
    }
}

/* Bytes of an element, as dtype_size has them. */
static inline size_t element_size(int dtype)
{
    switch (dtype) {
    case PKB_BF16:
    case PKB_F16:
        return 2;
    case PKB_F32:
    case PKB_I32:
        return 4;
    case PKB_F64:
    case PKB_I64:
        return 8;
    default:
        return 1;
    }
}

/* Whether an array starts where groups can. */
static inline bool starts_group(const struct cuda_array &a)
{
    size_t size = GROUP * element_size(a.dtype);
    return (uintptr_t)a.data % (size > 16 ? 16 : size) == 0;
}

/* ---- faults -------------------------------------------------------------------------------------------------------- */

__device__ __forceinline__ void raise_fault(struct cuda_fault *f, int kind, int64_t at, int64_t value, int64_t limit)
{
    if (atomicCAS(&f->kind, FAULT_NONE, kind) != FAULT_NONE)
        return;
    f->at = at;
    f->value = value;
    f->limit = limit;
}

/* ---- launches ------------------------------------------------------------------------------------------------------ */

/* Blocks for n elements in a loop whose step is the whole grid. */
static inline unsigned grid_for(int64_t n, int64_t per_block)
{
    const int64_t most = 65536;
    int64_t blocks = (n + per_block - 1) / per_block;
    return (unsigned)(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

__device__ __forceinline__ int64_t first_element(void)
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ int64_t element_step(void)
{
    return (int64_t)gridDim.x * blockDim.x;
}

/* Calls `launch<W>(arguments)` for the W that holds an element of `size` bytes (1, 2, 4, 8 or more). */
#define FOR_WORD(size, launch)                                                                                                   \
    do {                                                                                                                         \
        if ((size) == 1) {                                                                                                       \
            typedef uint8_t W;                                                                                                   \
            launch;                                                                                                              \
        } else if ((size) == 2) {                                                                                                \
            typedef uint16_t W;                                                                                                  \
            launch;                                                                                                              \
        } else if ((size) == 4) {                                                                                                \
            typedef uint32_t W;                                                                                                  \
            launch;                                                                                                              \
        } else {                                                                                                                 \
            typedef uint64_t W;                                                                                                  \
            launch;                                                                                                              \
        }                                                                                                                        \
    } while (0)

/* Calls `launch<T>(arguments)` for the T that a cuda_arithmetic names. */
#define FOR_ARITHMETIC(type, launch)                                                                                             \
    do {                                                                                                                         \
        if ((type) == CUDA_F32) {                                                                                                \
            typedef float T;                                                                                                     \
            launch;                                                                                                              \
        } else if ((type) == CUDA_F64) {                                                                                         \
            typedef double T;                                                                                                    \
            launch;                                                                                                              \
        } else {                                                                                                                 \
            typedef int64_t T;                                                                                                   \
            launch;                                                                                                              \
        }                                                                                                                        \
    } while (0)

#endif
