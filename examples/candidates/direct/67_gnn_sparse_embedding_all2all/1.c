/* SPDX-License-Identifier: Apache-2.0 */
/* Every rank publishes its rows as they are, and their order by owner; owners copy their rows from all peers. Nobody counts
 * first: how many rows there are is known when they have been copied. */
#include <pkb/candidate.h>

#include <stdlib.h>
#include <string.h>

enum { IDX, VALUE };                   /* inputs */
enum { RECV_IDX, RECV_VALUE, N_ROWS }; /* outputs */

static pkb_symm box;                    /* two sets, used in turn: starts of the owners, order, ids, vectors */
static size_t order, ids, vectors, set; /* offsets, bytes */
static unsigned call;

static size_t row_bytes(const pkb_tensor *t)
{
    static const size_t sizes[] = {[PKB_BF16] = 2, [PKB_F16] = 2, [PKB_F32] = 4, [PKB_F64] = 8};
    return (size_t)t->shape[1] * sizes[t->dtype];
}

/* Positions by owner, by a stable counting sort: those of owner q are order[starts[q]] .. order[starts[q + 1] - 1]. */
static void sort_by_owner(int32_t world, const int64_t *idx, int64_t n, int64_t *starts, int64_t *positions)
{
    memset(starts, 0, (size_t)(world + 2) * sizeof(*starts));
    for (int64_t i = 0; i < n; i++)
        starts[idx[i] % world + 2]++;
    for (int32_t q = 0; q < world; q++)
        starts[q + 2] += starts[q + 1];
    for (int64_t i = 0; i < n; i++)
        positions[starts[idx[i] % world + 1]++] = i; /* leaves starts[q + 1] where owner q ends */
}

/* Rank r has n - r rows, so that shapes differ between ranks; the block must have the same size on all. */
int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    size_t most = (size_t)pkb_param_value(ctx, "n", 0);
    (void)out;
    if ((size_t)in[IDX].shape[0] > most)
        return -1;
    order = (size_t)(ctx->world + 2) * sizeof(int64_t);
    ids = order + most * sizeof(int64_t);
    vectors = ids + most * sizeof(int64_t);
    set = (vectors + most * row_bytes(&in[VALUE]) + 63) / 64 * 64;
    return ctx->symm_alloc(ctx, 2 * set, &box);
}

static int64_t collect(const pkb_context *ctx, size_t offset, size_t row, pkb_tensor *out)
{
    int64_t n = 0;
    for (int32_t q = 0; q < ctx->world; q++) {
        const char *peer = (const char *)box.peers[q] + offset;
        const int64_t *starts = (const int64_t *)peer, *positions = (const int64_t *)(peer + order);
        for (int64_t k = starts[ctx->rank]; k < starts[ctx->rank + 1]; k++, n++) {
            ((int64_t *)out[RECV_IDX].data)[n] = ((const int64_t *)(peer + ids))[positions[k]];
            memcpy((char *)out[RECV_VALUE].data + (size_t)n * row, peer + vectors + (size_t)positions[k] * row, row);
        }
    }
    return n;
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    size_t offset = call++ % 2 * set, row = row_bytes(&in[VALUE]);
    int64_t n = in[IDX].shape[0];
    char *own = (char *)box.local + offset;

    sort_by_owner(ctx->world, in[IDX].data, n, (int64_t *)own, (int64_t *)(own + order));
    memcpy(own + ids, in[IDX].data, (size_t)n * sizeof(int64_t));
    memcpy(own + vectors, in[VALUE].data, (size_t)n * row);
    if (ctx->barrier(ctx) != 0)
        return -1;
    *(int64_t *)out[N_ROWS].data = collect(ctx, offset, row, out);
    return 0;
}
