/* SPDX-License-Identifier: Apache-2.0 */
/* Mistake: a flag between the blocks of a kernel that nobody ever sets, so that the kernel never ends. */
#include <pkb/candidate.h>

#include <cuda_runtime.h>

static int64_t elements(const pkb_tensor *t)
{
    int64_t n = 1;
    for (int32_t d = 0; d < t->ndim; d++)
        n *= t->shape[d];
    return n;
}

static size_t item_size(const pkb_tensor *t)
{
    return t->dtype == PKB_BF16 ? 2 : 4;
}

static bool supported(const pkb_tensor *t)
{
    return t->dtype == PKB_BF16 || t->dtype == PKB_F32;
}

static pkb_symm box; /* x */

static unsigned *flag;

/* Every block but the first waits for the one before to raise the flag. The first waits for it as well. */
__global__ void move(char *y, const char *x, size_t size, volatile unsigned *raised)
{
    while (*raised < blockIdx.x + 1)
        ;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
        y[i] = x[i];
    if (threadIdx.x == 0)
        *raised = blockIdx.x + 1;
}

/* Device to device, in the order of the stream; the address says whose memory it is. */
static int copy(const pkb_context *ctx, void *dst, const void *src, size_t bytes)
{
    return cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, (cudaStream_t)ctx->stream) == cudaSuccess ? 0 : -1;
}

extern "C" int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    if (cudaMalloc((void **)&flag, sizeof(*flag)) != cudaSuccess || cudaMemset(flag, 0, sizeof(*flag)) != cudaSuccess)
        return -1;
    return supported(in) ? ctx->symm_alloc(ctx, (size_t)elements(in) * item_size(in), &box) : -1;
}

extern "C" int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    size_t size = (size_t)elements(in) * item_size(in);
    if (copy(ctx, box.local, in[0].data, size) != 0 || ctx->barrier(ctx) != 0)
        return -1;
    for (int32_t q = 0; q < ctx->world; q++)
        move<<<4, 256, 0, (cudaStream_t)ctx->stream>>>((char *)out[0].data + (size_t)q * size, (const char *)box.peers[q], size,
                                                       flag);
    if (cudaGetLastError() != cudaSuccess)
        return -1;
    return ctx->barrier(ctx); /* nobody reads this call's x any more */
}
