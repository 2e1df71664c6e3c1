/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operations. Compiled without contraction of a * b + c, so that f32 results are those of the host. */
#include "runtime/cuda/element.cuh"
#include "runtime/cuda/walk.cuh"
#include "runtime/runtime.h"

/* ---- arithmetic ---------------------------------------------------------------------------------------------------- */

/* NaN wins, on either side. */
template <typename T> __device__ __forceinline__ T lesser(T x, T y)
{
    return x < y || x != x ? x : y;
}

template <typename T> __device__ __forceinline__ T greater(T x, T y)
{
    return x > y || x != x ? x : y;
}

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
    default:
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
    default: /* RT_FLOORDIV */
        return floor(x / y);
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
    default: /* RT_DIV, RT_FLOORDIV */
        *bad = y == 0;
        return y == 0 ? 0 : divide(x, y, op == RT_FLOORDIV);
    }
}

/* ---- kernels ------------------------------------------------------------------------------------------------------- */

/* Every thread computes a group of four neighbours, read and written at once where `whole` says that arrays start right; the last
 * group may be shorter. */
template <typename T>
__device__ __forceinline__ void load_up_to(const struct cuda_array &a, int64_t i, int64_t n, bool whole, T x[GROUP])
{
    if (whole && i + GROUP <= n) {
        load_group(a, i, x);
        return;
    }
#pragma unroll
    for (int k = 0; k < GROUP; k++)
        x[k] = i + k < n ? load<T>(a, i + k) : (T)1;
}

template <typename T>
__device__ __forceinline__ void store_up_to(const struct cuda_array &d, int64_t i, int64_t n, bool whole, const T x[GROUP])
{
    if (whole && i + GROUP <= n) {
        store_group(d, i, x);
        return;
    }
#pragma unroll
    for (int k = 0; k < GROUP; k++) {
        if (i + k < n)
            store<T>(d, i + k, x[k]);
    }
}

template <typename T> __global__ void unary_kernel(int op, struct cuda_array dst, struct cuda_array a, int64_t n, bool whole)
{
    for (int64_t i = GROUP * first_element(); i < n; i += GROUP * element_step()) {
        T x[GROUP];
        load_up_to(a, i, n, whole, x);
#pragma unroll
        for (int k = 0; k < GROUP; k++)
            x[k] = unary<T>(op, x[k]);
        store_up_to(dst, i, n, whole, x);
    }
}

template <typename T>
__global__ void binary_scalar_kernel(int op, struct cuda_array dst, struct cuda_array a, T b, int64_t n, bool whole)
{
    bool bad; /* the host has checked the divisor */
    for (int64_t i = GROUP * first_element(); i < n; i += GROUP * element_step()) {
        T x[GROUP];
        load_up_to(a, i, n, whole, x);
#pragma unroll
        for (int k = 0; k < GROUP; k++)
            x[k] = binary<T>(op, x[k], b, &bad);
        store_up_to(dst, i, n, whole, x);
    }
}

/* A group of an operand: neighbours (stride 1), or one element for all (stride 0). */
template <typename T>
__device__ __forceinline__ void load_operand(const struct cuda_array &a, int64_t at, int64_t stride, T x[GROUP])
{
    if (stride == 1) {
        load_group(a, at, x);
        return;
    }
    x[0] = load<T>(a, at);
#pragma unroll
    for (int k = 1; k < GROUP; k++)
        x[k] = x[0];
}

/* Groups lie within one row of the innermost dimension. */
template <typename T>
__global__ void binary_group_kernel(int op, struct cuda_array dst, struct cuda_array a, struct cuda_array b,
                                    struct cuda_walk walk, struct cuda_fault *fault)
{
    int last = walk.ndim - 1;
    for (int64_t i = GROUP * first_element(); i < walk.n; i += GROUP * element_step()) {
        T x[GROUP], y[GROUP];
        int64_t at_a, at_b;
        places(walk, i, &at_a, &at_b);
        load_operand(a, at_a, walk.a[last], x);
        load_operand(b, at_b, walk.b[last], y);
#pragma unroll
        for (int k = 0; k < GROUP; k++) {
            bool bad = false;
            x[k] = binary<T>(op, x[k], y[k], &bad);
            if (bad)
                raise_fault(fault, FAULT_DIVISION, at_b + k * walk.b[last], 0, 0);
        }
        store_group(dst, i, x);
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
    unsigned grid = grid_for(n, GROUP * KERNEL_THREADS);
    bool whole = starts_group(dst) && starts_group(a);
    FOR_ARITHMETIC(type, (unary_kernel<T><<<grid, KERNEL_THREADS, 0, stream>>>(op, dst, a, n, whole)));
    return cudaGetLastError();
}

cudaError_t kernel_binary_scalar(enum cuda_arithmetic type, int op, struct cuda_array dst, struct cuda_array a, double b,
                                 int64_t n, cudaStream_t stream)
{
    unsigned grid = grid_for(n, GROUP * KERNEL_THREADS);
    bool whole = starts_group(dst) && starts_group(a);
    FOR_ARITHMETIC(type, (binary_scalar_kernel<T><<<grid, KERNEL_THREADS, 0, stream>>>(op, dst, a, (T)b, n, whole)));
    return cudaGetLastError();
}

/* Whether an operand's groups of neighbours start where groups can, or it stands still within a row. */
static bool in_groups(const struct cuda_array &x, int ndim, const int64_t *strides)
{
    if (strides[ndim - 1] == 0)
        return true;
    for (int i = 0; i < ndim - 1; i++) {
        if (strides[i] % GROUP != 0)
            return false;
    }
    return strides[ndim - 1] == 1 && starts_group(x);
}

cudaError_t kernel_binary(enum cuda_arithmetic type, int op, struct cuda_array dst, struct cuda_array a, struct cuda_array b,
                          const struct cuda_walk *walk, struct cuda_fault *fault, cudaStream_t stream)
{
    int ndim = walk->ndim;
    bool groups = ndim > 0 && walk->shape[ndim - 1] % GROUP == 0 && starts_group(dst) && in_groups(a, ndim, walk->a) &&
                  in_groups(b, ndim, walk->b);
    unsigned grid = grid_for(walk->n, (groups ? GROUP : 1) * KERNEL_THREADS);
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
