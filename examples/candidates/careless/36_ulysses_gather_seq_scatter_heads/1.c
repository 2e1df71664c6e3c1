/* SPDX-License-Identifier: Apache-2.0 */
/* Mistake: the shards of the sequence are put in a row from the own rank on, instead of from rank 0 on. */
#include <pkb/candidate.h>

#include <string.h>

static pkb_symm box;
static size_t bytes;

static size_t item_size(const pkb_tensor *t)
{
    return t->dtype == PKB_F64 ? 8 : t->dtype == PKB_F32 ? 4 : 2;
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    bytes = (size_t)(in[0].shape[0] * in[0].shape[1] * in[0].shape[2] * in[0].shape[3]) * item_size(in);
    return ctx->symm_alloc(ctx, bytes, &box);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int64_t shard = in[0].shape[1], kept = out[0].shape[1];
    size_t run = (size_t)(out[0].shape[2] * out[0].shape[3]) * item_size(in), width = run * (size_t)ctx->world;
    char *y = out[0].data;

    memcpy(box.local, in[0].data, bytes);
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int64_t b = 0; b < in[0].shape[0]; b++)
        for (int64_t p = 0; p < kept; p++, y += run) {
            int32_t q = (ctx->rank + (int32_t)(p / shard)) % ctx->world;
            memcpy(y, (const char *)box.peers[q] + (size_t)(b * shard + p % shard) * width + (size_t)ctx->rank * run, run);
        }
    return ctx->barrier(ctx);
}
