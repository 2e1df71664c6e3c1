/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/expert_parallel/dispatch.h"

#include <string.h>

static int64_t total(const int64_t *rows, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += rows[i];
    return sum;
}

static void add_up(struct moe_exchange *x)
{
    x->sent = total(x->send, x->group->size);
    x->received = total(x->recv, x->group->size);
}

/* n: of every member's counts (G, E) the columns of the own experts. */
static pkb_tensor *own_columns(const struct problem_call *c, const struct rt_group *g, const pkb_tensor *counts, int64_t experts)
{
    int64_t local = experts / g->size;
    pkb_tensor *all = rt_new(c->rt, PKB_I64, RT_SHAPE(g->size, experts));
    pkb_tensor *own = rt_new(c->rt, PKB_I64, RT_SHAPE(g->size, local));
    rt_all_gather(c->rt, g, all, counts);
    rt_slice(c->rt, own, all, 1, g->rank * local);
    return own;
}

void moe_exchange_counts(const struct problem_call *c, const struct rt_group *g, const pkb_tensor *counts, int64_t experts,
                         struct moe_exchange *x)
{
    int64_t local = experts / g->size;
    pkb_tensor *send = rt_new(c->rt, PKB_I64, RT_SHAPE(g->size));
    pkb_tensor *recv = rt_new(c->rt, PKB_I64, RT_SHAPE(g->size));
    pkb_tensor *chunks = own_columns(c, g, counts, experts);
    rt_reduce_axis(c->rt, RT_SUM, send, rt_view(c->rt, counts, RT_SHAPE(g->size, local)), 1);
    rt_reduce_axis(c->rt, RT_SUM, recv, chunks, 1);
    x->group = g;
    x->local = local;
    rt_read_i64(c->rt, x->send, send);
    rt_read_i64(c->rt, x->recv, recv);
    rt_read_i64(c->rt, x->chunks, chunks);
    add_up(x);
}

void moe_exchange_given(const struct problem_call *c, const pkb_tensor *lists, struct moe_exchange *x)
{
    int world = c->world->size;
    x->group = c->world;
    x->local = lists[2].shape[1];
    memcpy(x->send, lists[0].data, (size_t)world * sizeof(*x->send));
    memcpy(x->recv, lists[1].data, (size_t)world * sizeof(*x->recv));
    memcpy(x->chunks, lists[2].data, (size_t)(world * x->local) * sizeof(*x->chunks));
    add_up(x);
}

pkb_tensor *moe_dispatch(const struct problem_call *c, const struct moe_exchange *x, const pkb_tensor *rows, int64_t width)
{
    pkb_tensor *received = rt_new(c->rt, c->setting->dtype, RT_SHAPE(x->received, width));
    rt_all_to_all_v(c->rt, x->group, received, x->recv, rows, x->send);
    return received;
}

pkb_tensor *moe_return(const struct problem_call *c, const struct moe_exchange *x, const pkb_tensor *rows, int64_t width)
{
    pkb_tensor *back = rt_new(c->rt, c->setting->dtype, RT_SHAPE(x->sent, width));
    rt_all_to_all_v(c->rt, x->group, back, x->send, rows, x->recv);
    return back;
}

/* Cuts src into rows x columns chunks, of which chunk (i, j) has n[i * row_step + j * column_step] rows, and puts them into the
 * order (j, i). */
static void transpose_chunks(const struct problem_call *c, pkb_tensor *dst, const pkb_tensor *src, const int64_t *n,
                             const int64_t size[2], const int64_t step[2])
{
    const pkb_tensor *parts[MOE_MAX_EXPERTS];
    int64_t first = 0;
    for (int64_t i = 0; i < size[0]; i++) {
        for (int64_t j = 0; j < size[1]; j++) {
            int64_t rows = n[i * step[0] + j * step[1]];
            parts[j * size[0] + i] = rt_rows(c->rt, src, first, rows);
            first += rows;
        }
    }
    rt_concat(c->rt, dst, (int)(size[0] * size[1]), parts, 0);
}

void moe_group(const struct problem_call *c, const struct moe_exchange *x, pkb_tensor *dst, const pkb_tensor *src)
{
    transpose_chunks(c, dst, src, x->chunks, (const int64_t[]){x->group->size, x->local}, (const int64_t[]){x->local, 1});
}

void moe_ungroup(const struct problem_call *c, const struct moe_exchange *x, pkb_tensor *dst, const pkb_tensor *src)
{
    transpose_chunks(c, dst, src, x->chunks, (const int64_t[]){x->local, x->group->size}, (const int64_t[]){1, x->local});
}
