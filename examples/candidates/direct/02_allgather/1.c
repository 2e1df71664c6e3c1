/* SPDX-License-Identifier: Apache-2.0 */
/* Pull: every rank publishes its shard and, after one barrier, copies all shards from its peers. */
#include <pkb/candidate.h>

#include <string.h>

static pkb_symm box; /* two copies of x, used in turn: one barrier per call is enough */
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
    return ctx->symm_alloc(ctx, 2 * bytes, &box);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    size_t offset = call++ % 2 * bytes;
    char *y = out[0].data;

    memcpy((char *)box.local + offset, in[0].data, bytes);
    memcpy(y + (size_t)ctx->rank * bytes, in[0].data, bytes); /* needs no peer: before the barrier */
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int32_t step = 1; step < ctx->world; step++) {
        int32_t q = (ctx->rank + step) % ctx->world; /* every rank starts with another peer */
        memcpy(y + (size_t)q * bytes, (const char *)box.peers[q] + offset, bytes);
    }
    return 0;
}
