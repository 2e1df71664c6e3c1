/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of look-ups, moves of rows, sorting and counting. */
#include "runtime/front.h"

static int check_index(const pkb_tensor *index, struct pkb_error *err)
{
    if (front_check(index, "index", err))
        return -1;
    if (index->dtype != PKB_I32 && index->dtype != PKB_I64)
        return pkb_error_set(err, "index is %s, i32 or i64 is needed", front_form(index).text);
    return 0;
}

static int64_t product(const int64_t *extents, int n)
{
    int64_t p = 1;
    for (int i = 0; i < n; i++)
        p *= extents[i];
    return p;
}

/* ---- taking -------------------------------------------------------------------------------------------------------- */

static int check_result(const pkb_tensor *dst, const pkb_tensor *form, const pkb_tensor *src, struct pkb_error *err)
{
    if (!tensor_same_form(dst, form))
        return pkb_error_set(err, "destination is %s, the result %s", front_form(dst).text, front_form(form).text);
    if (front_shares(dst, src))
        return pkb_error_set(err, "destination is the source");
    return 0;
}

static int check_take_rows(const pkb_tensor *dst, const pkb_tensor *table, const pkb_tensor *index, struct rt_take_form *f,
                           struct pkb_error *err)
{
    if (front_check(dst, "destination", err) || front_check(table, "table", err) || check_index(index, err))
        return -1;
    if (table->ndim < 1 || index->ndim + table->ndim - 1 > PKB_MAX_DIMS)
        return pkb_error_set(err, "table %s, index %s", front_form(table).text, front_form(index).text);
    pkb_tensor form = {.dtype = table->dtype, .ndim = index->ndim + table->ndim - 1};
    for (int i = 0; i < form.ndim; i++)
        form.shape[i] = i < index->ndim ? index->shape[i] : table->shape[i - index->ndim + 1];
    *f = (struct rt_take_form){1, table->shape[0], front_numel(index), product(table->shape + 1, table->ndim - 1)};
    return check_result(dst, &form, table, err);
}

void rt_take_rows(struct rt *rt, pkb_tensor *dst, const pkb_tensor *table, const pkb_tensor *index)
{
    struct pkb_error err;
    struct rt_take_form form;
    if (rt->failed)
        return;
    if (check_take_rows(dst, table, index, &form, &err) || rt->be->take(rt->dev, dst, table, index, &form, &err))
        front_fail(rt, "take_rows", &err);
}

static int check_take(const pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index, int axis, struct rt_take_form *f,
                      struct pkb_error *err)
{
    if (front_check(dst, "destination", err) || front_check(src, "source", err) || check_index(index, err) ||
        front_axis(src, &axis, err))
        return -1;
    if (index->ndim != 1)
        return pkb_error_set(err, "index is %s, one dimension is needed", front_form(index).text);
    pkb_tensor form = *src;
    form.shape[axis] = index->shape[0];
    *f = (struct rt_take_form){product(src->shape, axis), src->shape[axis], index->shape[0],
                               product(src->shape + axis + 1, src->ndim - axis - 1)};
    return check_result(dst, &form, src, err);
}

void rt_take(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index, int axis)
{
    struct pkb_error err;
    struct rt_take_form form;
    if (rt->failed)
        return;
    if (check_take(dst, src, index, axis, &form, &err) || rt->be->take(rt->dev, dst, src, index, &form, &err))
        front_fail(rt, "take", &err);
}

static int check_take_along(const pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index, struct pkb_error *err)
{
    if (front_check(dst, "destination", err) || front_check(src, "source", err) || check_index(index, err))
        return -1;
    if (src->ndim < 1 || index->ndim != src->ndim)
        return pkb_error_set(err, "source is %s, index %s", front_form(src).text, front_form(index).text);
    for (int i = 0; i < src->ndim - 1; i++) {
        if (src->shape[i] != index->shape[i])
            return pkb_error_set(err, "source is %s, index %s", front_form(src).text, front_form(index).text);
    }
    pkb_tensor form = *index;
    form.dtype = src->dtype;
    return check_result(dst, &form, src, err);
}

void rt_take_along(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (check_take_along(dst, src, index, &err) || rt->be->take_along(rt->dev, dst, src, index, &err))
        front_fail(rt, "take_along", &err);
}

/* ---- moves of rows ------------------------------------------------------------------------------------------------- */

static int check_rows(const pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index, struct pkb_error *err)
{
    if (front_check(dst, "destination", err) || front_check(src, "source", err) || check_index(index, err))
        return -1;
    if (src->ndim < 1 || index->ndim != 1 || index->shape[0] != src->shape[0])
        return pkb_error_set(err, "source is %s, index %s", front_form(src).text, front_form(index).text);
    pkb_tensor form = *src;
    form.dtype = dst->dtype;
    form.shape[0] = dst->ndim < 1 ? 0 : dst->shape[0];
    if (!tensor_same_form(dst, &form))
        return pkb_error_set(err, "rows of %s do not fit into %s", front_form(src).text, front_form(dst).text);
    if (front_shares(dst, src))
        return pkb_error_set(err, "destination is the source");
    return 0;
}

void rt_put_rows(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (check_rows(dst, src, index, &err))
        front_fail(rt, "put_rows", &err);
    else if (dst->dtype != src->dtype)
        rt_fail(rt, "put_rows: destination is %s, source %s", dtype_name(dst->dtype), dtype_name(src->dtype));
    else if (rt->be->put_rows(rt->dev, dst, src, index, &err))
        front_fail(rt, "put_rows", &err);
}

void rt_add_rows(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (check_rows(dst, src, index, &err) || rt->be->add_rows(rt->dev, dst, src, index, &err))
        front_fail(rt, "add_rows", &err);
}

/* ---- sorting, counting --------------------------------------------------------------------------------------------- */

static int check_argsort(const pkb_tensor *order, const pkb_tensor *keys, struct pkb_error *err)
{
    if (front_check(order, "order", err) || front_check(keys, "keys", err))
        return -1;
    pkb_tensor form = *keys;
    form.dtype = PKB_I64;
    if (keys->ndim < 1 || !tensor_same_form(order, &form))
        return pkb_error_set(err, "order is %s, keys %s", front_form(order).text, front_form(keys).text);
    if (front_shares(order, keys))
        return pkb_error_set(err, "order shares the storage of the keys");
    return 0;
}

void rt_argsort(struct rt *rt, pkb_tensor *order, const pkb_tensor *keys)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (check_argsort(order, keys, &err) || rt->be->argsort(rt->dev, order, keys, &err))
        front_fail(rt, "argsort", &err);
}

static int check_search(const pkb_tensor *position, const pkb_tensor *table, const pkb_tensor *values, struct pkb_error *err)
{
    if (front_check(position, "position", err) || front_check(table, "table", err) || front_check(values, "values", err))
        return -1;
    if (table->ndim != 1 || table->dtype != values->dtype)
        return pkb_error_set(err, "table is %s, values %s", front_form(table).text, front_form(values).text);
    pkb_tensor form = *values;
    form.dtype = PKB_I64;
    if (!tensor_same_form(position, &form))
        return pkb_error_set(err, "position is %s, values %s", front_form(position).text, front_form(values).text);
    if (front_shares(position, table))
        return pkb_error_set(err, "position shares the storage of the table");
    return front_alias(position, values, err);
}

void rt_search_sorted(struct rt *rt, pkb_tensor *position, const pkb_tensor *table, const pkb_tensor *values, bool right)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (check_search(position, table, values, &err) || rt->be->search_sorted(rt->dev, position, table, values, right, &err))
        front_fail(rt, "search_sorted", &err);
}

static int check_bincount(const pkb_tensor *counts, const pkb_tensor *values, struct pkb_error *err)
{
    if (front_check(counts, "counts", err) || front_check(values, "values", err))
        return -1;
    if (counts->ndim != 1 || counts->dtype != PKB_I64 || values->ndim != 1 || dtype_is_float(values->dtype))
        return pkb_error_set(err, "counts is %s, values %s", front_form(counts).text, front_form(values).text);
    return 0;
}

void rt_bincount(struct rt *rt, pkb_tensor *counts, const pkb_tensor *values)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (check_bincount(counts, values, &err) || rt->be->bincount(rt->dev, counts, values, &err))
        front_fail(rt, "bincount", &err);
}
