/* SPDX-License-Identifier: Apache-2.0 */
/* Mistake: normalises by the local part of the row instead of the whole. */
#include <pkb/candidate.h>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

static bool supported(const pkb_tensor *t)
{
    return t->dtype == PKB_BF16 || t->dtype == PKB_F32;
}

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

/* One thread per row: the sum of its squares. */
template <typename T> __global__ void squares(float *sums, const T *x, int64_t m, int64_t n)
{
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    float sum = 0;
    for (int64_t j = 0; i < m && j < n; j++)
        sum += widen(x[i * n + j]) * widen(x[i * n + j]);
    if (i < m)
        sums[i] = sum;
}

/* One thread per row: scales it by what all ranks' sums say, rounds, multiplies by the weight and rounds again. */
template <typename T>
__global__ void scale(T *y, const T *x, const T *w, const float *sums, float eps, int64_t m, int64_t n, int world)
{
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    float inverse = i < m ? rsqrtf(sums[i] / (float)(n * world) + eps) : 0;
    T normalised;
    for (int64_t j = 0; i < m && j < n; j++) {
        narrow(widen(x[i * n + j]) * inverse, &normalised);
        narrow(widen(normalised) * widen(w[j]), &y[i * n + j]);
    }
}

extern "C" int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)ctx, (void)out;
    return supported(in) && cudaMalloc((void **)&total, (size_t)in[0].shape[0] * sizeof(float)) == cudaSuccess ? 0 : -1;
}

extern "C" void pkb_teardown(const pkb_context *ctx)
{
    (void)ctx;
    (void)cudaFree(total);
}

template <typename T> static int run(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int64_t m = in[0].shape[0], n = in[0].shape[1];
    unsigned blocks = (unsigned)((m + 31) / 32);
    float eps = (float)pkb_param_value(ctx, "eps", 1e-5);
    cudaStream_t stream = (cudaStream_t)ctx->stream;
    const T *x = (const T *)in[0].data, *w = (const T *)in[1].data;
    squares<<<blocks, 32, 0, stream>>>(total, x, m, n);
    scale<<<blocks, 32, 0, stream>>>((T *)out[0].data, x, w, total, eps, m, n, 1);
    return cudaGetLastError() == cudaSuccess ? 0 : -1;
}

extern "C" int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    return in[0].dtype == PKB_BF16 ? run<__nv_bfloat16>(ctx, in, out) : run<float>(ctx, in, out);
}
