/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of element-wise operations and reductions. */
#include <inttypes.h>
#include <math.h>

#include "runtime/front.h"

static const char *const unary_names[RT_UNARY_COUNT] = {
    [RT_NEG] = "neg",     [RT_ABS] = "abs",       [RT_EXP] = "exp",         [RT_LOG] = "log",           [RT_SQRT] = "sqrt",
    [RT_RSQRT] = "rsqrt", [RT_SQUARE] = "square", [RT_SIGMOID] = "sigmoid", [RT_SOFTPLUS] = "softplus", [RT_SILU] = "silu",
    [RT_FLOOR] = "floor", [RT_CEIL] = "ceil",     [RT_RINT] = "rint",
};

static const char *const binary_names[RT_BINARY_COUNT] = {
    [RT_ADD] = "add",
    [RT_SUB] = "sub",
    [RT_MUL] = "mul",
    [RT_DIV] = "div",
    [RT_MIN] = "min",
    [RT_MAX] = "max",
    [RT_FLOORDIV] = "floordiv",
    [RT_MOD] = "mod",
    [RT_EQ] = "eq",
    [RT_NE] = "ne",
    [RT_LT] = "lt",
    [RT_LE] = "le",
    [RT_GT] = "gt",
    [RT_GE] = "ge",
};

static const char *const reduction_names[RT_REDUCTION_COUNT] = {
    [RT_SUM] = "sum", [RT_PROD] = "prod", [RT_AMIN] = "amin", [RT_AMAX] = "amax"};

/* ---- copy, fill ---------------------------------------------------------------------------------------------------- */

static int check_copy(const pkb_tensor *dst, const pkb_tensor *src, struct pkb_error *err)
{
    if (front_check(dst, "destination", err) || front_check(src, "source", err))
        return -1;
    if (front_numel(dst) != front_numel(src))
        return pkb_error_set(err, "destination is %s, source %s", front_form(dst).text, front_form(src).text);
    return front_alias(dst, src, err);
}

void rt_copy(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (check_copy(dst, src, &err) || rt->be->copy(rt->dev, dst, src, &err))
        front_fail(rt, "copy", &err);
}

void rt_fill(struct rt *rt, pkb_tensor *dst, double value)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (front_check(dst, "destination", &err) || rt->be->fill(rt->dev, dst, value, &err))
        front_fail(rt, "fill", &err);
}

/* ---- unary --------------------------------------------------------------------------------------------------------- */

static int check_unary(enum rt_unary op, const pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err)
{
    bool exact = op == RT_NEG || op == RT_ABS || op == RT_SQUARE;
    if (front_check(dst, "destination", err) || front_check(a, "operand", err) || front_same_shape(dst, a, err) ||
        front_alias(dst, a, err))
        return -1;
    if (!exact && !dtype_is_float(dst->dtype) && !dtype_is_float(a->dtype))
        return pkb_error_set(err, "%s into %s: needs a floating type", dtype_name(a->dtype), dtype_name(dst->dtype));
    return 0;
}

void rt_unary(struct rt *rt, enum rt_unary op, pkb_tensor *dst, const pkb_tensor *a)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if ((unsigned)op >= RT_UNARY_COUNT) {
        rt_fail(rt, "unary: %d is no operation", (int)op);
        return;
    }
    if (check_unary(op, dst, a, &err) || rt->be->unary(rt->dev, op, dst, a, &err))
        front_fail(rt, unary_names[op], &err);
}

/* ---- binary -------------------------------------------------------------------------------------------------------- */

/* Extent of dimension i, counted from the last one. */
static int64_t extent(const pkb_tensor *t, int i)
{
    return i < t->ndim ? t->shape[t->ndim - 1 - i] : 1;
}

static int check_broadcast(const pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b, struct pkb_error *err)
{
    int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    bool fits = dst->ndim == ndim;
    for (int i = 0; i < ndim; i++) {
        int64_t x = extent(a, i), y = extent(b, i);
        if (x != y && x != 1 && y != 1)
            return pkb_error_set(err, "shapes of %s and %s do not broadcast", front_form(a).text, front_form(b).text);
        fits = fits && extent(dst, i) == (x == 1 ? y : x);
    }
    if (!fits)
        return pkb_error_set(err, "destination is %s, the operands are %s and %s", front_form(dst).text, front_form(a).text,
                             front_form(b).text);
    return 0;
}

static int check_binary(const pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b, struct pkb_error *err)
{
    if (front_check(dst, "destination", err) || front_check(a, "left operand", err) || front_check(b, "right operand", err))
        return -1;
    if (check_broadcast(dst, a, b, err) || front_alias(dst, a, err))
        return -1;
    return front_alias(dst, b, err);
}

void rt_binary(struct rt *rt, enum rt_binary op, pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if ((unsigned)op >= RT_BINARY_COUNT) {
        rt_fail(rt, "binary: %d is no operation", (int)op);
        return;
    }
    if (check_binary(dst, a, b, &err) || rt->be->binary(rt->dev, op, dst, a, b, &err))
        front_fail(rt, binary_names[op], &err);
}

static bool is_integer(double x)
{
    return x == floor(x) && fabs(x) < 0x1p63;
}

static int check_scalar(const pkb_tensor *dst, const pkb_tensor *a, double b, struct pkb_error *err)
{
    if (front_check(dst, "destination", err) || front_check(a, "operand", err) || front_same_shape(dst, a, err) ||
        front_alias(dst, a, err))
        return -1;
    bool integers = !dtype_is_float(dst->dtype) && !dtype_is_float(a->dtype);
    if (integers && !is_integer(b))
        return pkb_error_set(err, "scalar %g is not an integer, the operand is %s", b, front_form(a).text);
    return 0;
}

void rt_binary_scalar(struct rt *rt, enum rt_binary op, pkb_tensor *dst, const pkb_tensor *a, double b)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if ((unsigned)op >= RT_BINARY_COUNT) {
        rt_fail(rt, "binary_scalar: %d is no operation", (int)op);
        return;
    }
    if (check_scalar(dst, a, b, &err) || rt->be->binary_scalar(rt->dev, op, dst, a, b, &err))
        front_fail(rt, binary_names[op], &err);
}

/* ---- selection, counting ------------------------------------------------------------------------------------------- */

static bool stretches(const pkb_tensor *x, const pkb_tensor *dst)
{
    bool fits = x->ndim <= dst->ndim;
    for (int d = 0; d < x->ndim && fits; d++)
        fits = extent(x, d) == 1 || extent(x, d) == extent(dst, d);
    return fits;
}

/* The destination's extents are all some operand's. */
static int check_widest(const pkb_tensor *dst, const pkb_tensor *const operands[3], struct pkb_error *err)
{
    for (int d = 0; d < dst->ndim; d++) {
        bool found = false;
        for (int i = 0; i < 3; i++)
            found = found || (d < operands[i]->ndim && extent(operands[i], d) == extent(dst, d));
        if (!found)
            return pkb_error_set(err, "destination %s is larger than all operands together", front_form(dst).text);
    }
    return 0;
}

static int check_where(const pkb_tensor *dst, const pkb_tensor *const operands[3], struct pkb_error *err)
{
    static const char *const names[3] = {"condition", "first choice", "second choice"};
    if (front_check(dst, "destination", err))
        return -1;
    for (int i = 0; i < 3; i++) {
        const pkb_tensor *x = operands[i];
        if (front_check(x, names[i], err) || front_alias(dst, x, err))
            return -1;
        if (i > 0 && x->dtype != dst->dtype)
            return pkb_error_set(err, "destination is %s, the %s %s", front_form(dst).text, names[i], front_form(x).text);
        if (!stretches(x, dst))
            return pkb_error_set(err, "%s %s does not stretch to %s", names[i], front_form(x).text, front_form(dst).text);
    }
    return check_widest(dst, operands, err);
}

void rt_where(struct rt *rt, pkb_tensor *dst, const pkb_tensor *condition, const pkb_tensor *a, const pkb_tensor *b)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (check_where(dst, (const pkb_tensor *const[]){condition, a, b}, &err) ||
        rt->be->where(rt->dev, dst, condition, a, b, &err))
        front_fail(rt, "where", &err);
}

static int check_iota(const pkb_tensor *dst, double first, double step, struct pkb_error *err)
{
    if (front_check(dst, "destination", err))
        return -1;
    if (!dtype_is_float(dst->dtype) && !(is_integer(first) && is_integer(step)))
        return pkb_error_set(err, "from %g in steps of %g into %s", first, step, front_form(dst).text);
    return 0;
}

void rt_iota(struct rt *rt, pkb_tensor *dst, double first, double step)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (check_iota(dst, first, step, &err) || rt->be->iota(rt->dev, dst, first, step, &err))
        front_fail(rt, "iota", &err);
}

/* ---- reductions ---------------------------------------------------------------------------------------------------- */

/* dst without the axis, or with 1 in its place; all axes: a scalar, or 1 everywhere. */
static bool reduced_form(const pkb_tensor *dst, const pkb_tensor *a, int axis)
{
    bool dropped = axis == RT_ALL_AXES ? dst->ndim == 0 : dst->ndim == a->ndim - 1;
    if (!dropped && dst->ndim != a->ndim)
        return false;
    for (int i = 0, j = 0; i < a->ndim; i++) {
        bool reduced = axis == RT_ALL_AXES || i == axis;
        if (reduced && dropped)
            continue;
        if (dst->shape[j++] != (reduced ? 1 : a->shape[i]))
            return false;
    }
    return true;
}

static int reduce_form(const pkb_tensor *dst, const pkb_tensor *a, int axis, struct rt_reduce_form *f, struct pkb_error *err)
{
    if (front_check(dst, "destination", err) || front_check(a, "operand", err))
        return -1;
    if (axis != RT_ALL_AXES && front_axis(a, &axis, err))
        return -1;
    if (!reduced_form(dst, a, axis))
        return pkb_error_set(err, "destination is %s, the operand %s", front_form(dst).text, front_form(a).text);
    *f = (struct rt_reduce_form){.outer = 1, .length = 1, .inner = 1};
    for (int i = 0; i < a->ndim; i++) {
        int64_t *part = axis == RT_ALL_AXES || i == axis ? &f->length : i < axis ? &f->outer : &f->inner;
        *part *= a->shape[i];
    }
    return 0;
}

void rt_reduce_axis(struct rt *rt, enum rt_reduction op, pkb_tensor *dst, const pkb_tensor *a, int axis)
{
    struct pkb_error err;
    struct rt_reduce_form form;
    if (rt->failed)
        return;
    if ((unsigned)op >= RT_REDUCTION_COUNT) {
        rt_fail(rt, "reduce_axis: %d is no operation", (int)op);
        return;
    }
    if (reduce_form(dst, a, axis, &form, &err)) {
        front_fail(rt, reduction_names[op], &err);
        return;
    }
    if (form.length == 0 && front_numel(dst) > 0 && (op == RT_AMIN || op == RT_AMAX))
        rt_fail(rt, "%s: of no elements, the operand is %s", reduction_names[op], front_form(a).text);
    else if (rt->be->reduce_axis(rt->dev, op, dst, a, &form, &err))
        front_fail(rt, reduction_names[op], &err);
}
