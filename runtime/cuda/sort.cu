/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting and searching. Keys become unsigned integers in the same order, so that one sort serves all element types; rows are sorted
 * by having their number above the key. */
#include <cub/device/device_radix_sort.cuh>

#include "runtime/cuda/keys.cuh"
#include "runtime/cuda/walk.cuh"

cudaError_t kernel_sort(const struct cuda_sort *s, void *scratch, size_t *bytes, cudaStream_t stream)
{
    return cub::DeviceRadixSort::SortPairs(scratch, *bytes, s->key, s->key_out, s->position, s->position_out, s->n, 0, s->bits,
                                           stream);
}

/* The shift is below 64, or there is one row. */
__global__ void sort_keys_kernel(uint64_t *key, int64_t *position, struct cuda_array keys, int64_t n, int64_t length, int shift)
{
    for (int64_t i = first_element(); i < n; i += element_step()) {
        uint64_t row = shift < 64 ? (uint64_t)quotient(i, length) << shift : 0;
        key[i] = row | sort_key(keys, i);
        position[i] = i;
    }
}

cudaError_t kernel_sort_keys(uint64_t *key, int64_t *position, struct cuda_array keys, int64_t n, int64_t length, int shift,
                             cudaStream_t stream)
{
    sort_keys_kernel<<<grid_for(n, KERNEL_THREADS), KERNEL_THREADS, 0, stream>>>(key, position, keys, n, length, shift);
    return cudaGetLastError();
}

__global__ void row_keys_kernel(uint64_t *key, const int64_t *position, int64_t n, int64_t length)
{
    for (int64_t i = first_element(); i < n; i += element_step())
        key[i] = (uint64_t)quotient(position[i], length);
}

cudaError_t kernel_row_keys(uint64_t *key, const int64_t *position, int64_t n, int64_t length, cudaStream_t stream)
{
    row_keys_kernel<<<grid_for(n, KERNEL_THREADS), KERNEL_THREADS, 0, stream>>>(key, position, n, length);
    return cudaGetLastError();
}

__global__ void within_rows_kernel(int64_t *position, int64_t n, int64_t length)
{
    for (int64_t i = first_element(); i < n; i += element_step())
        position[i] -= quotient(position[i], length) * length;
}

cudaError_t kernel_within_rows(int64_t *position, int64_t n, int64_t length, cudaStream_t stream)
{
    within_rows_kernel<<<grid_for(n, KERNEL_THREADS), KERNEL_THREADS, 0, stream>>>(position, n, length);
    return cudaGetLastError();
}

/* ---- searching ----------------------------------------------------------------------------------------------------- */

__global__ void search_kernel(int64_t *position, struct cuda_array table, int64_t length, struct cuda_array values, int64_t n,
                              bool right)
{
    for (int64_t i = first_element(); i < n; i += element_step()) {
        uint64_t key = sort_key(values, i);
        int64_t low = 0, high = length;
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            uint64_t x = sort_key(table, middle);
            if (x < key || (right && x == key))
                low = middle + 1;
            else
                high = middle;
        }
        position[i] = low;
    }
}

cudaError_t kernel_search(int64_t *position, struct cuda_array table, int64_t length, struct cuda_array values, int64_t n,
                          bool right, cudaStream_t stream)
{
    search_kernel<<<grid_for(n, KERNEL_THREADS), KERNEL_THREADS, 0, stream>>>(position, table, length, values, n, right);
    return cudaGetLastError();
}
