/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of products and rearrangements. */
#include <inttypes.h>
#include <stdio.h>

#include "runtime/front.h"

/* ---- products ------------------------------------------------------------------------------------------------------ */

static int check_product_operands(const pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b, struct pkb_error *err)
{
    if (front_check(dst, "destination", err) || front_check(a, "left operand", err) || front_check(b, "right operand", err))
        return -1;
    if (a->dtype != b->dtype)
        return pkb_error_set(err, "operands are %s and %s", dtype_name(a->dtype), dtype_name(b->dtype));
    if (a->ndim < 2 || b->ndim != a->ndim || dst->ndim != a->ndim)
        return pkb_error_set(err, "%s = %s * %s: matrices or equal stacks of them are needed", front_form(dst).text,
                             front_form(a).text, front_form(b).text);
    if (front_shares(dst, a) || front_shares(dst, b))
        return pkb_error_set(err, "destination is an operand");
    return 0;
}

static int matmul_form(const pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b, struct rt_matmul_form *f,
                       struct pkb_error *err)
{
    int row = a->ndim - 2, col = a->ndim - 1;
    int64_t inner = f->trans_b ? b->shape[col] : b->shape[row];
    f->m = f->trans_a ? a->shape[col] : a->shape[row];
    f->k = f->trans_a ? a->shape[row] : a->shape[col];
    f->n = f->trans_b ? b->shape[row] : b->shape[col];
    f->batch = 1;
    if (f->k != inner)
        return pkb_error_set(err, "inner dimensions %" PRId64 " and %" PRId64 " differ", f->k, inner);
    if (dst->shape[row] != f->m || dst->shape[col] != f->n)
        return pkb_error_set(err, "destination is %s, the product %" PRId64 " x %" PRId64, front_form(dst).text, f->m, f->n);
    for (int i = 0; i < row; i++) {
        if (a->shape[i] != b->shape[i] || dst->shape[i] != a->shape[i])
            return pkb_error_set(err, "stacks differ: %s = %s * %s", front_form(dst).text, front_form(a).text,
                                 front_form(b).text);
        f->batch *= a->shape[i];
    }
    return 0;
}

void rt_matmul(struct rt *rt, pkb_tensor *dst, const pkb_tensor *a, bool trans_a, const pkb_tensor *b, bool trans_b)
{
    struct pkb_error err;
    struct rt_matmul_form form = {.trans_a = trans_a, .trans_b = trans_b};
    if (rt->failed)
        return;
    if (check_product_operands(dst, a, b, &err) || matmul_form(dst, a, b, &form, &err) ||
        rt->be->matmul(rt->dev, dst, a, b, &form, &err))
        front_fail(rt, "matmul", &err);
}

/* ---- rearrangements ------------------------------------------------------------------------------------------------ */

static int check_permute(const pkb_tensor *dst, const pkb_tensor *src, const int *order, struct pkb_error *err)
{
    unsigned seen = 0;
    if (front_check(dst, "destination", err) || front_check(src, "source", err))
        return -1;
    for (int i = 0; i < src->ndim; i++) {
        if (order[i] < 0 || order[i] >= src->ndim || (seen & 1u << order[i]))
            return pkb_error_set(err, "the order of dimensions is not a permutation of 0..%d", src->ndim - 1);
        seen |= 1u << order[i];
    }
    pkb_tensor form = {.dtype = src->dtype, .ndim = src->ndim};
    for (int i = 0; i < src->ndim; i++)
        form.shape[i] = src->shape[order[i]];
    if (!tensor_same_form(dst, &form))
        return pkb_error_set(err, "destination is %s, the result %s", front_form(dst).text, front_form(&form).text);
    if (front_shares(dst, src))
        return pkb_error_set(err, "destination is the source");
    return 0;
}

void rt_permute(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src, const int *order)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (check_permute(dst, src, order, &err) || rt->be->permute(rt->dev, dst, src, order, &err))
        front_fail(rt, "permute", &err);
}

/* Entries of the dimensions before an axis, and bytes of one entry of the axis. */
static size_t outer_entries(const pkb_tensor *t, int axis)
{
    size_t n = 1;
    for (int i = 0; i < axis; i++)
        n *= (size_t)t->shape[i];
    return n;
}

static size_t inner_bytes(const pkb_tensor *t, int axis)
{
    size_t bytes = dtype_size(t->dtype);
    for (int i = axis + 1; i < t->ndim; i++)
        bytes *= (size_t)t->shape[i];
    return bytes;
}

/* Adds a part's extent to *filled. */
static int check_part(const pkb_tensor *dst, const pkb_tensor *part, int axis, int64_t *filled, struct pkb_error *err)
{
    if (front_check(part, "part", err))
        return -1;
    pkb_tensor form = *dst;
    form.shape[axis] = part->ndim == dst->ndim ? part->shape[axis] : 0;
    if (!tensor_same_form(&form, part))
        return pkb_error_set(err, "part %s does not fit into %s along axis %d", front_form(part).text, front_form(dst).text,
                             axis);
    if (front_shares(dst, part))
        return pkb_error_set(err, "destination is a part");
    *filled += part->shape[axis];
    return 0;
}

static int concat(struct rt *rt, pkb_tensor *dst, int n, const pkb_tensor *const *parts, int axis, struct pkb_error *err)
{
    int64_t filled = 0;
    struct rt_copy2d_form form;
    if (front_check(dst, "destination", err))
        return -1;
    if (front_axis(dst, &axis, err))
        return -1;
    for (int i = 0; i < n; i++) {
        if (check_part(dst, parts[i], axis, &filled, err))
            return -1;
    }
    if (filled != dst->shape[axis])
        return pkb_error_set(err, "parts fill %" PRId64 " of %" PRId64 " along axis %d", filled, dst->shape[axis], axis);
    if (front_numel(dst) == 0)
        return 0;
    size_t inner = inner_bytes(dst, axis), at = 0;
    form.rows = outer_entries(dst, axis);
    form.dst_pitch = inner * (size_t)dst->shape[axis];
    for (int i = 0; i < n; i++) {
        form.width = form.src_pitch = inner * (size_t)parts[i]->shape[axis];
        if (form.width > 0 && rt->be->copy2d(rt->dev, (char *)dst->data + at, parts[i]->data, &form, err))
            return -1;
        at += form.width;
    }
    return 0;
}

void rt_concat(struct rt *rt, pkb_tensor *dst, int n, const pkb_tensor *const *parts, int axis)
{
    struct pkb_error err;
    if (!rt->failed && concat(rt, dst, n, parts, axis, &err))
        front_fail(rt, "concat", &err);
}

/* `part` has the forms of `whole` but for the axis, where its entries are some of the whole's from `first` on. */
static int check_range(const pkb_tensor *whole, const pkb_tensor *part, int *axis, int64_t first, struct pkb_error *err)
{
    if (front_axis(whole, axis, err))
        return -1;
    pkb_tensor form = *whole;
    form.shape[*axis] = part->ndim == whole->ndim ? part->shape[*axis] : 0;
    if (!tensor_same_form(&form, part))
        return pkb_error_set(err, "%s is no part of %s along axis %d", front_form(part).text, front_form(whole).text, *axis);
    if (first < 0 || first > whole->shape[*axis] || part->shape[*axis] > whole->shape[*axis] - first)
        return pkb_error_set(err, "%" PRId64 " entries from %" PRId64 " on along axis %d of %s", part->shape[*axis], first, *axis,
                             front_form(whole).text);
    if (front_shares(whole, part))
        return pkb_error_set(err, "destination is the source");
    return 0;
}

static int slice(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src, int axis, int64_t first, struct pkb_error *err)
{
    if (front_check(dst, "destination", err) || front_check(src, "source", err) || check_range(src, dst, &axis, first, err))
        return -1;
    if (front_numel(dst) == 0)
        return 0;
    size_t inner = inner_bytes(src, axis);
    struct rt_copy2d_form form = {.rows = outer_entries(src, axis), .src_pitch = inner * (size_t)src->shape[axis]};
    form.width = form.dst_pitch = inner * (size_t)dst->shape[axis];
    return rt->be->copy2d(rt->dev, dst->data, (const char *)src->data + (size_t)first * inner, &form, err);
}

void rt_slice(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src, int axis, int64_t first)
{
    struct pkb_error err;
    if (!rt->failed && slice(rt, dst, src, axis, first, &err))
        front_fail(rt, "slice", &err);
}

static int paste(struct rt *rt, pkb_tensor *dst, int axis, int64_t first, const pkb_tensor *src, struct pkb_error *err)
{
    if (front_check(dst, "destination", err) || front_check(src, "source", err) || check_range(dst, src, &axis, first, err))
        return -1;
    if (front_numel(src) == 0)
        return 0;
    size_t inner = inner_bytes(dst, axis);
    struct rt_copy2d_form form = {.rows = outer_entries(dst, axis), .dst_pitch = inner * (size_t)dst->shape[axis]};
    form.width = form.src_pitch = inner * (size_t)src->shape[axis];
    return rt->be->copy2d(rt->dev, (char *)dst->data + (size_t)first * inner, src->data, &form, err);
}

void rt_paste(struct rt *rt, pkb_tensor *dst, int axis, int64_t first, const pkb_tensor *src)
{
    struct pkb_error err;
    if (!rt->failed && paste(rt, dst, axis, first, src, &err))
        front_fail(rt, "paste", &err);
}

static int check_diagonal(const pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err)
{
    if (front_check(dst, "destination", err) || front_check(a, "operand", err))
        return -1;
    if (a->ndim != 2 || dst->ndim != 1 || dst->dtype != a->dtype ||
        dst->shape[0] != (a->shape[0] < a->shape[1] ? a->shape[0] : a->shape[1]))
        return pkb_error_set(err, "%s is not the diagonal of %s", front_form(dst).text, front_form(a).text);
    return 0;
}

void rt_diagonal(struct rt *rt, pkb_tensor *dst, const pkb_tensor *a)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (check_diagonal(dst, a, &err) || rt->be->diagonal(rt->dev, dst, a, &err))
        front_fail(rt, "diagonal", &err);
}
