/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/graph/route.h"

void route_plan(const struct problem_call *c, struct route *r, const pkb_tensor *owner)
{
    pkb_tensor *counts = rt_new(c->rt, PKB_I64, RT_SHAPE(c->world->size));
    r->order = rt_new_like(c->rt, PKB_I64, owner);
    rt_argsort(c->rt, r->order, owner);
    rt_bincount(c->rt, counts, owner);
    rows_agree(c, &r->exchange, counts);
}

pkb_tensor *route_send(const struct problem_call *c, const struct route *r, const pkb_tensor *rows)
{
    return rows_send(c, &r->exchange, rows_take(c, rows, r->order));
}

pkb_tensor *route_answer(const struct problem_call *c, const struct route *r, const pkb_tensor *answers)
{
    return rows_return(c, &r->exchange, answers);
}

pkb_tensor *route_inverse(const struct problem_call *c, const struct route *r)
{
    pkb_tensor *inverse = rt_new_like(c->rt, PKB_I64, r->order);
    rt_put_rows(c->rt, inverse, rows_positions(c, rows_count(r->order)), r->order);
    return inverse;
}
