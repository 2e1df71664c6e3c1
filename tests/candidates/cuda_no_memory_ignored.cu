/* SPDX-License-Identifier: Apache-2.0 */
/* An allocation fails, nobody looks, and the kernel writes to address 0. */
#include <pkb/candidate.h>

#include <cuda_runtime.h>

__global__ void fill(char *p)
{
    p[threadIdx.x] = 1;
}

extern "C" int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    char *workspace = NULL;
    (void)in, (void)out;
    (void)cudaMalloc((void **)&workspace, (size_t)1 << 44);
    fill<<<1, 32, 0, (cudaStream_t)ctx->stream>>>(workspace);
    return 0;
}
