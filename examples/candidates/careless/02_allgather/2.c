/* SPDX-License-Identifier: Apache-2.0 */
/* Mistake: does not compile. */
#include <pkb/candidate.h>

#include <string.h>

static pkb_symm box;
static size_t half;
static unsigned call;

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

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    half = (size_t)elements(in) * item_size(in);
    return ctx->symm_alloc(ctx, 2 * half, &box);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    size_t offset = call++ % 2 * half;

    memcpy((char *)box.local + offset, in[0].data, half);
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int32_t q = 0; q < ctx->world; q++)
        memcpy((char *)out[0].data + (size_t)q * half, (const char *)box.peers[q] + offset, half);
    return 0
}
