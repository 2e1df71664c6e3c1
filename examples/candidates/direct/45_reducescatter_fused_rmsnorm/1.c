/* SPDX-License-Identifier: Apache-2.0 */
/* Every rank pushes each chunk of its vector to the rank that normalises it; that rank reduces and normalises row by row,
 * while the row is in the cache. */
#include <pkb/candidate.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static pkb_symm box; /* two sets of one chunk per rank, used in turn: one barrier per call is enough */
static size_t bytes; /* of a chunk */
static float *row;   /* the mean of one row */
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

static float get(const void *data, int64_t i, int dtype)
{
    return dtype == PKB_BF16 ? widen(((const uint16_t *)data)[i]) : ((const float *)data)[i];
}

static float rounded(float value, int dtype)
{
    return dtype == PKB_BF16 ? widen(narrow(value)) : value;
}

/* The mean over the ranks, in `row`; returns the mean of its squares. */
static float reduce_row(const pkb_context *ctx, const char *chunks, int64_t at, int64_t n, int dtype)
{
    float squares = 0;
    for (int64_t k = 0; k < n; k++) {
        float sum = 0;
        for (int32_t q = 0; q < ctx->world; q++)
            sum += get(chunks + (size_t)q * bytes, at + k, dtype);
        row[k] = rounded(rounded(sum, dtype) / (float)ctx->world, dtype);
        squares += row[k] * row[k];
    }
    return squares / (float)n;
}

static void write_row(const pkb_tensor *y, const pkb_tensor *gamma, int64_t at, int64_t n, float inverse)
{
    for (int64_t k = 0; k < n; k++) {
        float value = row[k] * inverse * get(gamma->data, k, gamma->dtype);
        if (y->dtype == PKB_BF16)
            ((uint16_t *)y->data)[at + k] = narrow(value);
        else
            ((float *)y->data)[at + k] = value;
    }
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    row = malloc((size_t)out[0].shape[1] * sizeof(float));
    if (!row || (in[0].dtype != PKB_BF16 && in[0].dtype != PKB_F32))
        return -1;
    bytes = (size_t)(out[0].shape[0] * out[0].shape[1]) * (in[0].dtype == PKB_BF16 ? 2 : 4);
    return ctx->symm_alloc(ctx, 2 * (size_t)ctx->world * bytes, &box);
}

void pkb_teardown(const pkb_context *ctx)
{
    (void)ctx;
    free(row);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int64_t rows = out[0].shape[0], n = out[0].shape[1];
    size_t offset = call++ % 2 * (size_t)ctx->world * bytes;
    float eps = (float)pkb_param_value(ctx, "eps", 1e-5);

    for (int32_t step = 0; step < ctx->world; step++) {
        int32_t q = (ctx->rank + step) % ctx->world; /* every rank starts with another peer */
        memcpy((char *)box.peers[q] + offset + (size_t)ctx->rank * bytes, (const char *)in[0].data + (size_t)q * bytes, bytes);
    }
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int64_t j = 0; j < rows; j++) {
        float square = reduce_row(ctx, (const char *)box.local + offset, j * n, n, in[0].dtype);
        write_row(&out[0], &in[1], j * n, n, 1 / sqrtf(square + eps));
    }
    return 0;
}
