/* SPDX-License-Identifier: Apache-2.0 */
/* No ring: every rank publishes its keys and values, and reads those of its peers where they are. Scores are formed and
 * consumed key by key (online softmax), from the own shard on down, so that nothing is stored between the shards. */
#include <pkb/candidate.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static pkb_symm box; /* two pairs of keys and values, f32, used in turn: one barrier per call is enough */
static size_t count; /* elements of q, k, v each */
static float *query; /* one query, scaled, and its sum of values */
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

static void load(float *to, const pkb_tensor *t, size_t at, size_t n)
{
    if (t->dtype == PKB_BF16)
        for (size_t i = 0; i < n; i++)
            to[i] = widen(((const uint16_t *)t->data)[at + i]);
    else
        memcpy(to, (const float *)t->data + at, n * sizeof(float));
}

static void store(const pkb_tensor *t, size_t at, const float *from, size_t n)
{
    if (t->dtype == PKB_BF16)
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)t->data)[at + i] = narrow(from[i]);
    else
        memcpy((float *)t->data + at, from, n * sizeof(float));
}

/* What a query has seen so far. */
struct state {
    float max, sum; /* of the scores, of exp(score - max) */
    float *values;  /* sum of exp(score - max) * value, D elements */
};

static void see(struct state *s, const float *key, const float *value, int64_t d)
{
    float score = 0, weight;
    for (int64_t c = 0; c < d; c++)
        score += query[c] * key[c];
    if (score > s->max) {
        float shrink = expf(s->max - score);
        s->sum *= shrink;
        for (int64_t c = 0; c < d; c++)
            s->values[c] *= shrink;
        s->max = score;
    }
    weight = expf(score - s->max);
    s->sum += weight;
    for (int64_t c = 0; c < d; c++)
        s->values[c] += weight * value[c];
}

/* Query i of batch b and head h; where causal it sees no rank behind its own, and there no key behind itself. */
static void attend(const pkb_context *ctx, const pkb_tensor *q, int64_t b, int64_t i, int64_t h, int causal, size_t offset)
{
    int64_t s = q->shape[1], heads = q->shape[2], d = q->shape[3];
    struct state state = {.max = -INFINITY, .values = query + d};
    memset(state.values, 0, (size_t)d * sizeof(float));
    for (int32_t step = 0; step < ctx->world; step++) {
        int32_t peer = (ctx->rank - step + ctx->world) % ctx->world;
        const float *keys = (const float *)box.peers[peer] + offset, *values = keys + count;
        int64_t seen = !causal || peer < ctx->rank ? s : peer == ctx->rank ? i + 1 : 0;
        for (int64_t j = 0; j < seen; j++) {
            int64_t at = ((b * s + j) * heads + h) * d;
            see(&state, keys + at, values + at, d);
        }
    }
    for (int64_t c = 0; c < d; c++)
        state.values[c] /= state.sum;
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    count = (size_t)(in[0].shape[0] * in[0].shape[1] * in[0].shape[2] * in[0].shape[3]);
    query = malloc(2 * (size_t)in[0].shape[3] * sizeof(float));
    if (!query || (in[0].dtype != PKB_BF16 && in[0].dtype != PKB_F32))
        return -1;
    return ctx->symm_alloc(ctx, 2 * 2 * count * sizeof(float), &box);
}

void pkb_teardown(const pkb_context *ctx)
{
    (void)ctx;
    free(query);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    size_t offset = call++ % 2 * 2 * count, d = (size_t)in[0].shape[3], rows = count / d;
    int64_t s = in[0].shape[1], heads = in[0].shape[2];
    int causal = pkb_param_value(ctx, "causal", 1) != 0;
    float scale = (float)pkb_param_value(ctx, "scale", 0);

    if (scale == 0)
        scale = 1 / sqrtf((float)d);
    load((float *)box.local + offset, &in[1], 0, count);
    load((float *)box.local + offset + count, &in[2], 0, count);
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (size_t row = 0; row < rows; row++) { /* of (B, S, H) */
        load(query, &in[0], row * d, d);
        for (size_t c = 0; c < d; c++)
            query[c] *= scale;
        attend(ctx, &in[0], (int64_t)row / (s * heads), (int64_t)row / heads % s, (int64_t)row % heads, causal, offset);
        store(&out[0], row * d, query + d, d);
    }
    return 0;
}
