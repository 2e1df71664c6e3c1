/* SPDX-License-Identifier: Apache-2.0 */
/* Push: every rank stores its shard into its slot at every peer; after one barrier the result lies in local memory. */
#include <pkb/candidate.h>

#include <string.h>

static pkb_symm box; /* two results of all shards, used in turn: one barrier per call is enough */
static size_t bytes; /* of a shard */
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
    bytes = (size_t)elements(in) * item_size(in);
    return ctx->symm_alloc(ctx, 2 * (size_t)ctx->world * bytes, &box);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    size_t whole = (size_t)ctx->world * bytes;
    size_t offset = call++ % 2 * whole;

    for (int32_t step = 0; step < ctx->world; step++) {
        int32_t q = (ctx->rank + step) % ctx->world;
        memcpy((char *)box.peers[q] + offset + (size_t)ctx->rank * bytes, in[0].data, bytes);
    }
    if (ctx->barrier(ctx) != 0)
        return -1;
    memcpy(out[0].data, (const char *)box.local + offset, whole);
    return 0;
}
