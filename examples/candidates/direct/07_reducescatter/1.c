/* SPDX-License-Identifier: Apache-2.0 */
/* Pull: every rank publishes its matrix and, after one barrier, sums its own row block over all ranks. */
#include <pkb/candidate.h>

#include <string.h>

#define BLOCK 2048

static pkb_symm box; /* two copies of x, used in turn: one barrier per call is enough */
static size_t half;  /* bytes of one */
static unsigned call;

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

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    half = (size_t)elements(in) * item_size(in);
    return ctx->symm_alloc(ctx, 2 * half, &box);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int64_t total = elements(out), mine = total * ctx->rank;
    size_t offset = call++ % 2 * half;
    float sum[BLOCK];

    memcpy((char *)box.local + offset, in[0].data, half);
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int64_t at = 0; at < total; at += BLOCK) {
        int n = total - at < BLOCK ? (int)(total - at) : BLOCK;
        memset(sum, 0, sizeof(sum));
        for (int32_t q = 0; q < ctx->world; q++)
            add(sum, (const char *)box.peers[q] + offset, mine + at, n, in[0].dtype);
        store(out[0].data, at, sum, n, in[0].dtype);
    }
    return 0;
}
