/* SPDX-License-Identifier: Apache-2.0 */
/* Rearrangements and look-ups. */
#include "runtime/cuda/element.cuh"
#include "runtime/cuda/walk.cuh"

template <typename E> __global__ void gather_kernel(E *dst, const E *a, struct cuda_walk walk)
{
    for (int64_t i = first_element(); i < walk.n; i += element_step()) {
        int64_t x, unused;
        places(walk, i, &x, &unused);
        dst[i] = a[x];
    }
}

cudaError_t kernel_gather(void *dst, const void *a, int size, const struct cuda_walk *walk, cudaStream_t stream)
{
    unsigned grid = grid_for(walk->n, KERNEL_THREADS);
    switch (size) {
    case 1:
        gather_kernel<<<grid, KERNEL_THREADS, 0, stream>>>((uint8_t *)dst, (const uint8_t *)a, *walk);
        break;
    case 2:
        gather_kernel<<<grid, KERNEL_THREADS, 0, stream>>>((uint16_t *)dst, (const uint16_t *)a, *walk);
        break;
    case 4:
        gather_kernel<<<grid, KERNEL_THREADS, 0, stream>>>((uint32_t *)dst, (const uint32_t *)a, *walk);
        break;
    default:
        gather_kernel<<<grid, KERNEL_THREADS, 0, stream>>>((uint64_t *)dst, (const uint64_t *)a, *walk);
        break;
    }
    return cudaGetLastError();
}

/* ---- look-ups ------------------------------------------------------------------------------------------------------ */

/* A block per row; W is the widest word of which all rows are made. */
template <typename W>
__global__ void take_rows_kernel(W *dst, const W *table, int64_t rows, int64_t row, struct cuda_array index, int64_t n,
                                 struct cuda_fault *fault)
{
    for (int64_t i = blockIdx.x; i < n; i += gridDim.x) {
        int64_t k = load<int64_t>(index, i);
        if (k < 0 || k >= rows) {
            if (threadIdx.x == 0)
                raise_fault(fault, FAULT_TAKE_ROWS, i, k, rows);
            continue;
        }
        for (int64_t j = threadIdx.x; j < row; j += blockDim.x)
            dst[i * row + j] = table[k * row + j];
    }
}

cudaError_t kernel_take_rows(void *dst, const void *table, int64_t rows, int64_t row, struct cuda_array index, int64_t n,
                             struct cuda_fault *fault, cudaStream_t stream)
{
    unsigned grid = grid_for(n, 1);
    uintptr_t low = (uintptr_t)dst | (uintptr_t)table | (uintptr_t)row;
    if (low % sizeof(int4) == 0)
        take_rows_kernel<<<grid, KERNEL_THREADS, 0, stream>>>((int4 *)dst, (const int4 *)table, rows, row / (int64_t)sizeof(int4),
                                                              index, n, fault);
    else if (low % sizeof(uint32_t) == 0)
        take_rows_kernel<<<grid, KERNEL_THREADS, 0, stream>>>((uint32_t *)dst, (const uint32_t *)table, rows,
                                                              row / (int64_t)sizeof(uint32_t), index, n, fault);
    else
        take_rows_kernel<<<grid, KERNEL_THREADS, 0, stream>>>((uint8_t *)dst, (const uint8_t *)table, rows, row, index, n, fault);
    return cudaGetLastError();
}

__global__ void bincount_kernel(int64_t *counts, int64_t n_counts, struct cuda_array values, int64_t n, struct cuda_fault *fault)
{
    for (int64_t i = first_element(); i < n; i += element_step()) {
        int64_t v = load<int64_t>(values, i);
        if (v < 0 || v >= n_counts)
            raise_fault(fault, FAULT_BINCOUNT, i, v, n_counts);
        else
            atomicAdd((unsigned long long *)&counts[v], 1ull);
    }
}

cudaError_t kernel_bincount(int64_t *counts, int64_t n_counts, struct cuda_array values, int64_t n, struct cuda_fault *fault,
                            cudaStream_t stream)
{
    bincount_kernel<<<grid_for(n, KERNEL_THREADS), KERNEL_THREADS, 0, stream>>>(counts, n_counts, values, n, fault);
    return cudaGetLastError();
}
