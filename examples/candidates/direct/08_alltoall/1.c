/* SPDX-License-Identifier: Apache-2.0 */
/* Pull: every rank publishes all its chunks and, after one barrier, copies those meant for it. */
#include <pkb/candidate.h>

#include <string.h>

static pkb_symm box;        /* two copies of x, used in turn: one barrier per call is enough */
static size_t whole, bytes; /* of x, of a chunk */
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
    whole = (size_t)elements(in) * item_size(in);
    bytes = whole / (size_t)ctx->world;
    return ctx->symm_alloc(ctx, 2 * whole, &box);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    size_t offset = call++ % 2 * whole, mine = (size_t)ctx->rank * bytes;
    char *y = out[0].data;

    memcpy((char *)box.local + offset, in[0].data, whole);
    memcpy(y + mine, (const char *)in[0].data + mine, bytes);
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int32_t step = 1; step < ctx->world; step++) {
        int32_t q = (ctx->rank + step) % ctx->world; /* every rank starts with another peer */
        memcpy(y + (size_t)q * bytes, (const char *)box.peers[q] + offset + mine, bytes);
    }
    return 0;
}
