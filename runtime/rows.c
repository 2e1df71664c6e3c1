/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of operations along the last axis. */
#include "runtime/front.h"

static int check_row_operation(const pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err)
{
    if (front_check(dst, "destination", err) || front_check(a, "operand", err) || front_same_shape(dst, a, err) ||
        front_alias(dst, a, err))
        return -1;
    if (a->ndim < 1)
        return pkb_error_set(err, "a scalar has no last axis");
    return 0;
}

void rt_softmax(struct rt *rt, pkb_tensor *dst, const pkb_tensor *a)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (check_row_operation(dst, a, &err))
        front_fail(rt, "softmax", &err);
    else if (!dtype_is_float(dst->dtype))
        rt_fail(rt, "softmax: destination is %s, a floating type is needed", front_form(dst).text);
    else if (rt->be->softmax(rt->dev, dst, a, &err))
        front_fail(rt, "softmax", &err);
}

void rt_cumsum(struct rt *rt, pkb_tensor *dst, const pkb_tensor *a)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (check_row_operation(dst, a, &err) || rt->be->cumsum(rt->dev, dst, a, &err))
        front_fail(rt, "cumsum", &err);
}
