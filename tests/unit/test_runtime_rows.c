/* SPDX-License-Identifier: Apache-2.0 */
/* Operations along the last axis, and ranges of an axis, of the host backend against a plain evaluation; what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/array.h"
#include "tests/support/refused.h"

static const struct {
    int ndim;
    int64_t shape[4];
} forms[] = {{1, {1}}, {1, {2500}}, {2, {24, 72}}, {2, {3, 1300}}, {3, {5, 4, 1}}, {4, {2, 3, 4, 5}}, {2, {0, 5}}, {2, {5, 0}}};
#define FORMS (sizeof(forms) / sizeof(forms[0]))

/* ---- softmax ------------------------------------------------------------------------------------------------------- */

static void softmax_of(const double *x, double *y, size_t n)
{
    double most = -(double)INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, x[i]);
    for (size_t i = 0; i < n; i++)
        sum += y[i] = exp(x[i] - most);
    for (size_t i = 0; i < n; i++)
        y[i] /= sum;
}

static void test_softmax(void **state)
{
    static struct array a;
    static double want[ARRAY_MAX];
    (void)state;
    for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
        for (size_t k = 0; k < FORMS; k++) {
            bool is_unsigned = dtype == PKB_U8 || dtype == PKB_BOOL;
            array_make(&a, dtype, forms[k].ndim, forms[k].shape, is_unsigned ? 0 : -6, dtype == PKB_BOOL ? 1 : 6);
            size_t n = (size_t)forms[k].shape[forms[k].ndim - 1];
            for (size_t i = 0; n > 0 && i < a.n; i += n)
                softmax_of(a.x + i, want + i, n);
            pkb_tensor *f32 = rt_new_like(rt, PKB_F32, a.t), *f64 = rt_new_like(rt, PKB_F64, a.t);
            rt_softmax(rt, f64, a.t);
            array_check_close(f64, want, a.n, 1e-13);
            rt_softmax(rt, f32, a.t);
            array_check_close(f32, want, a.n, 3e-6);
            if (dtype_is_float(dtype)) {
                rt_softmax(rt, a.t, a.t); /* in place */
                array_check_close(a.t, want, a.n, dtype == PKB_F64 ? 1e-13 : 3e-6);
            }
            rt_release_all(rt);
        }
    }
}

static void test_softmax_extremes(void **state)
{
    const float inf = INFINITY;
    const float x[5][3] = {{1000, 1000, -1000}, {-inf, 0, -inf}, {-inf, -inf, -inf}, {NAN, 0, 1}, {inf, 0, 0}};
    float got[5][3];
    pkb_tensor *a = rt_new(rt, PKB_F32, RT_SHAPE(5, 3));
    (void)state;
    rt_upload(rt, a, x);
    rt_softmax(rt, a, a);
    array_fetch(a, got);
    assert_true(got[0][0] == 0.5f && got[0][1] == 0.5f && got[0][2] == 0);
    assert_true(got[1][0] == 0 && got[1][1] == 1 && got[1][2] == 0);
    assert_true(isnan(got[2][0]) && isnan(got[2][2]) && isnan(got[3][1]) && isnan(got[4][0]));
    rt_release_all(rt);
}

/* ---- running sums -------------------------------------------------------------------------------------------------- */

static void test_cumsum(void **state)
{
    static struct array a;
    static double want[ARRAY_MAX];
    (void)state;
    for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
        for (size_t k = 0; k < FORMS; k++) {
            array_make(&a, dtype, forms[k].ndim, forms[k].shape, 0, 1);
            size_t n = (size_t)forms[k].shape[forms[k].ndim - 1];
            for (size_t i = 0; i < a.n; i++)
                want[i] = i % n == 0 ? a.x[i] : want[i - 1] + a.x[i];
            pkb_tensor *wide = rt_new_like(rt, dtype_is_float(dtype) ? PKB_F32 : PKB_I64, a.t);
            rt_cumsum(rt, wide, a.t);
            array_check_exact(wide, want, a.n, false);
            rt_cumsum(rt, a.t, a.t); /* in place; u8 saturates, bool is "any so far" */
            array_check_exact(a.t, want, a.n, false);
            rt_release_all(rt);
        }
    }
    static const int64_t big[3] = {INT64_MAX, 1, 5};
    int64_t got[3];
    pkb_tensor *t = rt_new(rt, PKB_I64, RT_SHAPE(3));
    rt_upload(rt, t, big);
    rt_cumsum(rt, t, t);
    rt_read_i64(rt, got, t);
    assert_true(got[0] == INT64_MAX && got[1] == INT64_MIN && got[2] == INT64_MIN + 5);
    rt_release_all(rt);
}

/* ---- ranges -------------------------------------------------------------------------------------------------------- */

static void check_range(int dtype, int axis, int64_t first, int64_t count)
{
    static struct array whole, part;
    static double want[ARRAY_MAX];
    static const int64_t shape[3] = {5, 6, 7};
    int64_t small[3] = {5, 6, 7}, index[PKB_MAX_DIMS];
    small[axis] = count;
    array_make(&whole, dtype, 3, shape, 0, 1);
    pkb_tensor *cut = rt_new(rt, dtype, 3, small);
    rt_slice(rt, cut, whole.t, axis - (count % 2 ? 3 : 0), first);
    array_make(&part, dtype, 3, small, 0, 1);
    for (size_t i = 0; i < part.n; i++) {
        array_unravel(part.t, i, index);
        index[axis] += first;
        want[i] = whole.x[array_ravel(whole.t, index)];
    }
    array_check_exact(cut, want, part.n, false);
    for (size_t i = 0; i < part.n; i++) {
        array_unravel(part.t, i, index);
        index[axis] += first;
        whole.x[array_ravel(whole.t, index)] = part.x[i];
    }
    rt_paste(rt, whole.t, axis - (count % 2 ? 3 : 0), first, part.t);
    array_check_exact(whole.t, whole.x, whole.n, false);
    rt_release_all(rt);
}

static void test_slice_paste(void **state)
{
    static const int dtypes[] = {PKB_BF16, PKB_F32, PKB_U8, PKB_I64};
    (void)state;
    for (size_t k = 0; k < sizeof(dtypes) / sizeof(dtypes[0]); k++) {
        for (int axis = 0; axis < 3; axis++) {
            for (int64_t first = 0; first <= 5; first++) {
                for (int64_t count = 0; count <= 5 - first; count++)
                    check_range(dtypes[k], axis, first, count);
            }
        }
    }
}

/* ---- what is refused ----------------------------------------------------------------------------------------------- */

static void bad_softmax_missing(struct operands *o)
{
    rt_softmax(o->rt, o->f24, NULL);
}
static void bad_softmax_shape(struct operands *o)
{
    rt_softmax(o->rt, o->f24, o->f23);
}
static void bad_softmax_type(struct operands *o)
{
    rt_softmax(o->rt, o->i24, o->f24);
}
static void bad_softmax_scalar(struct operands *o)
{
    rt_softmax(o->rt, o->scalar, o->scalar);
}
static void bad_softmax_alias(struct operands *o)
{
    pkb_tensor narrow = *o->f24;
    narrow.dtype = PKB_BF16;
    rt_softmax(o->rt, &narrow, o->f24);
}
static void bad_cumsum_shape(struct operands *o)
{
    rt_cumsum(o->rt, o->f4, o->f24);
}
static void bad_cumsum_scalar(struct operands *o)
{
    rt_cumsum(o->rt, o->scalar, o->scalar);
}
static void bad_slice_axis(struct operands *o)
{
    rt_slice(o->rt, o->f23, o->f24, 2, 0);
}
static void bad_slice_range(struct operands *o)
{
    rt_slice(o->rt, o->f23, o->f24, 1, 2);
}
static void bad_slice_negative(struct operands *o)
{
    rt_slice(o->rt, o->f23, o->f24, -1, -1);
}
static void bad_slice_shape(struct operands *o)
{
    rt_slice(o->rt, o->f4, o->f24, 0, 0);
}
static void bad_slice_type(struct operands *o)
{
    rt_slice(o->rt, o->bf24, o->f24, 0, 0);
}
static void bad_slice_self(struct operands *o)
{
    rt_slice(o->rt, o->f24, o->f24, 0, 0);
}
static void bad_paste_range(struct operands *o)
{
    rt_paste(o->rt, o->f24, 1, INT64_MAX, o->f23);
}
static void bad_paste_shape(struct operands *o)
{
    rt_paste(o->rt, o->f23, 1, 0, o->f24);
}
static void bad_paste_missing(struct operands *o)
{
    rt_paste(o->rt, NULL, 1, 0, o->f24);
}

static const struct refused_row bad_calls[] = {
    {bad_softmax_missing, "softmax: operand is missing"},
    {bad_softmax_shape, "softmax: destination is f32[2, 4], the operand f32[2, 3]"},
    {bad_softmax_type, "softmax: destination is i32[2, 4], a floating type is needed"},
    {bad_softmax_scalar, "softmax: a scalar has no last axis"},
    {bad_softmax_alias, "softmax: destination bf16[2, 4] shares the storage of operand f32[2, 4]"},
    {bad_cumsum_shape, "cumsum: destination is f32[4], the operand f32[2, 4]"},
    {bad_cumsum_scalar, "cumsum: a scalar has no last axis"},
    {bad_slice_axis, "slice: axis 2 of f32[2, 4]"},
    {bad_slice_range, "slice: 3 entries from 2 on along axis 1 of f32[2, 4]"},
    {bad_slice_negative, "slice: 3 entries from -1 on along axis 1 of f32[2, 4]"},
    {bad_slice_shape, "slice: f32[4] is no part of f32[2, 4] along axis 0"},
    {bad_slice_type, "slice: bf16[2, 4] is no part of f32[2, 4] along axis 0"},
    {bad_slice_self, "slice: destination is the source"},
    {bad_paste_range, "paste: 3 entries from 9223372036854775807 on along axis 1 of f32[2, 4]"},
    {bad_paste_shape, "paste: 4 entries from 0 on along axis 1 of f32[2, 3]"},
    {bad_paste_missing, "paste: destination is missing"},
};

static void test_bad_calls(void **state)
{
    (void)state;
    refused_check(bad_calls, sizeof(bad_calls) / sizeof(bad_calls[0]));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax),     cmocka_unit_test(test_softmax_extremes), cmocka_unit_test(test_cumsum),
        cmocka_unit_test(test_slice_paste), cmocka_unit_test(test_bad_calls),
    };
    return cmocka_run_group_tests(tests, array_set_up, array_tear_down);
}
