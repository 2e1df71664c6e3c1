/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/expert_parallel/expert.h"

/* R(x w^T). */
static pkb_tensor *product(const struct problem_call *c, const pkb_tensor *x, const pkb_tensor *w, int64_t rows)
{
    pkb_tensor *y = rt_new(c->rt, c->setting->dtype, RT_SHAPE(rows, w->shape[0]));
    rt_matmul(c->rt, y, x, false, w, true);
    return y;
}

pkb_tensor *moe_linear(const struct problem_call *c, const struct moe_linear *l, const pkb_tensor *x, int64_t rows)
{
    int64_t width = l->weight->shape[0];
    pkb_tensor *sum = rt_new(c->rt, kit_accumulate_dtype(c->setting), RT_SHAPE(rows, width));
    pkb_tensor *y = rt_new(c->rt, c->setting->dtype, RT_SHAPE(rows, width));
    rt_matmul(c->rt, sum, x, false, l->weight, true);
    rt_binary(c->rt, RT_ADD, y, sum, l->bias);
    if (l->a)
        rt_binary(c->rt, RT_ADD, y, y, product(c, product(c, x, l->a, rows), l->b, rows));
    return y;
}

pkb_tensor *moe_expert(const struct problem_call *c, const struct moe_expert *e, const pkb_tensor *x, int64_t rows)
{
    pkb_tensor *inner = moe_linear(c, &e->gate, x, rows);
    rt_unary(c->rt, RT_SILU, inner, inner);
    rt_binary(c->rt, RT_MUL, inner, inner, moe_linear(c, &e->up, x, rows));
    return moe_linear(c, &e->down, inner, rows);
}
