/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks wait for those alone that they need: for the members of their own stage, whose keys and values they read in place of a
 * ring, and for their partner in the other stage. Counters in symmetric memory say how far a rank is; a barrier would be one
 * of all ranks. */
#include <pkb/candidate.h>

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* What a rank has done since the start, in calls. The counters never go back. */
enum { PUBLISHED, HANDED, TAKEN, COUNTERS }; /* keys and values; an output to the next stage; an input from the one before */
#define LINE 64                              /* bytes; each counter has a cache line of its own */

static pkb_symm box; /* counters, then two sets that are used in turn: inputs from the stage before, keys, values (f32) */
static size_t input, keys, set;      /* elements of an input, of keys or values, of a set */
static float *x, *z, *context, *row; /* stage input, q k v, result of attention; a row of weights, or a query */
static uint64_t call;

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

static float rounded(float value, int dtype)
{
    return dtype == PKB_BF16 ? widen(narrow(value)) : value;
}

static void load(float *to, const pkb_tensor *t, size_t at, size_t n)
{
    if (t->dtype == PKB_BF16)
        for (size_t i = 0; i < n; i++)
            to[i] = widen(((const uint16_t *)t->data)[at + i]);
    else
        memcpy(to, (const float *)t->data + at, n * sizeof(float));
}

static _Atomic uint64_t *counter(int32_t rank, int which)
{
    return (_Atomic uint64_t *)((char *)box.peers[rank] + which * LINE);
}

static void wait_for(int32_t rank, int which, uint64_t count)
{
    while (atomic_load_explicit(counter(rank, which), memory_order_acquire) < count)
        sched_yield();
}

static void advance(int32_t rank, int which)
{
    atomic_fetch_add_explicit(counter(rank, which), 1, memory_order_release);
}

/* The set of this call in a rank's block: its input, then keys, then values. */
static float *set_of(int32_t rank)
{
    return (float *)((char *)box.peers[rank] + COUNTERS * LINE) + call % 2 * set;
}

/* ---- a layer --------------------------------------------------------------------------------------------------------- */

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

/* y (rows, n) = x w^T, rounded to w's dtype; w is (n, k). */
static void linear(float *y, const float *from, const pkb_tensor *w, int64_t rows)
{
    int64_t n = w->shape[0], k = w->shape[1];
    for (int64_t j = 0; j < n; j++) {
        load(row, w, (size_t)(j * k), (size_t)k);
        for (int64_t i = 0; i < rows; i++)
            y[i * n + j] = rounded(dot(from + i * k, row, k), w->dtype);
    }
}

struct layer {
    int64_t batch, s, heads, d; /* sizes of q, k, v */
    int32_t first, members;     /* ranks of the stage */
    int causal;
    float scale;
};

/* Keys and values from z (B, S, 3, H, D), for the other ranks of the stage. */
static void publish(const pkb_context *ctx, const struct layer *l)
{
    int64_t width = l->heads * l->d;
    float *own = set_of(ctx->rank) + input;
    for (int64_t i = 0; i < l->batch * l->s; i++)
        for (int kind = 0; kind < 2; kind++)
            memcpy(own + (size_t)kind * keys + i * width, z + (3 * i + 1 + kind) * width, (size_t)width * sizeof(float));
    advance(ctx->rank, PUBLISHED);
}

/* One query against one shard, of which it sees the first `seen` keys; `stride` elements from one position to the next. */
static void see(const float *query, const float *shard, int64_t seen, int64_t stride, int64_t d, float *state, float *sum)
{
    float *max = state, *total = state + 1;
    for (int64_t j = 0; j < seen; j++) {
        const float *key = shard + j * stride, *value = key + keys;
        float score = dot(query, key, d), shrink = score > *max ? expf(*max - score) : 1;
        *max = fmaxf(*max, score);
        float weight = expf(score - *max);
        *total = *total * shrink + weight;
        for (int64_t c = 0; c < d; c++)
            sum[c] = sum[c] * shrink + weight * value[c];
    }
}

/* Query i of batch b and head h; where causal it sees no shard behind its own, and there no key behind itself. */
static void attend(const pkb_context *ctx, const struct layer *l, int64_t b, int64_t i, int64_t h, float *to)
{
    int64_t width = l->heads * l->d, position = b * l->s + i;
    int32_t own = ctx->rank - l->first;
    float state[2] = {-INFINITY, 0};
    for (int64_t c = 0; c < l->d; c++)
        row[c] = z[3 * position * width + h * l->d + c] * l->scale;
    memset(to, 0, (size_t)l->d * sizeof(float));
    for (int32_t step = 0; step < l->members; step++) {
        int32_t member = (own - step + l->members) % l->members;
        const float *shard = set_of(l->first + member) + input + b * l->s * width + h * l->d;
        see(row, shard, !l->causal || member < own ? l->s : member == own ? i + 1 : 0, width, l->d, state, to);
    }
    for (int64_t c = 0; c < l->d; c++)
        to[c] /= state[1];
}

/* y = layer of x; x is free again afterwards, and becomes y. */
static void run_layer(const pkb_context *ctx, const struct layer *l, const pkb_tensor *w_qkv, const pkb_tensor *w_o)
{
    int64_t rows = l->batch * l->s, width = l->heads * l->d;
    linear(z, x, w_qkv, rows);
    publish(ctx, l);
    for (int32_t member = 0; member < l->members; member++)
        wait_for(l->first + member, PUBLISHED, call + 1);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t h = 0; h < l->heads; h++)
            attend(ctx, l, i / l->s, i % l->s, h, context + i * width + h * l->d);
    for (int64_t i = 0; i < rows * width; i++)
        context[i] = rounded(context[i], w_o->dtype);
    linear(x, context, w_o, rows);
}

/* ---- two stages ------------------------------------------------------------------------------------------------------ */

static struct layer describe(const pkb_context *ctx, const pkb_tensor *in)
{
    int32_t members = ctx->world > 1 ? ctx->world / 2 : 1;
    struct layer l = {.batch = in[0].shape[0], .s = in[0].shape[1], .members = members, .first = ctx->rank / members * members};
    l.heads = (int64_t)pkb_param_value(ctx, "H", 1);
    l.d = in[2].shape[1] / l.heads;
    l.causal = pkb_param_value(ctx, "causal", 1) != 0;
    l.scale = (float)pkb_param_value(ctx, "scale", 0);
    if (l.scale == 0)
        l.scale = 1 / sqrtf((float)l.d);
    return l;
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    size_t rows = (size_t)(in[0].shape[0] * in[0].shape[1]), width = (size_t)in[0].shape[2];
    (void)out;
    input = rows * width;
    keys = rows * (size_t)in[2].shape[1];
    set = input + 2 * keys;
    x = malloc(input * sizeof(float));
    z = malloc(3 * keys * sizeof(float));
    context = malloc(keys * sizeof(float));
    row = malloc((width + (size_t)in[2].shape[1]) * sizeof(float));
    if (!x || !z || !context || !row || (in[0].dtype != PKB_BF16 && in[0].dtype != PKB_F32))
        return -1;
    return ctx->symm_alloc(ctx, COUNTERS * LINE + 2 * set * sizeof(float), &box);
}

void pkb_teardown(const pkb_context *ctx)
{
    (void)ctx;
    free(x);
    free(z);
    free(context);
    free(row);
}

/* The input of stage 1 is in the own block when the partner has handed it over; once it is copied, the partner may write there
 * again. */
static void take(const pkb_context *ctx)
{
    wait_for(ctx->rank, HANDED, call + 1);
    memcpy(x, set_of(ctx->rank), input * sizeof(float));
    advance(ctx->rank, TAKEN);
}

/* What lies in this set at the partner is of the call before the last one. */
static void hand_over(int32_t partner)
{
    wait_for(partner, TAKEN, call > 0 ? call - 1 : 0);
    memcpy(set_of(partner), x, input * sizeof(float));
    advance(partner, HANDED);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    struct layer l = describe(ctx, in);

    if (l.first == 0)
        load(x, &in[0], 0, input);
    else
        take(ctx);
    run_layer(ctx, &l, &in[1], &in[2]);
    if (ctx->rank + l.members < ctx->world)
        hand_over(ctx->rank + l.members);
    if (out[0].dtype == PKB_BF16)
        for (size_t i = 0; i < input; i++)
            ((uint16_t *)out[0].data)[i] = narrow(x[i]);
    else
        memcpy(out[0].data, x, input * sizeof(float));
    call++;
    return 0;
}
