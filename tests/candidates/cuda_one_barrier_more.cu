/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 0 enters a barrier on the device to which the others do not come. */
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

static void **table;

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

/* One thread per element, which goes through the ranks one after the other. */
template <typename T> __global__ void add_all(T *y, void *const *x, int64_t offset, int world, int64_t n)
{
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    float total = 0;
    if (i >= n)
        return;
    for (int q = 0; q < world; q++)
        total += widen(((const T *)x[q])[offset + i]);
    narrow(total, &y[i]);
}

/* The peers' addresses on the device: kernels cannot read the host's. */
static int make_table(const pkb_context *ctx)
{
    size_t size = (size_t)ctx->world * sizeof(void *);
    if (cudaMalloc((void **)&table, size) != cudaSuccess)
        return -1;
    return cudaMemcpy(table, box.peers, size, cudaMemcpyHostToDevice) == cudaSuccess ? 0 : -1;
}

/* Device to device, in the order of the stream; the address says whose memory it is. */
static int copy(const pkb_context *ctx, void *dst, const void *src, size_t bytes)
{
    return cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, (cudaStream_t)ctx->stream) == cudaSuccess ? 0 : -1;
}

extern "C" int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    if (!supported(in) || ctx->symm_alloc(ctx, (size_t)elements(in) * item_size(in), &box) != 0)
        return -1;
    return make_table(ctx);
}

template <typename T> static int run(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int64_t n = elements(in);
    if (copy(ctx, box.local, in[0].data, (size_t)elements(in) * item_size(in)) != 0 || ctx->barrier(ctx) != 0)
        return -1;
    add_all<<<(unsigned)((n + 127) / 128), 128, 0, (cudaStream_t)ctx->stream>>>((T *)out[0].data, table, 0, ctx->world, n);
    if (cudaGetLastError() != cudaSuccess)
        return -1;
    if (ctx->rank == 0 && ctx->barrier(ctx) != 0)
        return -1;
    return ctx->barrier(ctx); /* nobody reads this call's x any more */
}

extern "C" int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    return in[0].dtype == PKB_BF16 ? run<__nv_bfloat16>(ctx, in, out) : run<float>(ctx, in, out);
}
