/* SPDX-License-Identifier: Apache-2.0 */
/* Overlapped: a rank computes the row slices of the product in turn, those that its peers reduce first, and tells after each. Owners
 * reduce a slice as soon as all ranks have it, and everybody collects the slices as they become ready. Counters instead of barriers. */
#include <pkb/candidate.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 2048
#define HEADER 256

/* Columns of a panel of B, and rows of A that are multiplied with it at once: the sums stay in registers. */
#define COLS 16
#define ROWS 6

typedef float vec __attribute__((vector_size(4 * COLS), may_alias));

static pkb_symm box; /* counter, two products used in turn, two results used in turn */
static size_t bytes; /* of a product, rounded up */
static uint64_t call;
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

/* How much a rank has published since the start; never goes back, so no flag has to be reset. */
static _Atomic uint64_t *ready(int32_t rank)
{
    return (_Atomic uint64_t *)box.peers[rank];
}

static void wait_for(int32_t rank, uint64_t count)
{
    while (atomic_load_explicit(ready(rank), memory_order_acquire) < count)
        sched_yield();
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

/* The slice of rank q: rows [first_row(q), first_row(q + 1)). */
static int64_t first_row(const pkb_context *ctx, const pkb_tensor *out, int32_t q)
{
    return out[0].shape[0] * q / ctx->world;
}

static void announce(void)
{
    atomic_fetch_add_explicit((_Atomic uint64_t *)box.local, 1, memory_order_release);
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    bytes = round_up((size_t)elements(out) * item_size(out));
    return make_workspace(in) == 0 ? ctx->symm_alloc(ctx, HEADER + 4 * bytes, &box) : -1;
}

/* A call counts world + 1: one per slice of the product, one for the reduced slice. A rank that has counted in this call has left
 * the call before, so its buffers of then may be overwritten in the next. */
int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int32_t world = ctx->world, rank = ctx->rank;
    int64_t n = out[0].shape[1];
    uint64_t base = call * (uint64_t)(world + 1);
    size_t partial = HEADER + call++ % 2 * 2 * bytes, result = partial + bytes, row = (size_t)n * item_size(out);

    pack_b(&in[1]);
    for (int32_t step = 1; step <= world; step++) {
        int32_t q = (rank + step) % world;
        product(in, (char *)box.local + partial, first_row(ctx, out, q), first_row(ctx, out, q + 1));
        announce();
    }
    for (int32_t step = 1; step <= world; step++)
        wait_for((rank + world - step) % world, base + (uint64_t)step);
    reduce(ctx, partial, (char *)box.local + result, first_row(ctx, out, rank) * n, first_row(ctx, out, rank + 1) * n,
           out[0].dtype);
    announce();
    for (int32_t step = 0; step < world; step++) {
        int32_t q = (rank + step) % world;
        size_t from = (size_t)first_row(ctx, out, q) * row, to = (size_t)first_row(ctx, out, q + 1) * row;
        wait_for(q, base + (uint64_t)world + 1);
        memcpy((char *)out[0].data + from, (const char *)box.peers[q] + result + from, to - from);
    }
    return 0;
}
