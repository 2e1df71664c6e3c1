/* SPDX-License-Identifier: Apache-2.0 */
/* Everything through rank 0: it collects all shards while the others wait, then they copy the whole. */
#include <pkb/candidate.h>

static pkb_symm box;
static size_t bytes;

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

/* One element at a time, volatile so that no compiler turns the loop into a block copy. */
static void copy(void *dst, const void *src, size_t n)
{
    volatile unsigned char *to = dst;
    const volatile unsigned char *from = src;
    for (size_t i = 0; i < n; i++)
        to[i] = from[i];
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    bytes = (size_t)elements(in) * item_size(in);
    return ctx->symm_alloc(ctx, (size_t)(1 + ctx->world) * bytes, &box); /* own shard, then the whole */
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    copy(box.local, in[0].data, bytes);
    if (ctx->barrier(ctx) != 0)
        return -1;
    if (ctx->rank == 0)
        for (int32_t q = 0; q < ctx->world; q++)
            copy((char *)box.local + (size_t)(1 + q) * bytes, box.peers[q], bytes);
    if (ctx->barrier(ctx) != 0)
        return -1;
    copy(out[0].data, (const char *)box.peers[0] + bytes, (size_t)ctx->world * bytes);
    return ctx->barrier(ctx);
}
