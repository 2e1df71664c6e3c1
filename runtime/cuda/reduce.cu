/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions along an axis. Rows that lie together in memory are reduced by a block each, columns by a tile of threads. */
#include "runtime/cuda/arithmetic.cuh"
#include "runtime/cuda/element.cuh"
#include "runtime/runtime.h"

#define TILE_COLUMNS 32
#define TILE_ROWS (KERNEL_THREADS / TILE_COLUMNS)

template <typename T> __device__ __forceinline__ T highest(void)
{
    return -lowest<T>();
}

template <> __device__ __forceinline__ int64_t highest<int64_t>(void)
{
    return INT64_MAX;
}

template <typename T> __device__ __forceinline__ T neutral(int op)
{
    switch (op) {
    case RT_SUM:
        return 0;
    case RT_PROD:
        return 1;
    case RT_AMIN:
        return highest<T>();
    default: /* RT_AMAX */
        return lowest<T>();
    }
}

__device__ __forceinline__ float times(float x, float y)
{
    return x * y;
}

__device__ __forceinline__ double times(double x, double y)
{
    return x * y;
}

__device__ __forceinline__ int64_t times(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x * (uint64_t)y);
}

/* NaN wins. */
template <typename T> __device__ __forceinline__ T join(int op, T x, T y)
{
    switch (op) {
    case RT_SUM:
        return plus(x, y);
    case RT_PROD:
        return times(x, y);
    case RT_AMIN:
        return lesser(x, y);
    default: /* RT_AMAX */
        return greater(x, y);
    }
}

/* The partial results of all threads of a tile row or block, by halves: x of thread 0 is the result. */
template <typename T> __device__ __forceinline__ T join_block(int op, T x, T *shared, int lane, int lanes, int pitch)
{
    for (int half = lanes / 2; half > 0; half /= 2) {
        __syncthreads();
        shared[lane * pitch] = x;
        __syncthreads();
        if (lane < half)
            x = join(op, x, shared[(lane + half) * pitch]);
    }
    return x;
}

/* Two rows or parts of rows of groups, `step` elements apart, joined; the second one only when it is there. */
template <typename T>
__device__ __forceinline__ void load_pair(int op, const struct cuda_array &a, int64_t at, int64_t step, bool both, T x[GROUP])
{
    const int64_t places[2] = {at, both ? at + step : at};
    T y[2][GROUP];
    load_groups<T, 2>(a, places, y);
#pragma unroll
    for (int k = 0; k < GROUP; k++)
        x[k] = both ? join(op, y[0][k], y[1][k]) : y[0][k];
}

template <typename T>
__device__ __forceinline__ T join_row_groups(int op, const struct cuda_array &a, int64_t at, int64_t step, int64_t left)
{
    T x[GROUP];
    load_pair(op, a, at, step, step < left, x);
    return join(op, join(op, x[0], x[1]), join(op, x[2], x[3]));
}

/* inner is 1: a block per (o, s). With `groups`, rows and segments are made of groups. */
template <typename T>
__global__ void reduce_rows(int op, struct cuda_array dst, struct cuda_array a, struct cuda_reduction r, bool groups)
{
    __shared__ T shared[KERNEL_THREADS];
    for (int64_t job = blockIdx.x; job < r.outer * r.segments; job += gridDim.x) {
        int64_t o = job / r.segments, s = job % r.segments, start = segment_start(r, s), end = segment_start(r, s + 1);
        T x = neutral<T>(op);
        for (int64_t k = start + GROUP * threadIdx.x; groups && k < end; k += 2 * GROUP * KERNEL_THREADS)
            x = join(op, x, join_row_groups<T>(op, a, o * r.length + k, GROUP * KERNEL_THREADS, end - k));
        for (int64_t k = start + threadIdx.x; !groups && k < end; k += KERNEL_THREADS)
            x = join(op, x, load<T>(a, o * r.length + k));
        x = join_block(op, x, shared, (int)threadIdx.x, KERNEL_THREADS, 1);
        if (threadIdx.x == 0)
            store<T>(dst, job, x);
    }
}

/* A block per (o, s) and TILE_COLUMNS neighbouring columns. */
template <typename T> __global__ void reduce_columns(int op, struct cuda_array dst, struct cuda_array a, struct cuda_reduction r)
{
    __shared__ T shared[KERNEL_THREADS];
    int64_t tiles = (r.inner + TILE_COLUMNS - 1) / TILE_COLUMNS;
    for (int64_t job = blockIdx.x; job < r.outer * r.segments * tiles; job += gridDim.x) {
        int64_t row = job / tiles, o = row / r.segments, s = row % r.segments, end = segment_start(r, s + 1);
        int64_t j = job % tiles * TILE_COLUMNS + threadIdx.x;
        T x = neutral<T>(op);
        for (int64_t k = segment_start(r, s) + threadIdx.y; k < end && j < r.inner; k += TILE_ROWS)
            x = join(op, x, load<T>(a, (o * r.length + k) * r.inner + j));
        x = join_block(op, x, shared + threadIdx.x, (int)threadIdx.y, TILE_ROWS, TILE_COLUMNS);
        if (threadIdx.y == 0 && j < r.inner)
            store<T>(dst, row * r.inner + j, x);
    }
}

/* The same where columns come in groups: a thread has a group of them, and two rows under way. */
template <typename T>
__global__ void reduce_column_groups(int op, struct cuda_array dst, struct cuda_array a, struct cuda_reduction r)
{
    __shared__ T shared[KERNEL_THREADS];
    int64_t groups = r.inner / GROUP, tiles = (groups + TILE_COLUMNS - 1) / TILE_COLUMNS;
    for (int64_t job = blockIdx.x; job < r.outer * r.segments * tiles; job += gridDim.x) {
        int64_t row = job / tiles, o = row / r.segments, s = row % r.segments, end = segment_start(r, s + 1);
        int64_t j = job % tiles * TILE_COLUMNS + threadIdx.x;
        T x[GROUP], y[GROUP];
#pragma unroll
        for (int i = 0; i < GROUP; i++)
            x[i] = neutral<T>(op);
        for (int64_t k = segment_start(r, s) + threadIdx.y; k < end && j < groups; k += 2 * TILE_ROWS) {
            load_pair(op, a, (o * r.length + k) * r.inner + GROUP * j, TILE_ROWS * r.inner, k + TILE_ROWS < end, y);
#pragma unroll
            for (int i = 0; i < GROUP; i++)
                x[i] = join(op, x[i], y[i]);
        }
#pragma unroll
        for (int i = 0; i < GROUP; i++)
            x[i] = join_block(op, x[i], shared + threadIdx.x, (int)threadIdx.y, TILE_ROWS, TILE_COLUMNS);
        if (threadIdx.y == 0 && j < groups)
            store_group(dst, row * r.inner + GROUP * j, x);
    }
}

cudaError_t kernel_reduce(enum cuda_arithmetic type, int op, struct cuda_array dst, struct cuda_array a,
                          const struct cuda_reduction *r, cudaStream_t stream)
{
    int64_t jobs = r->outer * r->segments, tiles = (r->inner + TILE_COLUMNS - 1) / TILE_COLUMNS;
    bool rows = r->inner == 1,
         groups = starts_group(a) && (rows || starts_group(dst)) && (rows ? r->length : r->inner) % GROUP == 0;
    dim3 tile(TILE_COLUMNS, TILE_ROWS);
    if (rows) {
        /* Segments start at groups when their length is a multiple of one. */
        groups = groups && (r->length + r->segments - 1) / r->segments % GROUP == 0;
        FOR_ARITHMETIC(type, (reduce_rows<T><<<grid_for(jobs, 1), KERNEL_THREADS, 0, stream>>>(op, dst, a, *r, groups)));
    } else if (groups) {
        tiles = (tiles + GROUP - 1) / GROUP;
        FOR_ARITHMETIC(type, (reduce_column_groups<T><<<grid_for(jobs * tiles, 1), tile, 0, stream>>>(op, dst, a, *r)));
    } else {
        FOR_ARITHMETIC(type, (reduce_columns<T><<<grid_for(jobs * tiles, 1), tile, 0, stream>>>(op, dst, a, *r)));
    }
    return cudaGetLastError();
}
