/* SPDX-License-Identifier: Apache-2.0 */
/* Every rank publishes its rows of the table and copies the rows that it looks up from their owners; requests are never sent. */
#include <pkb/candidate.h>

#include <stdlib.h>
#include <string.h>

enum { IDX, SHARD }; /* inputs */

static pkb_symm box;    /* two copies of the shard, used in turn: one barrier per call is enough */
static size_t row, set; /* bytes of a row, of a shard */
static int64_t *next;   /* per owner: where its next row goes */
static unsigned call;

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    static const size_t sizes[] = {[PKB_BF16] = 2, [PKB_F16] = 2, [PKB_F32] = 4, [PKB_F64] = 8};
    (void)out;
    row = (size_t)in[SHARD].shape[1] * sizes[in[SHARD].dtype];
    set = (size_t)in[SHARD].shape[0] * row;
    next = malloc(((size_t)ctx->world + 1) * sizeof(*next));
    return next ? ctx->symm_alloc(ctx, 2 * set, &box) : -1;
}

void pkb_teardown(const pkb_context *ctx)
{
    (void)ctx;
    free(next);
}

/* The rows of each owner lie together, by ascending owner and in the order of the lookups. */
static void count_rows(const pkb_context *ctx, const pkb_tensor *idx, int64_t shard)
{
    const int64_t *id = idx->data;
    memset(next, 0, ((size_t)ctx->world + 1) * sizeof(*next));
    for (int64_t k = 0; k < idx->shape[0]; k++)
        next[id[k] / shard + 1]++;
    for (int32_t q = 0; q < ctx->world; q++)
        next[q + 1] += next[q];
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    size_t offset = call++ % 2 * set;
    int64_t shard = in[SHARD].shape[0];
    const int64_t *id = in[IDX].data;

    memcpy((char *)box.local + offset, in[SHARD].data, set);
    count_rows(ctx, &in[IDX], shard);
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int64_t k = 0; k < in[IDX].shape[0]; k++) {
        int64_t owner = id[k] / shard;
        memcpy((char *)out[0].data + (size_t)next[owner]++ * row,
               (const char *)box.peers[owner] + offset + (size_t)(id[k] % shard) * row, row);
    }
    return 0;
}
