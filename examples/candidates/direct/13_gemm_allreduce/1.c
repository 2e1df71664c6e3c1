/* SPDX-License-Identifier: Apache-2.0 */
/* Blocked product in f32, then an all-reduce in two phases: every rank sums its slice over all ranks, and all collect the slices. */
#include <pkb/candidate.h>

#include <stdlib.h>
#include <string.h>

#define BLOCK 2048

/* Columns of a panel of B, and rows of A that are multiplied with it at once: the sums stay in registers. */
#define COLS 16
#define ROWS 6

typedef float vec __attribute__((vector_size(4 * COLS), may_alias));

static pkb_symm box;          /* the partial product, then the sums of this rank's slice at their place in C */
static size_t bytes;          /* of a product, rounded up */
static float *panels, *strip; /* B and some rows of A, converted to f32 and packed */

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

static size_t round_up(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
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

static float value(const pkb_tensor *t, int64_t i)
{
    return t->dtype == PKB_BF16 ? widen(((const uint16_t *)t->data)[i]) : ((const float *)t->data)[i];
}

/* Panel after panel, each K rows of COLS numbers; the last one is padded with zeros. */
static void pack_b(const pkb_tensor *b)
{
    int64_t k = b->shape[0], n = b->shape[1];
    float *to = panels;
    for (int64_t left = 0; left < n; left += COLS)
        for (int64_t i = 0; i < k; i++)
            for (int64_t j = left; j < left + COLS; j++)
                *to++ = j < n ? value(b, i * n + j) : 0;
}

/* ROWS rows of A side by side, rows beyond the last as zeros. */
static void pack_a(const pkb_tensor *a, int64_t top)
{
    int64_t m = a->shape[0], k = a->shape[1];
    for (int r = 0; r < ROWS; r++)
        for (int64_t i = 0; i < k; i++)
            strip[i * ROWS + r] = top + r < m ? value(a, (top + r) * k + i) : 0;
}

static void multiply(const float *a, const vec *b, int64_t k, vec *c)
{
    vec c0 = {0}, c1 = {0}, c2 = {0}, c3 = {0}, c4 = {0}, c5 = {0};
    for (int64_t i = 0; i < k; i++, a += ROWS) {
        vec row = b[i];
        c0 += a[0] * row;
        c1 += a[1] * row;
        c2 += a[2] * row;
        c3 += a[3] * row;
        c4 += a[4] * row;
        c5 += a[5] * row;
    }
    c[0] = c0, c[1] = c1, c[2] = c2, c[3] = c3, c[4] = c4, c[5] = c5;
}

/* Rows [from, to) of the product of this rank, rounded to the dtype of the inputs. */
static void product(const pkb_tensor *in, void *dst, int64_t from, int64_t to)
{
    int64_t k = in[1].shape[0], n = in[1].shape[1];
    vec c[ROWS];
    for (int64_t top = from; top < to; top += ROWS) {
        pack_a(&in[0], top);
        for (int64_t left = 0; left < n; left += COLS) {
            int width = n - left < COLS ? (int)(n - left) : COLS;
            multiply(strip, (const vec *)(panels + left * k), k, c);
            for (int64_t r = 0; r < ROWS && top + r < to; r++)
                store(dst, (top + r) * n + left, (const float *)&c[r], width, in[0].dtype);
        }
    }
}

/* Elements [from, to): the partial products of all ranks, summed in f32. */
static void reduce(const pkb_context *ctx, size_t offset, void *dst, int64_t from, int64_t to, int dtype)
{
    float sum[BLOCK];
    for (int64_t at = from; at < to; at += BLOCK) {
        int n = to - at < BLOCK ? (int)(to - at) : BLOCK;
        memset(sum, 0, sizeof(sum));
        for (int32_t q = 0; q < ctx->world; q++)
            add(sum, (const char *)box.peers[q] + offset, at, n, dtype);
        store(dst, at, sum, n, dtype);
    }
}

/* Panels and strip are as large as the shapes need; both live as long as the process. */
static int make_workspace(const pkb_tensor *in)
{
    size_t k = (size_t)in[1].shape[0], n = (size_t)in[1].shape[1];
    panels = aligned_alloc(64, k * ((n + COLS - 1) / COLS) * COLS * sizeof(float));
    strip = aligned_alloc(64, round_up(k * ROWS * sizeof(float)));
    return panels && strip && (in[0].dtype == PKB_BF16 || in[0].dtype == PKB_F32) ? 0 : -1;
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    bytes = round_up((size_t)elements(out) * item_size(out));
    return make_workspace(in) == 0 ? ctx->symm_alloc(ctx, 2 * bytes, &box) : -1;
}

/* The second barrier ends all reading of the products, the next call's first one all reading of the sums. */
int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int64_t total = elements(out), from = total * ctx->rank / ctx->world, to = total * (ctx->rank + 1) / ctx->world;
    int64_t item = (int64_t)item_size(out);

    pack_b(&in[1]);
    product(in, box.local, 0, in[0].shape[0]);
    if (ctx->barrier(ctx) != 0)
        return -1;
    reduce(ctx, 0, (char *)box.local + bytes, from, to, out[0].dtype);
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int32_t q = 0; q < ctx->world; q++) {
        from = total * q / ctx->world * item, to = total * (q + 1) / ctx->world * item;
        memcpy((char *)out[0].data + from, (const char *)box.peers[q] + bytes + from, (size_t)(to - from));
    }
    return 0;
}
