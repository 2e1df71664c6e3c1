/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "problems/expert_parallel/choice.h"
#include "problems/expert_parallel/draw.h"
#include "problems/expert_parallel/layer.h"

/* Far below the logits, and far from making a softmax 0. */
#define DESERTED_BIAS (-12)

/* Elements that are converted at a time. */
#define BLOCK 512

/* ---- weights ------------------------------------------------------------------------------------------------------- */

static void fill_projection(const struct problem_setting *s, struct problem_inputs *set, int weight,
                            const struct moe_recipe *recipe)
{
    double scale = 1 / sqrt((double)set->in[weight].shape[1]);
    if (s->inputs == PROFILE_HARDENED && recipe->expert_bias > 0) {
        kit_fill_scaled_normal(s, set, weight, scale);
        kit_fill_scaled_normal(s, set, weight + 1, recipe->expert_bias);
    } else {
        kit_fill_uniform(s, set, weight, -scale, scale);
        kit_fill_uniform(s, set, weight + 1, -scale, scale);
    }
}

static void fill_adapter(const struct problem_setting *s, struct problem_inputs *set, int a)
{
    bool published = s->inputs == PROFILE_PKB;
    double columns = (double)set->in[a].shape[1], rank = (double)set->in[a].shape[0];
    kit_fill_scaled_normal(s, set, a, published ? 1 : 1 / sqrt(columns));
    kit_fill_scaled_normal(s, set, a + 1, published ? 1 : 0.5 / sqrt(rank));
}

static void fill_router(const struct problem_setting *s, struct problem_inputs *set, const struct moe_sizes *z,
                        const struct moe_recipe *recipe)
{
    struct moe_range none = moe_deserted(s, set, z->experts, z->group, z->top_k);
    bool published = s->inputs == PROFILE_PKB;
    kit_fill_scaled_normal(s, set, MOE_ROUTER, published ? 1 : 1 / sqrt((double)z->width));
    kit_fill_scaled_normal(s, set, MOE_ROUTER + 1, published ? 1 : recipe->router_bias);
    kit_fill_rows(&set->in[MOE_ROUTER + 1], none.first, none.count, DESERTED_BIAS);
}

/* ---- tokens -------------------------------------------------------------------------------------------------------- */

static double normal_value(const void *arg, size_t i)
{
    return rng_normal(arg, i);
}

/* The product of two stored vectors of n elements, in f64. */
static double stored_product(int dtype, const char *a, const char *b, int64_t n)
{
    double x[BLOCK], y[BLOCK], sum = 0;
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t count = n - at < BLOCK ? n - at : BLOCK;
        dtype_to_f64(dtype, x, a + (size_t)at * dtype_size(dtype), (size_t)count);
        dtype_to_f64(dtype, y, b + (size_t)at * dtype_size(dtype), (size_t)count);
        for (int64_t i = 0; i < count; i++)
            sum += x[i] * y[i];
    }
    return sum;
}

/* Logits of a token. */
static void score_token(const void *arg, const pkb_tensor *row, double *scores)
{
    const struct problem_inputs *set = arg;
    const pkb_tensor *weight = &set->in[MOE_ROUTER], *bias = &set->in[MOE_ROUTER + 1];
    int64_t width = row->shape[0];
    dtype_to_f64(bias->dtype, scores, bias->data, (size_t)bias->shape[0]);
    for (int64_t e = 0; e < bias->shape[0]; e++) {
        const char *of_expert = (const char *)weight->data + (size_t)(e * width) * dtype_size(row->dtype);
        scores[e] += stored_product(row->dtype, row->data, of_expert, width);
    }
}

void moe_layer_init(const struct problem_setting *s, struct problem_inputs *set, const struct moe_recipe *recipe)
{
    struct moe_sizes z = moe_layer_sizes(s);
    struct moe_choice choice = {z.experts, z.top_k, score_token, set};
    struct rng tokens = problem_rng(s, set, MOE_X);
    for (int i = MOE_GATE; i < MOE_GATE_ADAPTER; i += 2)
        fill_projection(s, set, i, recipe);
    for (int i = MOE_GATE_ADAPTER; z.adapter > 0 && i <= MOE_DOWN_ADAPTER; i += 2)
        fill_adapter(s, set, i);
    fill_router(s, set, &z, recipe);
    if (s->inputs == PROFILE_PKB)
        kit_fill_normal(s, set, MOE_X);
    else
        moe_fill_clear(&set->in[MOE_X], normal_value, &tokens, &choice);
}
