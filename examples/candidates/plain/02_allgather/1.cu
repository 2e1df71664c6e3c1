/* SPDX-License-Identifier: Apache-2.0 */
/* Byte after byte in one block, one kernel per rank. */
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

/* Byte after byte, in one block. */
__global__ void move(char *y, const char *x, size_t size)
{
    for (size_t i = threadIdx.x; i < size; i += blockDim.x)
        y[i] = x[i];
}

/* Device to device, in the order of the stream; the address says whose memory it is. */
static int copy(const pkb_context *ctx, void *dst, const void *src, size_t bytes)
{
    return cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, (cudaStream_t)ctx->stream) == cudaSuccess ? 0 : -1;
}

extern "C" int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    return supported(in) ? ctx->symm_alloc(ctx, (size_t)elements(in) * item_size(in), &box) : -1;
}

extern "C" int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    size_t size = (size_t)elements(in) * item_size(in);
    if (copy(ctx, box.local, in[0].data, (size_t)elements(in) * item_size(in)) != 0 || ctx->barrier(ctx) != 0)
        return -1;
    for (int32_t q = 0; q < ctx->world; q++)
        move<<<1, 256, 0, (cudaStream_t)ctx->stream>>>((char *)out[0].data + (size_t)q * size, (const char *)box.peers[q], size);
    if (cudaGetLastError() != cudaSuccess)
        return -1;
    return ctx->barrier(ctx); /* nobody reads this call's x any more */
}
