/* SPDX-License-Identifier: Apache-2.0 */
/* Every rank publishes its rows in the order of the experts, and where the blocks for its peers begin. Receivers copy each row
 * from its source to its final place: the exchange and the grouping by local expert are one copy. */
#include <pkb/candidate.h>

#include <string.h>

enum { TOKENS, MASK, IN_SPLITS, OUT_SPLITS, CHUNKS };       /* inputs */
enum { ROWS, ROUTING_MAP, PERM, ORIG_SHAPE, ROWS_COUNTED }; /* outputs */

static pkb_symm box;     /* two sets, used in turn: one i64 per rank, then the rows */
static size_t head, set; /* bytes of the numbers, of a set */
static unsigned call;

static size_t item_size(const pkb_tensor *t)
{
    static const size_t sizes[] = {[PKB_BF16] = 2, [PKB_F16] = 2, [PKB_F32] = 4, [PKB_F64] = 8};
    return sizes[t->dtype];
}

/* mask (E, k, M), summed over k. */
static void sum_mask(const pkb_tensor *mask, float *map)
{
    const float *m = mask->data;
    int64_t k = mask->shape[1], tokens = mask->shape[2];
    for (int64_t e = 0; e < mask->shape[0]; e++)
        for (int64_t t = 0; t < tokens; t++) {
            map[e * tokens + t] = 0;
            for (int64_t i = 0; i < k; i++)
                map[e * tokens + t] += m[(e * k + i) * tokens + t];
        }
}

/* The tokens of every expert, one expert behind the other; their rows go to `rows`. */
static void list_tokens(const pkb_tensor *map, const pkb_tensor *tokens, size_t row, int64_t *perm, char *rows)
{
    int64_t count = map->shape[0] * map->shape[1], n = 0;
    for (int64_t i = 0; i < count; i++) {
        if (((const float *)map->data)[i] == 0)
            continue;
        perm[n] = i % map->shape[1];
        memcpy(rows + (size_t)n * row, (const char *)tokens->data + (size_t)perm[n] * row, row);
        n++;
    }
}

/* Where the block for each rank begins: the splits are host memory, read here. */
static void publish_starts(const pkb_context *ctx, const pkb_tensor *in_splits, int64_t *starts)
{
    int64_t start = 0;
    for (int32_t q = 0; q < ctx->world; q++) {
        starts[q] = start;
        start += ((const int64_t *)in_splits->data)[q];
    }
}

/* Rows of chunks that come before chunk (s, j) in the output: smaller j first, then smaller s. n is (W, L). */
static int64_t place(const pkb_tensor *n, int64_t s, int64_t j)
{
    const int64_t *sizes = n->data;
    int64_t rows = 0;
    for (int64_t q = 0; q < n->shape[0]; q++)
        for (int64_t i = 0; i < n->shape[1]; i++)
            if (i < j || (i == j && q < s))
                rows += sizes[q * n->shape[1] + i];
    return rows;
}

/* The source of the rows in the order in which they arrive, source by source. */
struct cursor {
    int32_t source;
    int64_t left; /* rows of this source */
    const char *row;
};

static void go_to_rows(const pkb_context *ctx, const pkb_tensor *out_splits, size_t offset, size_t row, struct cursor *at)
{
    while (at->left == 0) {
        const char *block = (const char *)box.peers[++at->source] + offset;
        at->left = ((const int64_t *)out_splits->data)[at->source];
        at->row = block + head + (size_t)((const int64_t *)block)[ctx->rank] * row;
    }
}

/* Chunks in the order of arrival need not end where sources do. */
static int64_t receive(const pkb_context *ctx, const pkb_tensor *in, char *y, size_t offset, size_t row)
{
    struct cursor at = {.source = -1};
    int64_t local = in[CHUNKS].shape[1], total = 0;
    for (int64_t c = 0; c < ctx->world * local; c++) {
        int64_t rows = ((const int64_t *)in[CHUNKS].data)[c];
        char *to = y + (size_t)place(&in[CHUNKS], c / local, c % local) * row;
        for (int64_t i = 0; i < rows; i++, to += row, at.row += row, at.left--) {
            go_to_rows(ctx, &in[OUT_SPLITS], offset, row, &at);
            memcpy(to, at.row, row);
        }
        total += rows;
    }
    return total;
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    size_t row = (size_t)in[TOKENS].shape[1] * item_size(&in[TOKENS]);
    head = (size_t)ctx->world * sizeof(int64_t);
    set = head + (size_t)out[PERM].shape[0] * row;
    set = (set + 63) / 64 * 64; /* the numbers of the second set are aligned as well */
    return ctx->symm_alloc(ctx, 2 * set, &box);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    size_t offset = call++ % 2 * set, row = (size_t)in[TOKENS].shape[1] * item_size(&in[TOKENS]);
    char *own = (char *)box.local + offset;

    sum_mask(&in[MASK], out[ROUTING_MAP].data);
    list_tokens(&out[ROUTING_MAP], &in[TOKENS], row, out[PERM].data, own + head);
    publish_starts(ctx, &in[IN_SPLITS], (int64_t *)own);
    if (ctx->barrier(ctx) != 0)
        return -1;
    *(int64_t *)out[ROWS_COUNTED].data = receive(ctx, in, out[ROWS].data, offset, row);
    ((int64_t *)out[ORIG_SHAPE].data)[0] = in[TOKENS].shape[0];
    ((int64_t *)out[ORIG_SHAPE].data)[1] = in[TOKENS].shape[1];
    return 0;
}
