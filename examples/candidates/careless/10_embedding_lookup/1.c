/* SPDX-License-Identifier: Apache-2.0 */
/* Mistake: returns the rows in the order of the requests; they are to be grouped by owner. */
#include <pkb/candidate.h>

#include <string.h>

static pkb_symm box;
static size_t row;

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    row = (size_t)in[1].shape[1] * (in[1].dtype == PKB_F64 ? 8 : in[1].dtype == PKB_F32 ? 4 : 2);
    return ctx->symm_alloc(ctx, (size_t)in[1].shape[0] * row, &box);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int64_t shard = in[1].shape[0];
    const int64_t *id = in[0].data;

    memcpy(box.local, in[1].data, (size_t)shard * row);
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int64_t k = 0; k < in[0].shape[0]; k++)
        memcpy((char *)out[0].data + (size_t)k * row, (const char *)box.peers[id[k] / shard] + (size_t)(id[k] % shard) * row,
               row);
    return ctx->barrier(ctx);
}
