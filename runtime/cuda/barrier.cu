/* SPDX-License-Identifier: Apache-2.0 */
/* The barrier of symmetric memory. One small block: processes that share a GPU hold it in turn, and while this kernel waits nobody
 * else's runs. */
#include "runtime/cuda/element.cuh"

#define BARRIER_THREADS 64

__device__ __forceinline__ void store_release(uint32_t *p, uint32_t x)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(x) : "memory");
}

__device__ __forceinline__ uint32_t load_acquire(const uint32_t *p)
{
    uint32_t x;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    return x;
}

__device__ __forceinline__ uint64_t now_ns(void)
{
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

/* Until the word has reached the generation (which wraps around); false when there is no hope. */
__device__ __forceinline__ bool wait_for(const uint32_t *word, uint32_t generation, uint64_t deadline,
                                         const volatile uint32_t *cancel)
{
    for (unsigned i = 1; (int32_t)(load_acquire(word) - generation) < 0; i++) {
        if (i % 1024 == 0 && (*cancel || now_ns() > deadline))
            return false;
    }
    return true;
}

__global__ void barrier_kernel(struct cuda_barrier b, struct cuda_fault *fault)
{
    uint32_t *own = b.pads[b.rank], *count = own + b.world;
    uint32_t generation = *count + 1;
    uint64_t deadline = now_ns() + b.patience;
    __syncthreads();
    __threadfence_system();
    for (int q = (int)threadIdx.x; q < b.world; q += BARRIER_THREADS)
        store_release(&b.pads[q][b.rank], generation);
    for (int q = (int)threadIdx.x; q < b.world; q += BARRIER_THREADS) {
        if (!wait_for(&own[q], generation, deadline, b.cancel) && !*b.cancel)
            raise_fault(fault, FAULT_BARRIER, q, 0, 0);
    }
    __threadfence_system();
    if (threadIdx.x == 0)
        *count = generation;
}

cudaError_t kernel_barrier(const struct cuda_barrier *b, struct cuda_fault *fault, cudaStream_t stream)
{
    barrier_kernel<<<1, BARRIER_THREADS, 0, stream>>>(*b, fault);
    return cudaGetLastError();
}
