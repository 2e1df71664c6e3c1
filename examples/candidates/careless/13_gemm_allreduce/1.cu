/* SPDX-License-Identifier: Apache-2.0 */
/* Mistake: returns the local product; the all-reduce is forgotten. */
#include <pkb/candidate.h>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

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

/* One thread per element of C, which reads its row and its column from memory. */
template <typename T> __global__ void product(T *C, const T *A, const T *B, int64_t m, int64_t n, int64_t k)
{
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    float total = 0;
    if (i >= m * n)
        return;
    for (int64_t j = 0; j < k; j++)
        total += widen(A[i / n * k + j]) * widen(B[j * n + i % n]);
    narrow(total, &C[i]);
}

template <typename T> static int run(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int64_t m = in[0].shape[0], k = in[0].shape[1], n = in[1].shape[1], all = m * n;
    unsigned blocks = (unsigned)((all + 127) / 128);
    cudaStream_t stream = (cudaStream_t)ctx->stream;
    product<<<blocks, 128, 0, stream>>>((T *)out[0].data, (const T *)in[0].data, (const T *)in[1].data, m, n, k);
    return cudaGetLastError() == cudaSuccess ? 0 : -1;
}

extern "C" int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    return in[0].dtype == PKB_BF16 ? run<__nv_bfloat16>(ctx, in, out) : run<float>(ctx, in, out);
}
