/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over the local logits gives maximum, sum of exponentials relative to it, and the target's logit; these three
 * numbers per token go to the rank that owns the token, which combines them and stores the losses at all peers. */
#include <pkb/candidate.h>

#include <math.h>
#include <string.h>

struct part {
    float max, sum; /* of exp(logit - max) */
    float target;   /* logit of the target, 0 on the ranks that do not have it */
};

static pkb_symm parts;  /* [rank][slice]: what the ranks have for the own tokens */
static pkb_symm losses; /* of all tokens, f32 */
static int64_t slice;   /* tokens that a rank owns, the last one fewer */

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

static struct part local_part(const pkb_tensor *logits, int64_t token, int64_t target)
{
    int64_t n = logits->shape[2], first = token * n;
    struct part p = {.max = get(logits, first)};
    for (int64_t v = 1; v < n; v++)
        p.max = fmaxf(p.max, get(logits, first + v));
    for (int64_t v = 0; v < n; v++)
        p.sum += expf(get(logits, first + v) - p.max);
    if (target >= 0 && target < n)
        p.target = get(logits, first + target);
    return p;
}

/* The rank's parts of one token lie `slice` apart. */
static float loss(const struct part *p, int32_t world)
{
    float max = p[0].max, sum = 0, target = 0;
    for (int32_t q = 1; q < world; q++)
        max = fmaxf(max, p[q * slice].max);
    for (int32_t q = 0; q < world; q++) {
        sum += p[q * slice].sum * expf(p[q * slice].max - max);
        target += p[q * slice].target;
    }
    return logf(sum) - (target - max);
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    int64_t tokens = out[0].shape[0] * out[0].shape[1];
    slice = (tokens + ctx->world - 1) / ctx->world;
    if (in[0].dtype != PKB_BF16 && in[0].dtype != PKB_F32)
        return -1;
    if (ctx->symm_alloc(ctx, (size_t)(ctx->world * slice) * sizeof(struct part), &parts) != 0)
        return -1;
    return ctx->symm_alloc(ctx, (size_t)tokens * sizeof(float), &losses);
}

/* Two barriers, one after each phase: what a phase overwrites, nobody reads any more. */
int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int64_t tokens = in[1].shape[0] * in[1].shape[1], first = ctx->rank * slice;
    int64_t end = first + slice < tokens ? first + slice : tokens, vocabulary = in[0].shape[2];
    const int64_t *target = in[1].data;

    for (int64_t i = 0; i < tokens; i++) {
        struct part *at = (struct part *)parts.peers[i / slice] + ctx->rank * slice + i % slice;
        *at = local_part(&in[0], i, target[i] - ctx->rank * vocabulary);
    }
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int64_t i = first; i < end; i++) {
        float value = loss((const struct part *)parts.local + i - first, ctx->world);
        for (int32_t q = 0; q < ctx->world; q++)
            ((float *)losses.peers[q])[i] = value;
    }
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int64_t i = 0; i < tokens; i++) {
        float value = ((const float *)losses.local)[i];
        if (out[0].dtype == PKB_BF16)
            ((uint16_t *)out[0].data)[i] = narrow(value);
        else
            ((float *)out[0].data)[i] = value;
    }
    return 0;
}
