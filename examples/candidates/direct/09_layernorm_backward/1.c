/* SPDX-License-Identifier: Apache-2.0 */
/* Every rank pushes its column sums to the ranks that own the columns; the owners add them and push the results to everybody. Two
 * barriers separate the phases, so no buffer needs a second copy. */
#include <pkb/candidate.h>

#include <stdlib.h>
#include <string.h>

static pkb_symm parts;   /* [rank][gamma, beta][slice] of f32: what the ranks have for the own columns */
static pkb_symm results; /* d_gamma and d_beta of all columns, f32 */
static float *sums;      /* [gamma, beta][columns] */
static int64_t slice;    /* columns that a rank owns, the last one fewer */

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

/* Adds a row of dY to beta and a row of rounded products to gamma. */
static void add_row(const pkb_tensor *in, int64_t row, float *gamma, float *beta)
{
    int64_t n = in[0].shape[1];
    if (in[0].dtype == PKB_BF16) {
        const uint16_t *x = (const uint16_t *)in[0].data + row * n, *dy = (const uint16_t *)in[1].data + row * n;
        for (int64_t j = 0; j < n; j++) {
            beta[j] += widen(dy[j]);
            gamma[j] += widen(narrow(widen(dy[j]) * widen(x[j])));
        }
    } else {
        const float *x = (const float *)in[0].data + row * n, *dy = (const float *)in[1].data + row * n;
        for (int64_t j = 0; j < n; j++) {
            beta[j] += dy[j];
            gamma[j] += dy[j] * x[j];
        }
    }
}

static void store(void *dst, int64_t at, float value, int dtype)
{
    if (dtype == PKB_BF16)
        ((uint16_t *)dst)[at] = narrow(value);
    else
        ((float *)dst)[at] = value;
}

/* Columns of rank q: how many, the first being q * slice. */
static int64_t owned(int32_t q, int64_t columns)
{
    int64_t rest = columns - q * slice;
    return rest < 0 ? 0 : rest < slice ? rest : slice;
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    int64_t columns = out[0].shape[0];
    slice = (columns + ctx->world - 1) / ctx->world;
    sums = malloc(2 * (size_t)columns * sizeof(float));
    if (!sums || (in[0].dtype != PKB_BF16 && in[0].dtype != PKB_F32))
        return -1;
    if (ctx->symm_alloc(ctx, 2 * (size_t)(ctx->world * slice) * sizeof(float), &parts) != 0)
        return -1;
    return ctx->symm_alloc(ctx, 2 * (size_t)columns * sizeof(float), &results);
}

void pkb_teardown(const pkb_context *ctx)
{
    (void)ctx;
    free(sums);
}

/* The own sums, to the owners of their columns. */
static void scatter(const pkb_context *ctx, int64_t columns)
{
    for (int32_t step = 0; step < ctx->world; step++) {
        int32_t q = (ctx->rank + step) % ctx->world;
        for (int k = 0; k < 2; k++)
            memcpy((float *)parts.peers[q] + (2 * ctx->rank + k) * slice, sums + k * columns + q * slice,
                   (size_t)owned(q, columns) * sizeof(float));
    }
}

/* The sums over the ranks of the own columns, to everybody. */
static void reduce(const pkb_context *ctx, int64_t columns)
{
    int64_t n = owned(ctx->rank, columns);
    float *total = parts.local;
    for (int k = 0; k < 2; k++, total += slice) {
        for (int32_t q = 1; q < ctx->world; q++)
            for (int64_t j = 0; j < n; j++)
                total[j] += total[2 * q * slice + j];
        for (int32_t q = 0; q < ctx->world; q++)
            memcpy((float *)results.peers[q] + k * columns + ctx->rank * slice, total, (size_t)n * sizeof(float));
    }
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int64_t rows = in[0].shape[0], columns = in[0].shape[1];

    memset(sums, 0, 2 * (size_t)columns * sizeof(float));
    for (int64_t i = 0; i < rows; i++)
        add_row(in, i, sums, sums + columns);
    scatter(ctx, columns);
    if (ctx->barrier(ctx) != 0)
        return -1;
    reduce(ctx, columns);
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int k = 0; k < 2; k++)
        for (int64_t j = 0; j < columns; j++)
            store(out[k].data, j, ((const float *)results.local)[k * columns + j], out[k].dtype);
    return 0;
}
