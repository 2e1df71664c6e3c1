/* SPDX-License-Identifier: Apache-2.0 */
/* Every weight is read once for all tokens, and each row of logits goes to its place at every peer. */
#include <pkb/candidate.h>

#include <stdlib.h>
#include <string.h>

enum { HIDDEN, WEIGHT, BIAS }; /* inputs */

static pkb_symm box;        /* two outputs, used in turn: one barrier per call is enough */
static size_t whole;        /* bytes of one */
static float *states, *row; /* hidden states, one row of weights, f32 */
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

static void load(float *to, const pkb_tensor *t, int64_t at, int64_t n)
{
    if (t->dtype == PKB_BF16)
        for (int64_t i = 0; i < n; i++)
            to[i] = widen(((const uint16_t *)t->data)[at + i]);
    else
        memcpy(to, (const float *)t->data + at, (size_t)n * sizeof(float));
}

#define LANES 16

static float dot(const float *a, const float *b, int64_t n)
{
    float lanes[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            lanes[l] += a[i + l] * b[i + l];
    for (; i < n; i++)
        sum += a[i] * b[i];
    for (int l = 0; l < LANES; l++)
        sum += lanes[l];
    return sum;
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    size_t tokens = (size_t)in[HIDDEN].shape[0], hidden = (size_t)in[HIDDEN].shape[1];
    states = malloc((tokens + 1) * hidden * sizeof(float));
    if (!states || (in[0].dtype != PKB_BF16 && in[0].dtype != PKB_F32))
        return -1;
    row = states + tokens * hidden;
    whole = tokens * (size_t)out[0].shape[1] * (in[0].dtype == PKB_BF16 ? 2 : 4);
    return ctx->symm_alloc(ctx, 2 * whole, &box);
}

void pkb_teardown(const pkb_context *ctx)
{
    (void)ctx;
    free(states);
}

/* Logits of the own vocabulary, in the own columns of a set. */
static void multiply(const pkb_tensor *in, char *logits, int64_t first, int64_t vocabulary)
{
    int64_t tokens = in[HIDDEN].shape[0], hidden = in[HIDDEN].shape[1];
    for (int64_t j = 0; j < in[WEIGHT].shape[0]; j++) {
        float bias;
        load(row, &in[WEIGHT], j * hidden, hidden);
        load(&bias, &in[BIAS], j, 1);
        for (int64_t t = 0; t < tokens; t++) {
            float sum = dot(states + t * hidden, row, hidden) + bias;
            if (in[WEIGHT].dtype == PKB_BF16)
                ((uint16_t *)logits)[t * vocabulary + first + j] = narrow(sum);
            else
                ((float *)logits)[t * vocabulary + first + j] = sum;
        }
    }
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int64_t tokens = in[HIDDEN].shape[0], own = in[WEIGHT].shape[0], vocabulary = out[0].shape[1], first = ctx->rank * own;
    size_t offset = call++ % 2 * whole, size = in[0].dtype == PKB_BF16 ? 2 : 4;

    load(states, &in[HIDDEN], 0, tokens * in[HIDDEN].shape[1]);
    multiply(in, (char *)box.local + offset, first, vocabulary);
    for (int32_t step = 1; step < ctx->world; step++) {
        int32_t q = (ctx->rank + step) % ctx->world;
        for (int64_t t = 0; t < tokens; t++) {
            size_t at = offset + (size_t)(t * vocabulary + first) * size;
            memcpy((char *)box.peers[q] + at, (const char *)box.local + at, (size_t)own * size);
        }
    }
    if (ctx->barrier(ctx) != 0)
        return -1;
    memcpy(out[0].data, (const char *)box.local + offset, whole);
    return 0;
}
