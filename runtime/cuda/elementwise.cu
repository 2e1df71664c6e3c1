/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operations. Compiled without contraction of a * b + c, so that f32 results are those of the host. */
#include "runtime/cuda/arithmetic.cuh"
#include "runtime/cuda/element.cuh"
#include "runtime/cuda/walk.cuh"
#include "runtime/runtime.h"

/* ---- arithmetic ---------------------------------------------------------------------------------------------------- */

template <typename T> __device__ __forceinline__ T unary(int op, T x)
{
    switch (op) {
    case RT_NEG:
        return -x;
    case RT_ABS:
        return fabs(x);
    case RT_EXP:
        return exp(x);
    case RT_LOG:
        return log(x);
    case RT_SQRT:
        return sqrt(x);
    case RT_RSQRT:
        return 1 / sqrt(x);
    case RT_SQUARE:
        return x * x;
    case RT_SIGMOID:
        return 1 / (1 + exp(-x));
    case RT_SOFTPLUS:
        return greater(x, (T)0) + log1p(exp(-fabs(x)));
    case RT_SILU:
        return x / (1 + exp(-x));
    case RT_FLOOR:
        return floor(x);
    case RT_CEIL:
        return ceil(x);
    case RT_RINT:
        return rint(x);
    default: /* KERNEL_COPY */
        return x;
    }
}

/* Integers wrap around. */
template <> __device__ __forceinline__ int64_t unary<int64_t>(int op, int64_t x)
{
    switch (op) {
    case RT_NEG:
        return (int64_t)(0 - (uint64_t)x);
    case RT_ABS:
        return x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
    case RT_SQUARE:
        return (int64_t)((uint64_t)x * (uint64_t)x);
    default:
        return x;
    }
}

template <typename T> __device__ __forceinline__ T compare(int op, T x, T y)
{
    switch (op) {
    case RT_EQ:
        return x == y;
    case RT_NE:
        return x != y;
    case RT_LT:
        return x < y;
    case RT_LE:
        return x <= y;
    case RT_GT:
        return x > y;
    default: /* RT_GE */
        return x >= y;
    }
}

template <typename T> __device__ __forceinline__ T binary(int op, T x, T y, bool *bad)
{
    (void)bad;
    switch (op) {
    case RT_ADD:
        return x + y;
    case RT_SUB:
        return x - y;
    case RT_MUL:
        return x * y;
    case RT_DIV:
        return x / y;
    case RT_MIN:
        return lesser(x, y);
    case RT_MAX:
        return greater(x, y);
    case RT_FLOORDIV:
        return floor(x / y);
    case RT_MOD:
        return x - floor(x / y) * y;
    default:
        return compare(op, x, y);
    }
}

__device__ __forceinline__ int64_t divide(int64_t x, int64_t y, bool towards_minus_infinity)
{
    if (y == -1)
        return (int64_t)(0 - (uint64_t)x);
    int64_t q = x / y;
    return towards_minus_infinity && x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
}

template <> __device__ __forceinline__ int64_t binary<int64_t>(int op, int64_t x, int64_t y, bool *bad)
{
    switch (op) {
    case RT_ADD:
        return (int64_t)((uint64_t)x + (uint64_t)y);
    case RT_SUB:
        return (int64_t)((uint64_t)x - (uint64_t)y);
    case RT_MUL:
        return (int64_t)((uint64_t)x * (uint64_t)y);
    case RT_MIN:
        return lesser(x, y);
    case RT_MAX:
        return greater(x, y);
    case RT_DIV:
    case RT_FLOORDIV:
        *bad = y == 0;
        return y == 0 ? 0 : divide(x, y, op == RT_FLOORDIV);
    case RT_MOD:
        *bad = y == 0;
        return y == 0 ? 0 : (int64_t)((uint64_t)x - (uint64_t)divide(x, y, true) * (uint64_t)y);
    default:
        return compare(op, x, y);
    }
}

/* ---- kernels ------------------------------------------------------------------------------------------------------- */

/* A thread computes BATCH groups of neighbours, a block's width apart. Where arrays do not start right (`whole` is false), and at the
 * end, it goes element by element. */
#define BATCH 2
#define STEP (GROUP * KERNEL_THREADS)

__device__ __forceinline__ int64_t batch_place(int64_t i, int q)
{
    return i + q * STEP;
}

__device__ __forceinline__ int64_t first_batch(void)
{
    return (int64_t)blockIdx.x * (BATCH * STEP) + GROUP * threadIdx.x;
}

/* dst[i] = function(a[i]) */
template <typename T, typename F>
__device__ __forceinline__ void map(const struct cuda_array &dst, const struct cuda_array &a, int64_t n, bool whole, F function)
{
    for (int64_t i = first_batch(); i < n; i += (int64_t)gridDim.x * (BATCH * STEP)) {
        const int64_t at[BATCH] = {i, batch_place(i, 1)};
        T x[BATCH][GROUP];
        if (!whole || at[BATCH - 1] + GROUP > n) {
#pragma unroll 1
            for (int k = 0; k < BATCH * GROUP; k++) {
                int64_t e = batch_place(i, k / GROUP) + k % GROUP;
                if (e < n)
                    store<T>(dst, e, function(load<T>(a, e)));
            }
            continue;
        }
        load_groups<T, BATCH>(a, at, x);
#pragma unroll
        for (int k = 0; k < BATCH * GROUP; k++)
            x[k / GROUP][k % GROUP] = function(x[k / GROUP][k % GROUP]);
#pragma unroll
        for (int q = 0; q < BATCH; q++)
            store_group(dst, at[q], x[q]);
    }
}

template <typename T> __global__ void unary_kernel(int op, struct cuda_array dst, struct cuda_array a, int64_t n, bool whole)
{
    map<T>(dst, a, n, whole, [op](T x) { return unary<T>(op, x); });
}

template <typename T>
__global__ void binary_scalar_kernel(int op, struct cuda_array dst, struct cuda_array a, T b, int64_t n, bool whole)
{
    bool bad; /* the host has checked the divisor */
    map<T>(dst, a, n, whole, [op, b, &bad](T x) { return binary<T>(op, x, b, &bad); });
}

/* Groups of an operand: neighbours (stride 1), or one element for each group (stride 0). */
template <typename T>
__device__ __forceinline__ void load_operand(const struct cuda_array &a, const int64_t at[BATCH], int64_t stride,
                                             T x[BATCH][GROUP])
{
    if (stride == 1) {
        load_groups<T, BATCH>(a, at, x);
        return;
    }
#pragma unroll
    for (int q = 0; q < BATCH; q++) {
        T one = load<T>(a, at[q]);
#pragma unroll
        for (int k = 0; k < GROUP; k++)
            x[q][k] = one;
    }
}

/* Groups lie within one row of the innermost dimension. A thread computes BATCH of them; the places of those behind the end are that of
 * the last one. */
template <typename T>
__global__ void binary_group_kernel(int op, struct cuda_array dst, struct cuda_array a, struct cuda_array b,
                                    struct cuda_walk walk, struct cuda_fault *fault)
{
    int last = walk.ndim - 1;
    for (int64_t i = first_batch(); i < walk.n; i += (int64_t)gridDim.x * (BATCH * STEP)) {
        T x[BATCH][GROUP], y[BATCH][GROUP];
        int64_t at_a[BATCH], at_b[BATCH];
#pragma unroll
        for (int q = 0; q < BATCH; q++)
            places(walk, batch_place(i, q) < walk.n ? batch_place(i, q) : walk.n - GROUP, &at_a[q], &at_b[q]);
        load_operand<T>(a, at_a, walk.a[last], x);
        load_operand<T>(b, at_b, walk.b[last], y);
#pragma unroll
        for (int k = 0; k < BATCH * GROUP; k++) {
            bool bad = false;
            int q = k / GROUP, e = k % GROUP;
            x[q][e] = binary<T>(op, x[q][e], y[q][e], &bad);
            if (bad)
                raise_fault(fault, FAULT_DIVISION, at_b[q] + e * walk.b[last], 0, 0);
        }
#pragma unroll
        for (int q = 0; q < BATCH; q++) {
            if (batch_place(i, q) < walk.n)
                store_group(dst, batch_place(i, q), x[q]);
        }
    }
}

template <typename T>
__global__ void binary_kernel(int op, struct cuda_array dst, struct cuda_array a, struct cuda_array b, struct cuda_walk walk,
                              struct cuda_fault *fault)
{
    for (int64_t i = first_element(); i < walk.n; i += element_step()) {
        int64_t x, y;
        bool bad = false;
        places(walk, i, &x, &y);
        store<T>(dst, i, binary<T>(op, load<T>(a, x), load<T>(b, y), &bad));
        if (bad)
            raise_fault(fault, FAULT_DIVISION, y, 0, 0);
    }
}

template <typename T> __global__ void fill_kernel(T *dst, T value, int64_t n)
{
    for (int64_t i = first_element(); i < n; i += element_step())
        dst[i] = value;
}

/* ---- launches ------------------------------------------------------------------------------------------------------ */

cudaError_t kernel_unary(enum cuda_arithmetic type, int op, struct cuda_array dst, struct cuda_array a, int64_t n,
                         cudaStream_t stream)
{
    unsigned grid = grid_for(n, BATCH * STEP);
    bool whole = starts_group(dst) && starts_group(a);
    FOR_ARITHMETIC(type, (unary_kernel<T><<<grid, KERNEL_THREADS, 0, stream>>>(op, dst, a, n, whole)));
    return cudaGetLastError();
}

cudaError_t kernel_binary_scalar(enum cuda_arithmetic type, int op, struct cuda_array dst, struct cuda_array a, double b,
                                 int64_t n, cudaStream_t stream)
{
    unsigned grid = grid_for(n, BATCH * STEP);
    bool whole = starts_group(dst) && starts_group(a);
    FOR_ARITHMETIC(type, (binary_scalar_kernel<T><<<grid, KERNEL_THREADS, 0, stream>>>(op, dst, a, (T)b, n, whole)));
    return cudaGetLastError();
}

cudaError_t kernel_binary(enum cuda_arithmetic type, int op, struct cuda_array dst, struct cuda_array a, struct cuda_array b,
                          const struct cuda_walk *walk, struct cuda_fault *fault, cudaStream_t stream)
{
    int ndim = walk->ndim;
    bool groups = ndim > 0 && walk->shape[ndim - 1] % GROUP == 0 && starts_group(dst) && in_groups(a, ndim, walk->a) &&
                  in_groups(b, ndim, walk->b);
    unsigned grid = grid_for(walk->n, groups ? BATCH * STEP : KERNEL_THREADS);
    if (groups)
        FOR_ARITHMETIC(type, (binary_group_kernel<T><<<grid, KERNEL_THREADS, 0, stream>>>(op, dst, a, b, *walk, fault)));
    else
        FOR_ARITHMETIC(type, (binary_kernel<T><<<grid, KERNEL_THREADS, 0, stream>>>(op, dst, a, b, *walk, fault)));
    return cudaGetLastError();
}

cudaError_t kernel_fill(void *dst, uint64_t bits, int size, int64_t n, cudaStream_t stream)
{
    unsigned grid = grid_for(n, KERNEL_THREADS);
    switch (size) {
    case 1:
        return cudaMemsetAsync(dst, (int)(uint8_t)bits, (size_t)n, stream);
    case 2:
        fill_kernel<uint16_t><<<grid, KERNEL_THREADS, 0, stream>>>((uint16_t *)dst, (uint16_t)bits, n);
        break;
    case 4:
        fill_kernel<uint32_t><<<grid, KERNEL_THREADS, 0, stream>>>((uint32_t *)dst, (uint32_t)bits, n);
        break;
    default:
        fill_kernel<uint64_t><<<grid, KERNEL_THREADS, 0, stream>>>((uint64_t *)dst, bits, n);
        break;
    }
    return cudaGetLastError();
}
