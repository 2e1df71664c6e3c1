/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/graph/route.h"

#include "problems/rows.h"

void route_plan(const struct problem_call *c, struct route *r, const pkb_tensor *owner)
{
    int world = c->world->size;
    pkb_tensor *sent = rt_new(c->rt, PKB_I64, RT_SHAPE(world));
    pkb_tensor *received = rt_new(c->rt, PKB_I64, RT_SHAPE(world));
    r->order = rt_new_like(c->rt, PKB_I64, owner);
    rt_argsort(c->rt, r->order, owner);
    rt_bincount(c->rt, sent, owner);
    rt_all_to_all(c->rt, c->world, received, sent);
    rt_read_i64(c->rt, r->sent, sent);
    rt_read_i64(c->rt, r->received, received);
    r->n_received = 0;
    for (int q = 0; q < world; q++)
        r->n_received += r->received[q];
}

pkb_tensor *route_send(const struct problem_call *c, const struct route *r, const pkb_tensor *rows)
{
    pkb_tensor *received = rows_like(c, rows, r->n_received);
    rt_all_to_all_v(c->rt, c->world, received, r->received, rows_take(c, rows, r->order), r->sent);
    return received;
}

pkb_tensor *route_answer(const struct problem_call *c, const struct route *r, const pkb_tensor *answers)
{
    pkb_tensor *received = rows_like(c, answers, rows_count(r->order));
    rt_all_to_all_v(c->rt, c->world, received, r->sent, answers, r->received);
    return received;
}

pkb_tensor *route_inverse(const struct problem_call *c, const struct route *r)
{
    pkb_tensor *inverse = rt_new_like(c->rt, PKB_I64, r->order);
    rt_put_rows(c->rt, inverse, rows_positions(c, rows_count(r->order)), r->order);
    return inverse;
}
