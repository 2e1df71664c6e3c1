/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/expert_parallel/routing.h"

pkb_tensor *moe_top_k(const struct problem_call *c, const pkb_tensor *scores, int64_t tokens, int64_t experts, int64_t k)
{
    pkb_tensor *negative = rt_new(c->rt, c->setting->dtype, RT_SHAPE(tokens, experts));
    pkb_tensor *order = rt_new(c->rt, PKB_I64, RT_SHAPE(tokens, experts));
    pkb_tensor *sel = rt_new(c->rt, PKB_I64, RT_SHAPE(tokens, k));
    rt_unary(c->rt, RT_NEG, negative, scores);
    rt_argsort(c->rt, order, negative);
    rt_slice(c->rt, sel, order, 1, 0);
    return sel;
}

void moe_make_entries(const struct problem_call *c, const pkb_tensor *sel, const pkb_tensor *weights, int64_t tokens,
                      int64_t experts, int64_t k, struct moe_entries *entries)
{
    pkb_tensor *flat = rt_view(c->rt, sel, RT_SHAPE(tokens * k));
    pkb_tensor *order = rt_new(c->rt, PKB_I64, RT_SHAPE(tokens * k));
    entries->token = rt_new(c->rt, PKB_I64, RT_SHAPE(tokens * k));
    entries->weight = rt_new(c->rt, c->setting->dtype, RT_SHAPE(tokens * k, 1));
    entries->counts = rt_new(c->rt, PKB_I64, RT_SHAPE(experts));
    rt_argsort(c->rt, order, flat);
    rt_binary_scalar(c->rt, RT_FLOORDIV, entries->token, order, (double)k);
    rt_take_rows(c->rt, entries->weight, rt_view(c->rt, weights, RT_SHAPE(tokens * k, 1)), order);
    rt_bincount(c->rt, entries->counts, flat);
}

/* Sorted by token, entries keep their order: column i holds every token's entry number i. */
static pkb_tensor *entries_of_tokens(const struct problem_call *c, const pkb_tensor *token, int64_t tokens, int64_t k)
{
    pkb_tensor *by_token = rt_new(c->rt, PKB_I64, RT_SHAPE(tokens * k));
    pkb_tensor *columns = rt_new(c->rt, PKB_I64, RT_SHAPE(k, tokens));
    rt_argsort(c->rt, by_token, token);
    rt_permute(c->rt, columns, rt_view(c->rt, by_token, RT_SHAPE(tokens, k)), (const int[]){1, 0});
    return columns;
}

void moe_combine(const struct problem_call *c, pkb_tensor *out, const pkb_tensor *rows, const pkb_tensor *token, int64_t k)
{
    pkb_tensor *columns = entries_of_tokens(c, token, out->shape[0], k);
    pkb_tensor *term = rt_new_like(c->rt, out->dtype, out);
    rt_fill(c->rt, out, 0);
    for (int64_t i = 0; i < k; i++) {
        rt_take_rows(c->rt, term, rows, rt_entry(c->rt, columns, i));
        rt_binary(c->rt, RT_ADD, out, out, term);
    }
}
