/* SPDX-License-Identifier: Apache-2.0 */
/* Products of integer matrices: exact, seldom, and never large. */
#include "runtime/cuda/element.cuh"

__global__ void product_kernel(struct cuda_array dst, struct cuda_array a, struct cuda_array b, struct cuda_product p)
{
    int64_t n = p.batch * p.m * p.n;
    for (int64_t e = first_element(); e < n; e += element_step()) {
        int64_t entry = e / (p.m * p.n), i = e / p.n % p.m, j = e % p.n;
        int64_t a_first = entry * p.m * p.k + (p.trans_a ? i : i * p.k), a_step = p.trans_a ? p.m : 1;
        int64_t b_first = entry * p.k * p.n + (p.trans_b ? j * p.k : j), b_step = p.trans_b ? 1 : p.n;
        uint64_t sum = 0;
        for (int64_t q = 0; q < p.k; q++)
            sum += (uint64_t)load<int64_t>(a, a_first + q * a_step) * (uint64_t)load<int64_t>(b, b_first + q * b_step);
        store<int64_t>(dst, e, (int64_t)sum);
    }
}

cudaError_t kernel_product_i64(struct cuda_array dst, struct cuda_array a, struct cuda_array b, const struct cuda_product *p,
                               cudaStream_t stream)
{
    unsigned grid = grid_for(p->batch * p->m * p->n, KERNEL_THREADS);
    product_kernel<<<grid, KERNEL_THREADS, 0, stream>>>(dst, a, b, *p);
    return cudaGetLastError();
}
