/* SPDX-License-Identifier: Apache-2.0 */
/* No samples and no buckets: every rank publishes its values sorted, finds by bisection over all peers' lists where its piece
 * of the result begins and ends, and merges just that. Values are sorted as integers of the same order. */
#include <pkb/candidate.h>

#include <stdlib.h>
#include <string.h>

static pkb_symm box;   /* two sets, used in turn: count, then keys in ascending order */
static size_t set;     /* numbers of one */
static int64_t *start; /* [2][rank]: entries of each list in front of the piece, and of its end */
static unsigned call;

/* The bits of a floating-point number as an integer that is larger where the number is. */
static uint64_t key_of(const pkb_tensor *t, int64_t i)
{
    uint64_t bits, sign;
    switch (t->dtype) {
    case PKB_F64:
        bits = ((const uint64_t *)t->data)[i];
        sign = 1ULL << 63;
        break;
    case PKB_F32:
        bits = ((const uint32_t *)t->data)[i];
        sign = 1ULL << 31;
        break;
    default: /* bf16, f16 */
        bits = ((const uint16_t *)t->data)[i];
        sign = 1ULL << 15;
    }
    return bits & sign ? sign - 1 - (bits - sign) : bits | sign;
}

static void store(const pkb_tensor *t, int64_t i, uint64_t key)
{
    uint64_t sign = t->dtype == PKB_F64 ? 1ULL << 63 : t->dtype == PKB_F32 ? 1ULL << 31 : 1ULL << 15;
    uint64_t bits = key & sign ? key - sign : sign + (sign - 1 - key);
    if (t->dtype == PKB_F64)
        ((uint64_t *)t->data)[i] = bits;
    else if (t->dtype == PKB_F32)
        ((uint32_t *)t->data)[i] = (uint32_t)bits;
    else
        ((uint16_t *)t->data)[i] = (uint16_t)bits;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static const uint64_t *list_of(int32_t q, size_t offset)
{
    return (const uint64_t *)box.peers[q] + offset;
}

/* Keys of a list that are below `key`. */
static int64_t below(const uint64_t *list, uint64_t key)
{
    int64_t low = 0, high = (int64_t)list[0];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (list[1 + middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t all_below(const pkb_context *ctx, size_t offset, uint64_t key)
{
    int64_t n = 0;
    for (int32_t q = 0; q < ctx->world; q++)
        n += below(list_of(q, offset), key);
    return n;
}

/* How many entries of each list are among the first `position` of all: those below the key at the position, and of those equal
 * to it as many as are missing, by ascending rank. */
static void cut(const pkb_context *ctx, size_t offset, int64_t position, int64_t *taken)
{
    uint64_t key = 0;
    int64_t missing;
    for (int bit = 63; bit >= 0; bit--) /* the largest key with no more than `position` keys below it */
        if (all_below(ctx, offset, key | 1ULL << bit) <= position)
            key |= 1ULL << bit;
    missing = position - all_below(ctx, offset, key);
    for (int32_t q = 0; q < ctx->world; q++) {
        const uint64_t *list = list_of(q, offset);
        int64_t equal;
        taken[q] = below(list, key);
        equal = (key == UINT64_MAX ? (int64_t)list[0] : below(list, key + 1)) - taken[q];
        equal = equal < missing ? equal : missing;
        taken[q] += equal;
        missing -= equal;
    }
}

/* Merges what is between the two cuts. */
static void merge(const pkb_context *ctx, size_t offset, const pkb_tensor *sorted, int64_t n)
{
    int64_t *next = start, *end = start + ctx->world;
    for (int64_t i = 0; i < n; i++) {
        int32_t best = -1;
        for (int32_t q = 0; q < ctx->world; q++)
            if (next[q] < end[q] && (best < 0 || list_of(q, offset)[1 + next[q]] < list_of(best, offset)[1 + next[best]]))
                best = q;
        store(sorted, i, list_of(best, offset)[1 + next[best]++]);
    }
}

/* Shapes differ between ranks, and a block must have the same size on all. The output has room for a W-th of everybody's
 * values, rounded up, and no rank has more values than all together. */
int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)in;
    set = 1 + (size_t)out[0].shape[0] * (size_t)ctx->world;
    start = malloc(2 * (size_t)ctx->world * sizeof(*start));
    return start ? ctx->symm_alloc(ctx, 2 * set * sizeof(uint64_t), &box) : -1;
}

void pkb_teardown(const pkb_context *ctx)
{
    (void)ctx;
    free(start);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    size_t offset = call++ % 2 * set;
    int64_t n = *(const int64_t *)in[1].data, total = 0, share, extra, first;
    uint64_t *own = (uint64_t *)box.local + offset;

    own[0] = (uint64_t)n;
    for (int64_t i = 0; i < n; i++)
        own[1 + i] = key_of(&in[0], i);
    qsort(own + 1, (size_t)n, sizeof(*own), ascending);
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int32_t q = 0; q < ctx->world; q++)
        total += (int64_t)list_of(q, offset)[0];
    share = total / ctx->world;
    extra = total % ctx->world;
    first = ctx->rank * share + (ctx->rank < extra ? ctx->rank : extra);
    share += ctx->rank < extra;
    cut(ctx, offset, first, start);
    cut(ctx, offset, first + share, start + ctx->world);
    merge(ctx, offset, &out[0], share);
    *(int64_t *)out[1].data = share;
    return 0;
}
