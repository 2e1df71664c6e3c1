/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups, moves of rows, counting. */
#include "runtime/cuda/arithmetic.cuh"
#include "runtime/cuda/element.cuh"
#include "runtime/cuda/walk.cuh"

/* ---- entries by an index ------------------------------------------------------------------------------------------- */

/* The index of a job, one of outer * count, or -1 after raising the fault. */
__device__ __forceinline__ int64_t checked_index(const struct cuda_array &index, int64_t i, int64_t length, int kind,
                                                 struct cuda_fault *fault)
{
    int64_t k = load<int64_t>(index, i);
    if (k >= 0 && k < length)
        return k;
    raise_fault(fault, kind, i, k, length);
    return -1;
}

/* Entries of a few words: a thread per word. W is the widest word of which all entries are made, `words` of them each. */
template <typename W>
__global__ void move_words_kernel(W *dst, const W *src, struct cuda_array index, struct cuda_move m, int64_t words,
                                  struct cuda_fault *fault)
{
    for (int64_t i = first_element(); i < m.outer * m.count * words; i += element_step()) {
        int64_t job = quotient(i, words), o = quotient(job, m.count);
        int64_t k = checked_index(index, job - o * m.count, m.length, m.fault, fault);
        if (k < 0)
            continue;
        int64_t at = (o * m.length + k) * words + (i - job * words);
        if (m.put)
            dst[at] = src[i];
        else
            dst[i] = src[at];
    }
}

/* A block per entry. */
template <typename W>
__global__ void move_entries_kernel(W *dst, const W *src, struct cuda_array index, struct cuda_move m, int64_t words,
                                    struct cuda_fault *fault)
{
    for (int64_t job = blockIdx.x; job < m.outer * m.count; job += gridDim.x) {
        int64_t o = quotient(job, m.count), k = checked_index(index, job - o * m.count, m.length, m.fault, fault);
        if (k < 0)
            continue;
        int64_t at = (o * m.length + k) * words;
        W *to = dst + (m.put ? at : job * words);
        const W *from = src + (m.put ? job * words : at);
        for (int64_t j = threadIdx.x; j < words; j += blockDim.x)
            to[j] = from[j];
    }
}

template <typename W>
static void launch_move(void *dst, const void *src, struct cuda_array index, const struct cuda_move *m, struct cuda_fault *fault,
                        cudaStream_t stream)
{
    int64_t words = m->bytes / (int64_t)sizeof(W), entries = m->outer * m->count;
    if (words < KERNEL_THREADS / 2)
        move_words_kernel<<<grid_for(entries * words, KERNEL_THREADS), KERNEL_THREADS, 0, stream>>>((W *)dst, (const W *)src,
                                                                                                    index, *m, words, fault);
    else
        move_entries_kernel<<<grid_for(entries, 1), KERNEL_THREADS, 0, stream>>>((W *)dst, (const W *)src, index, *m, words,
                                                                                 fault);
}

cudaError_t kernel_move(void *dst, const void *src, struct cuda_array index, const struct cuda_move *m, struct cuda_fault *fault,
                        cudaStream_t stream)
{
    uintptr_t low = (uintptr_t)dst | (uintptr_t)src | (uintptr_t)m->bytes;
    if (low % sizeof(int4) == 0)
        launch_move<int4>(dst, src, index, m, fault, stream);
    else
        FOR_WORD(low & -low, launch_move<W>(dst, src, index, m, fault, stream));
    return cudaGetLastError();
}

/* ---- an index per element ------------------------------------------------------------------------------------------ */

template <typename E>
__global__ void take_along_kernel(E *dst, const E *src, struct cuda_array index, int64_t n, int64_t count, int64_t length,
                                  struct cuda_fault *fault)
{
    for (int64_t i = first_element(); i < n; i += element_step()) {
        int64_t k = checked_index(index, i, length, FAULT_TAKE_ALONG, fault);
        if (k >= 0)
            dst[i] = src[quotient(i, count) * length + k];
    }
}

cudaError_t kernel_take_along(void *dst, const void *src, int size, struct cuda_array index, int64_t n, int64_t count,
                              int64_t length, struct cuda_fault *fault, cudaStream_t stream)
{
    unsigned grid = grid_for(n, KERNEL_THREADS);
    FOR_WORD(size,
             (take_along_kernel<<<grid, KERNEL_THREADS, 0, stream>>>((W *)dst, (const W *)src, index, n, count, length, fault)));
    return cudaGetLastError();
}

/* ---- sums of rows -------------------------------------------------------------------------------------------------- */

/* Rows that the index does not allow sort behind all others. */
__global__ void index_keys_kernel(uint64_t *key, int64_t *position, struct cuda_array index, int64_t n, int64_t rows,
                                  struct cuda_fault *fault)
{
    for (int64_t i = first_element(); i < n; i += element_step()) {
        int64_t k = checked_index(index, i, rows, FAULT_ADD_ROWS, fault);
        key[i] = (uint64_t)(k < 0 ? rows : k);
        position[i] = i;
    }
}

cudaError_t kernel_index_keys(uint64_t *key, int64_t *position, struct cuda_array index, int64_t n, int64_t rows,
                              struct cuda_fault *fault, cudaStream_t stream)
{
    index_keys_kernel<<<grid_for(n, KERNEL_THREADS), KERNEL_THREADS, 0, stream>>>(key, position, index, n, rows, fault);
    return cudaGetLastError();
}

#define LANES 32
#define PER_LANE 4 /* columns */

/* A warp per sorted place where a row begins and LANES * PER_LANE columns: it adds the places up to the next row in their order, so that
 * the sum is the same every time. */
template <typename T>
__global__ void add_sorted_kernel(struct cuda_array dst, struct cuda_array src, const uint64_t *key, const int64_t *position,
                                  struct cuda_row_sums s)
{
    int64_t tiles = (s.row + LANES * PER_LANE - 1) / (LANES * PER_LANE);
    for (int64_t job = first_element() / LANES; job < s.n * tiles; job += element_step() / LANES) {
        int64_t p = quotient(job, tiles), j = (job - p * tiles) * (LANES * PER_LANE) + threadIdx.x % LANES;
        uint64_t k = key[p];
        if (k >= (uint64_t)s.rows || (p > 0 && key[p - 1] == k))
            continue;
        T sum[PER_LANE] = {0};
        for (int64_t q = p; q < s.n && key[q] == k; q++) {
            int64_t from = position[q] * s.row;
#pragma unroll
            for (int c = 0; c < PER_LANE; c++) {
                if (j + c * LANES < s.row)
                    sum[c] = plus(sum[c], load<T>(src, from + j + c * LANES));
            }
        }
        for (int c = 0; c < PER_LANE; c++) {
            int64_t at = (int64_t)k * s.row + j + c * LANES;
            if (j + c * LANES < s.row)
                store<T>(dst, at, plus(sum[c], load<T>(dst, at)));
        }
    }
}

cudaError_t kernel_add_sorted(enum cuda_arithmetic type, struct cuda_array dst, struct cuda_array src, const uint64_t *key,
                              const int64_t *position, const struct cuda_row_sums *s, cudaStream_t stream)
{
    int64_t tiles = (s->row + LANES * PER_LANE - 1) / (LANES * PER_LANE);
    unsigned grid = grid_for(s->n * tiles, KERNEL_THREADS / LANES);
    FOR_ARITHMETIC(type, (add_sorted_kernel<T><<<grid, KERNEL_THREADS, 0, stream>>>(dst, src, key, position, *s)));
    return cudaGetLastError();
}

/* ---- counting ------------------------------------------------------------------------------------------------------ */

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
