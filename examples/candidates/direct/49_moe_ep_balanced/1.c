/* SPDX-License-Identifier: Apache-2.0 */
/* Rows carry their return address: every rank stores its tokens, with their number and weight, in its own slot at the experts'
 * ranks, and an expert stores its weighted results where the combination reads them. No counts are exchanged first, and no
 * order is restored. */
#include <pkb/candidate.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { X, ROUTER, ROUTER_BIAS, GATE, GATE_BIAS, UP, UP_BIAS, DOWN, DOWN_BIAS }; /* inputs */

#define LANES 16

/* One token that has selected the expert. */
struct entry {
    int32_t token, choice; /* the choice-th expert of the token, in ascending order */
    float weight;
};

/* What one rank sends to one expert: the count, the entries, and behind them the rows (f32). */
struct slot {
    int64_t count;
    struct entry entries[];
};

static pkb_symm inbox;   /* a slot per source */
static pkb_symm results; /* (k, tokens, width) of f32 */
static size_t slot_size;
static int64_t tokens, width, inner, top_k;
static float *x, *scores, *gate, *up, *down, *router; /* inputs in f32 */
static float *hidden;

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

static float get(const pkb_tensor *t, int64_t i)
{
    return t->dtype == PKB_BF16 ? widen(((const uint16_t *)t->data)[i]) : ((const float *)t->data)[i];
}

static float rounded(float value, int dtype)
{
    return dtype == PKB_BF16 ? widen(narrow(value)) : value;
}

static void load(float *to, const pkb_tensor *t)
{
    for (int64_t i = 0; i < t->shape[0] * t->shape[1]; i++)
        to[i] = get(t, i);
}

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

/* ---- routing --------------------------------------------------------------------------------------------------------- */

/* Softmax of one token's scores, rounded as scores and probabilities are stored. */
static void route(const pkb_tensor *in, int64_t token, int64_t experts)
{
    float max = -INFINITY, sum = 0;
    for (int64_t e = 0; e < experts; e++) {
        float score = dot(x + token * width, router + e * width, width) + get(&in[ROUTER_BIAS], e);
        scores[e] = rounded(score, in[X].dtype);
        max = fmaxf(max, scores[e]);
    }
    for (int64_t e = 0; e < experts; e++) {
        scores[e] = expf(scores[e] - max);
        sum += scores[e];
    }
    for (int64_t e = 0; e < experts; e++)
        scores[e] = rounded(scores[e] / sum, in[X].dtype);
}

/* Whether fewer than k experts come before e: larger probabilities, the smaller number first among equals. */
static int selected(int64_t e, int64_t experts)
{
    int64_t before = 0;
    for (int64_t f = 0; f < experts; f++)
        before += scores[f] > scores[e] || (scores[f] == scores[e] && f < e);
    return before < top_k;
}

static struct slot *slot_at(int32_t expert, int32_t source)
{
    return (struct slot *)((char *)inbox.peers[expert] + (size_t)source * slot_size);
}

static float *rows_of(struct slot *s)
{
    return (float *)(s->entries + tokens);
}

static void send_tokens(const pkb_context *ctx, const pkb_tensor *in)
{
    for (int32_t e = 0; e < ctx->world; e++)
        slot_at(e, ctx->rank)->count = 0;
    for (int64_t t = 0; t < tokens; t++) {
        int32_t choice = 0;
        route(in, t, ctx->world);
        for (int32_t e = 0; e < ctx->world; e++) {
            if (!selected(e, ctx->world))
                continue;
            struct slot *s = slot_at(e, ctx->rank);
            memcpy(rows_of(s) + s->count * width, x + t * width, (size_t)width * sizeof(float));
            s->entries[s->count++] = (struct entry){(int32_t)t, choice++, scores[e]};
        }
    }
}

/* ---- expert ---------------------------------------------------------------------------------------------------------- */

/* weight * MLP(row), stored where the token's rank will look for it. */
static void expert(const pkb_tensor *in, const float *token, float weight, float *to)
{
    int dtype = in[X].dtype;
    for (int64_t i = 0; i < inner; i++) {
        float g = rounded(dot(gate + i * width, token, width) + get(&in[GATE_BIAS], i), dtype);
        float u = rounded(dot(up + i * width, token, width) + get(&in[UP_BIAS], i), dtype);
        hidden[i] = rounded(rounded(g / (1 + expf(-g)), dtype) * u, dtype);
    }
    for (int64_t j = 0; j < width; j++)
        to[j] = rounded(weight * rounded(dot(down + j * inner, hidden, inner) + get(&in[DOWN_BIAS], j), dtype), dtype);
}

static void serve(const pkb_context *ctx, const pkb_tensor *in)
{
    for (int32_t step = 0; step < ctx->world; step++) {
        int32_t q = (ctx->rank + step) % ctx->world;
        struct slot *s = slot_at(ctx->rank, q);
        for (int64_t i = 0; i < s->count; i++) {
            const struct entry *e = &s->entries[i];
            float *to = (float *)results.peers[q] + (e->choice * tokens + e->token) * width;
            expert(in, rows_of(s) + i * width, e->weight, to);
        }
    }
}

/* The k results of a token, by ascending expert. */
static void combine(const pkb_tensor *out)
{
    const float *r = results.local;
    for (int64_t i = 0; i < tokens * width; i++) {
        float sum = 0;
        for (int64_t k = 0; k < top_k; k++)
            sum = rounded(sum + r[k * tokens * width + i], out->dtype);
        if (out->dtype == PKB_BF16)
            ((uint16_t *)out->data)[i] = narrow(sum);
        else
            ((float *)out->data)[i] = sum;
    }
}

/* ---- the candidate --------------------------------------------------------------------------------------------------- */

/* One block of memory for all that is read in f32. */
static int make_workspace(int64_t experts)
{
    float *block = malloc((size_t)(tokens * width + experts + 3 * inner * width + experts * width + inner) * sizeof(float));
    x = block;
    scores = x + tokens * width;
    gate = scores + experts;
    up = gate + inner * width;
    down = up + inner * width;
    router = down + inner * width;
    hidden = router + experts * width;
    return block ? 0 : -1;
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    tokens = in[X].shape[0];
    width = in[X].shape[1];
    inner = in[GATE].shape[0];
    top_k = (int64_t)pkb_param_value(ctx, "k", 2);
    top_k = top_k < ctx->world ? top_k : ctx->world;
    slot_size = sizeof(struct slot) + (size_t)tokens * (sizeof(struct entry) + (size_t)width * sizeof(float));
    slot_size = (slot_size + 63) / 64 * 64;
    if (make_workspace(ctx->world) != 0 || (in[X].dtype != PKB_BF16 && in[X].dtype != PKB_F32))
        return -1;
    if (ctx->symm_alloc(ctx, (size_t)ctx->world * slot_size, &inbox) != 0)
        return -1;
    return ctx->symm_alloc(ctx, (size_t)(top_k * tokens * width) * sizeof(float), &results);
}

void pkb_teardown(const pkb_context *ctx)
{
    (void)ctx;
    free(x);
}

/* The barriers separate what is overwritten from what is read: slots are read between them, results behind the second. */
int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    load(x, &in[X]);
    load(router, &in[ROUTER]);
    load(gate, &in[GATE]);
    load(up, &in[UP]);
    load(down, &in[DOWN]);
    send_tokens(ctx, in);
    if (ctx->barrier(ctx) != 0)
        return -1;
    serve(ctx, in);
    if (ctx->barrier(ctx) != 0)
        return -1;
    combine(out);
    return 0;
}
