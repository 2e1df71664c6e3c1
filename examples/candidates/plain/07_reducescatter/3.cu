/* SPDX-License-Identifier: Apache-2.0 */
/* One rank after the other is added to sums in f32, each by a kernel of one block. */
#include <pkb/candidate.h>

#include <cuda_bf16.h>
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

static float *total;

__device__ static float widen(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

__device__ static float widen(float x)
{
    return x;
}

__device__ static void narrow(float x, __nv_bfloat16 *to)
{
    *to = __float2bfloat16_rn(x);
}

__device__ static void narrow(float x, float *to)
{
    *to = x;
}

/* total[i] += x[i]; the first one sets it. One small block. */
template <typename T> __global__ void add(float *total, const T *x, int64_t n, bool begin)
{
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
        total[i] = (begin ? 0 : total[i]) + widen(x[i]);
}

template <typename T> __global__ void finish(T *y, const float *total, int64_t n)
{
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
        narrow(total[i], &y[i]);
}

/* Device to device, in the order of the stream; the address says whose memory it is. */
static int copy(const pkb_context *ctx, void *dst, const void *src, size_t bytes)
{
    return cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, (cudaStream_t)ctx->stream) == cudaSuccess ? 0 : -1;
}

extern "C" int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    if (!supported(in) || cudaMalloc((void **)&total, (size_t)elements(out) * sizeof(float)) != cudaSuccess)
        return -1;
    return ctx->symm_alloc(ctx, (size_t)elements(in) * item_size(in), &box);
}

extern "C" void pkb_teardown(const pkb_context *ctx)
{
    (void)ctx;
    (void)cudaFree(total);
}

template <typename T> static int run(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int64_t n = elements(out);
    cudaStream_t stream = (cudaStream_t)ctx->stream;
    if (copy(ctx, box.local, in[0].data, (size_t)elements(in) * item_size(in)) != 0 || ctx->barrier(ctx) != 0)
        return -1;
    for (int32_t q = 0; q < ctx->world; q++)
        add<<<1, 256, 0, stream>>>(total, (const T *)box.peers[q] + ctx->rank * n, n, q == 0);
    finish<<<1, 256, 0, stream>>>((T *)out[0].data, total, n);
    if (cudaGetLastError() != cudaSuccess)
        return -1;
    return ctx->barrier(ctx); /* nobody reads this call's x any more */
}

extern "C" int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    return in[0].dtype == PKB_BF16 ? run<__nv_bfloat16>(ctx, in, out) : run<float>(ctx, in, out);
}
