/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/rows.h"

int64_t rows_count(const pkb_tensor *t)
{
    return t ? t->shape[0] : 0;
}

pkb_tensor *rows_like(const struct problem_call *c, const pkb_tensor *like, int64_t count)
{
    if (!like)
        return NULL;
    pkb_tensor form = *like;
    form.shape[0] = count;
    return rt_new_like(c->rt, form.dtype, &form);
}

pkb_tensor *rows_positions(const struct problem_call *c, int64_t n)
{
    pkb_tensor *positions = rt_new(c->rt, PKB_I64, RT_SHAPE(n));
    rt_iota(c->rt, positions, 0, 1);
    return positions;
}

pkb_tensor *rows_take(const struct problem_call *c, const pkb_tensor *rows, const pkb_tensor *index)
{
    pkb_tensor *taken = rows_like(c, rows, rows_count(index));
    rt_take_rows(c->rt, taken, rows, index);
    return taken;
}

void rows_put(const struct problem_call *c, int output, const pkb_tensor *rows)
{
    rt_copy(c->rt, rt_rows(c->rt, &c->out[output], 0, rows_count(rows)), rows);
}

void rows_put_counted(const struct problem_call *c, int output, const pkb_tensor *rows, int counter)
{
    rows_put(c, output, rows);
    rt_fill(c->rt, &c->out[counter], (double)rows_count(rows));
}

int64_t rows_total(const struct problem_call *c, const pkb_tensor *counts)
{
    int64_t total = 0;
    pkb_tensor *sum = rt_new(c->rt, PKB_I64, RT_SCALAR);
    rt_reduce_axis(c->rt, RT_SUM, sum, counts, RT_ALL_AXES);
    rt_read_i64(c->rt, &total, sum);
    return total;
}

/* Chosen positions sort before the others, in their order. */
pkb_tensor *rows_where(const struct problem_call *c, const pkb_tensor *flags)
{
    pkb_tensor *chosen = rt_new_like(c->rt, PKB_I64, flags);
    pkb_tensor *other = rt_new_like(c->rt, PKB_I64, flags);
    pkb_tensor *order = rt_new_like(c->rt, PKB_I64, flags);
    rt_binary_scalar(c->rt, RT_NE, chosen, flags, 0);
    rt_binary_scalar(c->rt, RT_EQ, other, flags, 0);
    rt_argsort(c->rt, order, other);
    return rt_rows(c->rt, order, 0, rows_total(c, chosen));
}

/* Equal keys lie together when sorted, the first one first. */
pkb_tensor *rows_first(const struct problem_call *c, const pkb_tensor *keys)
{
    int64_t n = rows_count(keys);
    pkb_tensor *order = rt_new_like(c->rt, PKB_I64, keys);
    pkb_tensor *differs = rt_new_like(c->rt, PKB_I64, keys);
    pkb_tensor *first = rt_new_like(c->rt, PKB_I64, keys);
    if (n == 0)
        return first;
    rt_argsort(c->rt, order, keys);
    pkb_tensor *sorted = rows_take(c, keys, order);
    rt_fill(c->rt, rt_rows(c->rt, differs, 0, 1), 1);
    rt_binary(c->rt, RT_NE, rt_rows(c->rt, differs, 1, n - 1), rt_rows(c->rt, sorted, 1, n - 1),
              rt_rows(c->rt, sorted, 0, n - 1));
    rt_put_rows(c->rt, first, differs, order);
    return first;
}

pkb_tensor *rows_starts(const struct problem_call *c, const pkb_tensor *lengths)
{
    pkb_tensor *starts = rt_new_like(c->rt, PKB_I64, lengths);
    rt_cumsum(c->rt, starts, lengths);
    rt_binary(c->rt, RT_SUB, starts, starts, lengths);
    return starts;
}

struct rows_lists rows_lists(const struct problem_call *c, const pkb_tensor *starts, const pkb_tensor *lengths)
{
    pkb_tensor *ends = rt_new_like(c->rt, PKB_I64, lengths);
    pkb_tensor *shift = rt_new_like(c->rt, PKB_I64, lengths);
    rt_cumsum(c->rt, ends, lengths);
    rt_binary(c->rt, RT_SUB, shift, starts, rows_starts(c, lengths));

    pkb_tensor *position = rows_positions(c, rows_total(c, lengths));
    pkb_tensor *list = rt_new_like(c->rt, PKB_I64, position);
    rt_search_sorted(c->rt, list, ends, position, true);
    rt_binary(c->rt, RT_ADD, position, position, rows_take(c, shift, list));
    return (struct rows_lists){.list = list, .position = position};
}

pkb_tensor *rows_append(const struct problem_call *c, const pkb_tensor *a, const pkb_tensor *b)
{
    const pkb_tensor *parts[] = {a, b};
    if (!a)
        return rt_rows(c->rt, b, 0, rows_count(b));
    pkb_tensor *joined = rows_like(c, a, rows_count(a) + rows_count(b));
    rt_concat(c->rt, joined, KIT_COUNT(parts), parts, 0);
    return joined;
}

void rows_agree(const struct problem_call *c, struct rows_exchange *x, const pkb_tensor *counts)
{
    int world = c->world->size;
    pkb_tensor *received = rt_new(c->rt, PKB_I64, RT_SHAPE(world));
    rt_all_to_all(c->rt, c->world, received, counts);
    rt_read_i64(c->rt, x->sent, counts);
    rt_read_i64(c->rt, x->received, received);
    x->n_sent = x->n_received = 0;
    for (int q = 0; q < world; q++) {
        x->n_sent += x->sent[q];
        x->n_received += x->received[q];
    }
}

pkb_tensor *rows_send(const struct problem_call *c, const struct rows_exchange *x, const pkb_tensor *rows)
{
    pkb_tensor *received = rows_like(c, rows, x->n_received);
    rt_all_to_all_v(c->rt, c->world, received, x->received, rows, x->sent);
    return received;
}

pkb_tensor *rows_return(const struct problem_call *c, const struct rows_exchange *x, const pkb_tensor *answers)
{
    pkb_tensor *received = rows_like(c, answers, x->n_sent);
    rt_all_to_all_v(c->rt, c->world, received, x->sent, answers, x->received);
    return received;
}

void rows_gather(const struct problem_call *c, pkb_tensor *dst, const int64_t *counts, const pkb_tensor *src)
{
    int64_t first = 0;
    for (int q = 0; q < c->world->size; q++) {
        pkb_tensor *part = rt_rows(c->rt, dst, first, counts[q]);
        if (q == c->world->rank)
            rt_copy(c->rt, part, rt_rows(c->rt, src, 0, counts[q]));
        rt_broadcast(c->rt, c->world, part, q);
        first += counts[q];
    }
}
