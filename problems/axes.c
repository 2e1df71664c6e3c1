/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/axes.h"

/* t with an axis split in two: which part, and where in the part. */
static pkb_tensor *split_axis(struct rt *rt, const pkb_tensor *t, int axis, int64_t parts)
{
    int64_t shape[PKB_MAX_DIMS + 1];
    for (int i = 0; i <= t->ndim; i++)
        shape[i] = t->shape[i <= axis ? i : i - 1];
    shape[axis] = parts;
    shape[axis + 1] = t->shape[axis] / parts;
    return rt_view(rt, t, t->ndim + 1, shape);
}

/* The parts of an axis one after the other: a new leading dimension says which. */
static pkb_tensor *parts_first(struct rt *rt, const pkb_tensor *t, int axis, int64_t parts)
{
    int order[PKB_MAX_DIMS + 1];
    pkb_tensor *split = split_axis(rt, t, axis, parts);
    if (!split || axis == 0)
        return split;
    for (int i = 1; i < split->ndim; i++)
        order[i] = i <= axis ? i - 1 : i;
    order[0] = axis;
    int64_t shape[PKB_MAX_DIMS];
    for (int i = 0; i < split->ndim; i++)
        shape[i] = split->shape[order[i]];
    pkb_tensor *parted = rt_new(rt, t->dtype, split->ndim, shape);
    rt_permute(rt, parted, split, order);
    return parted;
}

/* The inverse: dst holds the parts, whose number leads, side by side along an axis. */
static void join_parts(struct rt *rt, pkb_tensor *dst, const pkb_tensor *parted, int axis)
{
    int order[PKB_MAX_DIMS + 1];
    for (int i = 0; i <= dst->ndim; i++)
        order[i] = i < axis ? i + 1 : i;
    order[axis] = 0;
    pkb_tensor *split = split_axis(rt, dst, axis, parted->shape[0]);
    rt_permute(rt, split, parted, order);
}

void axes_exchange(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *x, int scatter, int gather)
{
    if (rt_status(rt, NULL) < 0)
        return;
    pkb_tensor *outgoing = parts_first(rt, x, scatter, g->size);
    if (gather == 0) {
        rt_all_to_all(rt, g, dst, outgoing);
        return;
    }
    pkb_tensor *incoming = rt_new_like(rt, x->dtype, outgoing);
    rt_all_to_all(rt, g, incoming, outgoing);
    if (incoming)
        join_parts(rt, dst, incoming, gather);
}

pkb_tensor *axes_exchanged(struct rt *rt, const struct rt_group *g, const pkb_tensor *x, int scatter, int gather)
{
    if (rt_status(rt, NULL) < 0)
        return NULL;
    pkb_tensor form = *x;
    form.shape[scatter] /= g->size;
    form.shape[gather] *= g->size;
    pkb_tensor *dst = rt_new_like(rt, x->dtype, &form);
    axes_exchange(rt, g, dst, x, scatter, gather);
    return dst;
}

void axes_all_gather(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *x, int axis)
{
    if (rt_status(rt, NULL) < 0)
        return;
    if (axis == 0) {
        rt_all_gather(rt, g, dst, x);
        return;
    }
    int64_t shape[PKB_MAX_DIMS + 1] = {g->size};
    for (int i = 0; i < x->ndim; i++)
        shape[i + 1] = x->shape[i];
    pkb_tensor *stacked = rt_new(rt, x->dtype, x->ndim + 1, shape);
    rt_all_gather(rt, g, stacked, x);
    if (stacked)
        join_parts(rt, dst, stacked, axis);
}
