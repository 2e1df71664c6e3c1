/* SPDX-License-Identifier: Apache-2.0 */
/* Mistake: takes chunk q for the one of rank q; chunks are counted from the own rank on. */
#include <pkb/candidate.h>

#include <string.h>

static pkb_symm box; /* starts of the chunks, then gathered rows */

static size_t row_bytes(const pkb_tensor *t)
{
    return (size_t)t->shape[1] * (t->dtype == PKB_F64 ? 8 : t->dtype == PKB_F32 ? 4 : 2);
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    return ctx->symm_alloc(ctx, (size_t)ctx->world * sizeof(int64_t) + (size_t)in[1].shape[0] * row_bytes(in), &box);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    size_t row = row_bytes(in), head = (size_t)ctx->world * sizeof(int64_t);
    const int64_t *inv = in[1].data, *sent = in[2].data, *received = in[3].data;
    char *to = out[0].data;
    int64_t all = 0, total = 0;

    for (int32_t q = 0; q < ctx->world; all += received[q++])
        ((int64_t *)box.local)[q] = all;
    for (int64_t i = 0; i < all; i++)
        memcpy((char *)box.local + head + (size_t)i * row, (const char *)in[0].data + (size_t)inv[i] * row, row);
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int32_t q = 0; q < ctx->world; total += sent[q++]) {
        const char *peer = box.peers[q];
        memcpy(to, peer + head + (size_t)((const int64_t *)peer)[ctx->rank] * row, (size_t)sent[q] * row);
        to += (size_t)sent[q] * row;
    }
    *(int64_t *)out[1].data = total;
    return ctx->barrier(ctx);
}
