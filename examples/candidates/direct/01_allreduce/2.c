/* SPDX-License-Identifier: Apache-2.0 */
/* Two phases: every rank sums its own slice over all ranks, then everybody collects the slices. Each element is added up once,
 * not once per rank. */
#include <pkb/candidate.h>

#include <string.h>

#define BLOCK 2048

static pkb_symm box; /* x, then the sums of this rank's slice at their place in the matrix */
static size_t bytes; /* of each of the two */

static float widen(uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof(value));
    return value;
}

/* To nearest even; the data hold no NaN. */
static uint16_t narrow(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof(word));
    return (uint16_t)((word + 0x7fff + ((word >> 16) & 1)) >> 16);
}

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

static void add(float *sum, const void *src, int64_t at, int n, int dtype)
{
    if (dtype == PKB_BF16) {
        const uint16_t *x = (const uint16_t *)src + at;
        for (int i = 0; i < n; i++)
            sum[i] += widen(x[i]);
    } else {
        const float *x = (const float *)src + at;
        for (int i = 0; i < n; i++)
            sum[i] += x[i];
    }
}

static void store(void *dst, int64_t at, const float *sum, int n, int dtype)
{
    if (dtype == PKB_BF16) {
        uint16_t *y = (uint16_t *)dst + at;
        for (int i = 0; i < n; i++)
            y[i] = narrow(sum[i]);
    } else {
        memcpy((float *)dst + at, sum, (size_t)n * sizeof(float));
    }
}

/* The slice of rank q: [first(q), first(q + 1)). */
static int64_t first(const pkb_context *ctx, int64_t total, int32_t q)
{
    return total * q / ctx->world;
}

static void reduce(const pkb_context *ctx, int64_t from, int64_t to, int dtype)
{
    float sum[BLOCK];
    for (int64_t at = from; at < to; at += BLOCK) {
        int n = to - at < BLOCK ? (int)(to - at) : BLOCK;
        memset(sum, 0, sizeof(sum));
        for (int32_t q = 0; q < ctx->world; q++)
            add(sum, box.peers[q], at, n, dtype);
        store((char *)box.local + bytes, at, sum, n, dtype);
    }
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    bytes = (size_t)elements(in) * item_size(in);
    return ctx->symm_alloc(ctx, 2 * bytes, &box);
}

/* The second barrier ends all reading of x, the next call's first one all reading of the sums: neither needs a second copy. */
int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int64_t total = elements(in);
    size_t item = item_size(in);

    memcpy(box.local, in[0].data, bytes);
    if (ctx->barrier(ctx) != 0)
        return -1;
    reduce(ctx, first(ctx, total, ctx->rank), first(ctx, total, ctx->rank + 1), in[0].dtype);
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int32_t q = 0; q < ctx->world; q++) {
        size_t from = (size_t)first(ctx, total, q) * item, to = (size_t)first(ctx, total, q + 1) * item;
        memcpy((char *)out[0].data + from, (const char *)box.peers[q] + bytes + from, to - from);
    }
    return 0;
}
