/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/expert_parallel/draw.h"

#include <stdlib.h>

/* Streams of random numbers. */
enum { STREAM_WEIGHT = KIT_STREAM, STREAM_CHOICE, STREAM_OWNER };

struct moe_range moe_deserted(const struct problem_setting *s, const struct problem_inputs *set, int64_t experts, int owners,
                              int64_t needed)
{
    struct rng shared = problem_rng_shared(s, set, STREAM_OWNER);
    int64_t local = experts / owners;
    if (s->inputs == PROFILE_PKB || set->trial % 3 != 2 || experts - local < needed)
        return (struct moe_range){0, 0};
    return (struct moe_range){rng_integer(&shared, 0, 0, owners) * local, local};
}

/* Weights of 1, 2, 4, 8, but 0 for the experts that this rank does not select. */
static void draw_weights(const struct problem_setting *s, const struct problem_inputs *set, struct moe_draw *d)
{
    struct rng own = problem_rng(s, set, STREAM_WEIGHT);
    int64_t needed = d->distinct ? d->top_k : 1;
    struct moe_range none = moe_deserted(s, set, d->experts, s->world, needed);
    if (none.count == 0 && d->experts > needed)
        none = (struct moe_range){rng_integer(&own, (uint64_t)d->experts, 0, d->experts), 1};
    for (int64_t e = 0; e < d->experts; e++)
        d->weight[e] = (int64_t)1 << rng_integer(&own, (uint64_t)e, 0, 4);
    for (int64_t e = none.first; e < none.first + none.count; e++)
        d->weight[e] = 0;
}

void moe_draw_begin(const struct problem_setting *s, const struct problem_inputs *set, int64_t experts, int64_t top_k,
                    bool distinct, struct moe_draw *d)
{
    d->rng = problem_rng(s, set, STREAM_CHOICE);
    d->experts = experts;
    d->top_k = top_k;
    d->distinct = distinct;
    for (int64_t e = 0; e < experts; e++)
        d->weight[e] = 1;
    if (s->inputs == PROFILE_HARDENED)
        draw_weights(s, set, d);
}

static bool is_among(const int64_t *chosen, int64_t n, int64_t e)
{
    for (int64_t i = 0; i < n; i++) {
        if (chosen[i] == e)
            return true;
    }
    return false;
}

/* Weight of an expert when n of the token's have been chosen. */
static int64_t weight_left(const struct moe_draw *d, const int64_t *chosen, int64_t n, int64_t e)
{
    return d->distinct && is_among(chosen, n, e) ? 0 : d->weight[e];
}

static int64_t draw_one(const struct moe_draw *d, uint64_t index, const int64_t *chosen, int64_t n)
{
    int64_t sum = 0, e = 0;
    for (int64_t i = 0; i < d->experts; i++)
        sum += weight_left(d, chosen, n, i);
    int64_t ticket = rng_integer(&d->rng, index, 0, sum);
    for (;; e++) {
        ticket -= weight_left(d, chosen, n, e);
        if (ticket < 0)
            return e;
    }
}

void moe_draw_token(const struct moe_draw *d, int64_t token, int64_t *chosen)
{
    for (int64_t i = 0; i < d->top_k; i++)
        chosen[i] = draw_one(d, (uint64_t)(token * d->top_k + i), chosen, i);
}

void moe_draw_counts(const struct moe_draw *d, int64_t tokens, int64_t *counts)
{
    int64_t chosen[MOE_MAX_EXPERTS];
    for (int64_t e = 0; e < d->experts; e++)
        counts[e] = 0;
    for (int64_t t = 0; t < tokens; t++) {
        moe_draw_token(d, t, chosen);
        for (int64_t i = 0; i < d->top_k; i++)
            counts[chosen[i]]++;
    }
}

void moe_draw_mask(const struct moe_draw *d, int64_t tokens, pkb_tensor *mask)
{
    int64_t chosen[MOE_MAX_EXPERTS];
    float *elements = mask->data;
    kit_fill_constant(mask, 0);
    for (int64_t t = 0; t < tokens; t++) {
        moe_draw_token(d, t, chosen);
        for (int64_t i = 0; i < d->top_k; i++)
            elements[(chosen[i] * d->top_k + i) * tokens + t] = 1;
    }
}

static int ascending(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

void moe_draw_selection(const struct moe_draw *d, int64_t tokens, pkb_tensor *sel, pkb_tensor *map)
{
    int64_t *selected = sel->data;
    uint8_t *selects = map->data;
    kit_fill_constant(map, 0);
    for (int64_t t = 0; t < tokens; t++) {
        int64_t *of_token = &selected[t * d->top_k];
        moe_draw_token(d, t, of_token);
        qsort(of_token, (size_t)d->top_k, sizeof(*of_token), ascending);
        for (int64_t i = 0; i < d->top_k; i++)
            selects[of_token[i] * tokens + t] = 1;
    }
}

int moe_require_experts(const struct problem_setting *s, int64_t experts, int64_t k, struct pkb_error *err)
{
    if (experts < 1 || experts > MOE_MAX_EXPERTS)
        return pkb_error_set(err, "%lld experts: must be 1 to %d", (long long)experts, MOE_MAX_EXPERTS);
    if (experts % s->world != 0)
        return pkb_error_set(err, "%lld experts are not divisible by %d ranks", (long long)experts, s->world);
    if (k < 1 || k > experts)
        return pkb_error_set(err, "%lld of %lld experts cannot be selected", (long long)k, (long long)experts);
    return 0;
}
