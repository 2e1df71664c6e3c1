/* SPDX-License-Identifier: Apache-2.0 */
/* More symmetric memory than any GPU has. */
#include <pkb/candidate.h>

#include <cuda_runtime.h>

static pkb_symm box;

extern "C" int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)in, (void)out;
    return ctx->symm_alloc(ctx, (size_t)1 << 44, &box);
}

extern "C" int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    (void)ctx, (void)in, (void)out;
    return 0;
}
