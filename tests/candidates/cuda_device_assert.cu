/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel whose assertion fails. */
#include <pkb/candidate.h>

#include <cassert>
#include <cuda_runtime.h>

__global__ void fail(int x)
{
    assert(x > 0);
}

extern "C" int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    (void)in, (void)out;
    fail<<<1, 32, 0, (cudaStream_t)ctx->stream>>>(-1);
    return 0;
}
