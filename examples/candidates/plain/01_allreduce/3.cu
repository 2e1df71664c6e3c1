/* SPDX-License-Identifier: Apache-2.0 */
/* The sum is made on the host: the matrices of all ranks are copied there one after the other, and the result is copied back.
 * */
#include <pkb/candidate.h>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <stdlib.h>

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

static void *part;
static float *total;

static float widen(const void *x, int64_t i, int dtype)
{
    return dtype == PKB_BF16 ? __bfloat162float(((const __nv_bfloat16 *)x)[i]) : ((const float *)x)[i];
}

static void narrow(float value, void *y, int64_t i, int dtype)
{
    if (dtype == PKB_BF16)
        ((__nv_bfloat16 *)y)[i] = __float2bfloat16_rn(value);
    else
        ((float *)y)[i] = value;
}

/* Device to device, in the order of the stream; the address says whose memory it is. */
static int copy(const pkb_context *ctx, void *dst, const void *src, size_t bytes)
{
    return cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, (cudaStream_t)ctx->stream) == cudaSuccess ? 0 : -1;
}

extern "C" int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    part = malloc((size_t)elements(in) * item_size(in));
    total = (float *)malloc((size_t)elements(in) * sizeof(float));
    if (!supported(in) || !part || !total)
        return -1;
    return ctx->symm_alloc(ctx, (size_t)elements(in) * item_size(in), &box);
}

extern "C" void pkb_teardown(const pkb_context *ctx)
{
    (void)ctx;
    free(part);
    free(total);
}

/* Waits for the copy. */
static int fetch(const pkb_context *ctx, void *host, const void *device, size_t bytes)
{
    return copy(ctx, host, device, bytes) == 0 && cudaStreamSynchronize((cudaStream_t)ctx->stream) == cudaSuccess ? 0 : -1;
}

extern "C" int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int64_t n = elements(in);
    size_t size = (size_t)n * item_size(in);
    int dtype = in[0].dtype;
    if (copy(ctx, box.local, in[0].data, size) != 0 || ctx->barrier(ctx) != 0)
        return -1;
    for (int32_t q = 0; q < ctx->world; q++) {
        if (fetch(ctx, part, box.peers[q], size) != 0)
            return -1;
        for (int64_t i = 0; i < n; i++)
            total[i] = (q == 0 ? 0 : total[i]) + widen(part, i, dtype);
    }
    for (int64_t i = 0; i < n; i++)
        narrow(total[i], part, i, dtype);
    if (copy(ctx, out[0].data, part, size) != 0 || cudaStreamSynchronize((cudaStream_t)ctx->stream) != cudaSuccess)
        return -1;
    return ctx->barrier(ctx); /* nobody reads this call's x any more */
}
