/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups, moves of rows, sorting by rows and searching of the host backend against a plain evaluation; what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/array.h"
#include "tests/support/refused.h"

static int index_type(int dtype)
{
    return dtype % 2 ? PKB_I32 : PKB_I64;
}

/* ---- taking -------------------------------------------------------------------------------------------------------- */

static void check_take(int dtype, int axis, int64_t count)
{
    static struct array src, index;
    static double want[ARRAY_MAX];
    static const int64_t shape[3] = {5, 6, 7};
    int64_t form[3] = {5, 6, 7}, at[PKB_MAX_DIMS], n;
    form[axis] = count;
    array_make(&src, dtype, 3, shape, 0, 1);
    array_make(&index, index_type(dtype), 1, &count, 0, (double)shape[axis] - 1);
    pkb_tensor *dst = rt_new(rt, dtype, 3, form);
    rt_take(rt, dst, src.t, index.t, count % 2 ? axis : axis - 3);
    assert_int_equal(tensor_numel(dst, &n, NULL), 0);
    for (size_t i = 0; i < (size_t)n; i++) {
        array_unravel(dst, i, at);
        at[axis] = (int64_t)index.x[at[axis]];
        want[i] = src.x[array_ravel(src.t, at)];
    }
    array_check_exact(dst, want, (size_t)n, false);
    rt_release_all(rt);
}

static void test_take(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
        for (int axis = 0; axis < 3; axis++) {
            check_take(dtype, axis, 0);
            check_take(dtype, axis, 1);
            check_take(dtype, axis, 20);
        }
    }
}

static void test_take_along(void **state)
{
    static struct array src, index;
    static double want[ARRAY_MAX];
    static const struct {
        int ndim;
        int64_t src[3], index[3];
    } rows[] = {{1, {9}, {4}}, {1, {1}, {1500}}, {2, {7, 30}, {7, 50}}, {3, {2, 3, 5}, {2, 3, 1}}, {2, {3, 0}, {3, 0}}};
    (void)state;
    for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
        for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
            int last = rows[k].ndim - 1;
            array_make(&src, dtype, rows[k].ndim, rows[k].src, 0, 1);
            array_make(&index, index_type(dtype), rows[k].ndim, rows[k].index, 0, (double)rows[k].src[last] - 1);
            pkb_tensor *dst = rt_new_like(rt, dtype, index.t);
            rt_take_along(rt, dst, src.t, index.t);
            for (size_t i = 0; i < index.n; i++)
                want[i] = src.x[i / (size_t)rows[k].index[last] * (size_t)rows[k].src[last] + (size_t)index.x[i]];
            array_check_exact(dst, want, index.n, false);
            rt_release_all(rt);
        }
    }
}

/* ---- moves of rows ------------------------------------------------------------------------------------------------- */

static void test_put_rows(void **state)
{
    static struct array dst, src;
    static const int64_t whole[3] = {9, 3, 4}, part[3] = {4, 3, 4}, none[3] = {0, 3, 4};
    static const int32_t narrow[4] = {8, 0, 3, 5};
    static const int64_t wide[4] = {8, 0, 3, 5};
    (void)state;
    for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
        bool is_wide = index_type(dtype) == PKB_I64;
        pkb_tensor *index = rt_new(rt, index_type(dtype), RT_SHAPE(4));
        array_make(&dst, dtype, 3, whole, 0, 1);
        array_make(&src, dtype, 3, part, 0, 1);
        rt_upload(rt, index, is_wide ? (const void *)wide : narrow);
        rt_put_rows(rt, dst.t, src.t, index);
        for (size_t i = 0; i < src.n; i++)
            dst.x[(size_t)wide[i / 12] * 12 + i % 12] = src.x[i];
        array_check_exact(dst.t, dst.x, dst.n, false);
        rt_put_rows(rt, dst.t, rt_new(rt, dtype, 3, none), rt_rows(rt, index, 0, 0));
        array_check_exact(dst.t, dst.x, dst.n, false);
        rt_release_all(rt);
    }
}

static void check_add_rows(int dst_type, int src_type, int64_t rows, int64_t n, int64_t row)
{
    static struct array dst, src, index;
    static double sums[ARRAY_MAX];
    bool integer = !dtype_is_float(dst_type) && !dtype_is_float(src_type);
    array_make(&dst, dst_type, 2, (int64_t[]){rows, row}, 0, 1);
    array_make(&src, src_type, 2, (int64_t[]){n, row}, 0, integer ? 1 : 0.75);
    array_make(&index, index_type(dst_type), 1, &n, 0, (double)rows / 2); /* the rest gets nothing */
    memset(sums, 0, sizeof(sums));
    rt_add_rows(rt, dst.t, src.t, index.t);
    for (size_t i = 0; i < src.n; i++)
        sums[(size_t)index.x[i / (size_t)row] * (size_t)row + i % (size_t)row] += src.x[i];
    for (size_t i = 0; i < dst.n; i++)
        dst.x[i] = sums[i] + dst.x[i];
    array_check_exact(dst.t, dst.x, dst.n, false);
    rt_release_all(rt);
}

static void test_add_rows(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
        check_add_rows(dtype, dtype, 9, 40, 12);
        check_add_rows(dtype, dtype_is_float(dtype) ? PKB_BF16 : dtype, 3, 3, 1300);
        check_add_rows(dtype, dtype, 1000, 1, 2);
        check_add_rows(dtype, dtype, 4, 0, 5);
    }
    check_add_rows(PKB_F32, PKB_I32, 9, 40, 12);
    check_add_rows(PKB_I64, PKB_BOOL, 9, 40, 12);
}

/* 300 times 1/256 onto 1: each addition alone would be lost in bf16. */
static void test_add_rows_rounds_once(void **state)
{
    pkb_tensor *dst = rt_new(rt, PKB_BF16, RT_SHAPE(2, 1)), *src = rt_new(rt, PKB_BF16, RT_SHAPE(300, 1));
    pkb_tensor *index = rt_new(rt, PKB_I32, RT_SHAPE(300));
    static const double want[2] = {1, 1 + 300.0 / 256};
    (void)state;
    rt_fill(rt, dst, 1);
    rt_fill(rt, src, 1.0 / 256);
    rt_fill(rt, index, 1);
    rt_add_rows(rt, dst, src, index);
    array_check_exact(dst, want, 2, false);
    rt_release_all(rt);
}

/* ---- sorting, searching -------------------------------------------------------------------------------------------- */

static void check_sorted(const struct array *keys, const int64_t *order, size_t first, int64_t n)
{
    bool seen[ARRAY_MAX] = {false};
    for (int64_t i = 0; i < n; i++) {
        assert_true(order[i] >= 0 && order[i] < n && !seen[order[i]]);
        seen[order[i]] = true;
        if (i == 0)
            continue;
        double x = keys->x[first + (size_t)order[i - 1]], y = keys->x[first + (size_t)order[i]];
        assert_true(x < y || (x == y && order[i - 1] < order[i]));
    }
}

static void test_argsort_rows(void **state)
{
    static struct array keys;
    static int64_t order[ARRAY_MAX];
    static const struct {
        int ndim;
        int64_t shape[3];
    } rows[] = {{2, {40, 33}}, {3, {3, 4, 64}}, {2, {600, 1}}, {2, {3, 0}}, {2, {0, 3}}};
    (void)state;
    for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
        for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
            bool is_unsigned = dtype == PKB_U8 || dtype == PKB_BOOL;
            array_make(&keys, dtype, rows[k].ndim, rows[k].shape, is_unsigned ? 0 : -9, dtype == PKB_BOOL ? 1 : 9);
            pkb_tensor *t = rt_new_like(rt, PKB_I64, keys.t);
            int64_t n = rows[k].shape[rows[k].ndim - 1];
            rt_argsort(rt, t, keys.t);
            array_fetch(t, order);
            for (size_t i = 0; n > 0 && i < keys.n; i += (size_t)n)
                check_sorted(&keys, order + i, i, n);
            rt_release_all(rt);
        }
    }
}

static void check_search(int dtype, int64_t table_length, bool right)
{
    static struct array values;
    static const int64_t shape[2] = {30, 40};
    static double table[ARRAY_MAX], want[ARRAY_MAX];
    pkb_tensor *sorted = rt_new(rt, dtype, 1, &table_length);
    bool truth = dtype == PKB_BOOL;
    for (int64_t i = 0; i < table_length; i++) /* every number twice */
        table[i] = truth ? (double)(i * 2 >= table_length) : (double)(i / 2);
    array_make(&values, dtype, 2, shape, truth || dtype == PKB_U8 ? 0 : -2, truth ? 1 : (double)table_length / 2 + 2);
    uint8_t stored[ARRAY_MAX * 8];
    dtype_from_f64(dtype, stored, table, (size_t)table_length);
    rt_upload(rt, sorted, stored);
    pkb_tensor *position = rt_new_like(rt, PKB_I64, values.t);
    rt_search_sorted(rt, position, sorted, values.t, right);
    for (size_t i = 0; i < values.n; i++) {
        want[i] = 0;
        for (int64_t j = 0; j < table_length; j++)
            want[i] += table[j] < values.x[i] || (right && table[j] == values.x[i]);
    }
    array_check_exact(position, want, values.n, false);
    rt_release_all(rt);
}

static void test_search_sorted(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
        for (int right = 0; right < 2; right++) {
            check_search(dtype, 0, right);
            check_search(dtype, 1, right);
            check_search(dtype, 30, right);
        }
    }
    static const float table[4] = {-INFINITY, -0.0f, 0, INFINITY}, values[5] = {NAN, 0, -0.0f, -INFINITY, INFINITY};
    static const double left[5] = {4, 1, 1, 0, 3}, right[5] = {4, 3, 3, 1, 4};
    pkb_tensor *t = rt_new(rt, PKB_F32, RT_SHAPE(4)), *v = rt_new(rt, PKB_F32, RT_SHAPE(5)),
               *p = rt_new(rt, PKB_I64, RT_SHAPE(5));
    rt_upload(rt, t, table);
    rt_upload(rt, v, values);
    rt_search_sorted(rt, p, t, v, false);
    array_check_exact(p, left, 5, false);
    rt_search_sorted(rt, p, t, v, true);
    array_check_exact(p, right, 5, false);
    rt_release_all(rt);
}

/* ---- what is refused ----------------------------------------------------------------------------------------------- */

static void bad_take_axis(struct operands *o)
{
    rt_take(o->rt, o->f24, o->f34, o->i2, 2);
}
static void bad_take_index_dims(struct operands *o)
{
    rt_take(o->rt, o->f24, o->f34, o->i24, 0);
}
static void bad_take_index_type(struct operands *o)
{
    rt_take(o->rt, o->f24, o->f34, o->f4, 1);
}
static void bad_take_shape(struct operands *o)
{
    rt_take(o->rt, o->f24, o->f34, o->i4, 0);
}
static void bad_take_range(struct operands *o)
{
    rt_fill(o->rt, o->i2, 3);
    rt_take(o->rt, o->f24, o->f34, o->i2, 0);
}
static void bad_take_self(struct operands *o)
{
    rt_take(o->rt, o->f24, o->f24, o->i2, 0);
}
static void bad_take_rows_self(struct operands *o)
{
    rt_take_rows(o->rt, o->f24, o->f24, o->i2);
}
static void bad_along_dims(struct operands *o)
{
    rt_take_along(o->rt, o->f4, o->f24, o->i4);
}
static void bad_along_leading(struct operands *o)
{
    rt_take_along(o->rt, o->f24, o->f34, o->i24);
}
static void bad_along_type(struct operands *o)
{
    rt_take_along(o->rt, o->bf24, o->f24, o->i24);
}
static void bad_along_range(struct operands *o)
{
    rt_iota(o->rt, o->i24, -7, 1);
    rt_take_along(o->rt, rt_new_like(o->rt, PKB_F32, o->f24), o->f24, o->i24);
}
static void bad_put_index(struct operands *o)
{
    rt_put_rows(o->rt, o->f34, o->f24, o->i4);
}
static void bad_put_rows(struct operands *o)
{
    rt_put_rows(o->rt, o->f4, o->f24, o->i2);
}
static void bad_put_scalar(struct operands *o)
{
    rt_put_rows(o->rt, o->scalar, o->f24, o->i2);
}
static void bad_put_type(struct operands *o)
{
    rt_put_rows(o->rt, rt_new(o->rt, PKB_BF16, RT_SHAPE(3, 4)), o->f24, o->i2);
}
static void bad_put_range(struct operands *o)
{
    rt_fill(o->rt, o->i2, 3);
    rt_put_rows(o->rt, o->f34, o->f24, o->i2);
}
static void bad_add_self(struct operands *o)
{
    rt_add_rows(o->rt, o->f24, o->f24, o->i2);
}
static void bad_add_range(struct operands *o)
{
    rt_fill(o->rt, o->i2, -1);
    rt_add_rows(o->rt, o->f34, o->f24, o->i2);
}
static void bad_add_missing(struct operands *o)
{
    rt_add_rows(o->rt, o->f34, o->f24, NULL);
}
static void bad_sort_shape(struct operands *o)
{
    rt_argsort(o->rt, o->i64_24, o->f34);
}
static void bad_sort_scalar(struct operands *o)
{
    rt_argsort(o->rt, rt_new(o->rt, PKB_I64, RT_SCALAR), o->scalar);
}
static void bad_sort_self(struct operands *o)
{
    rt_argsort(o->rt, o->i64_24, o->i64_24);
}
static void bad_search_table(struct operands *o)
{
    rt_search_sorted(o->rt, o->i64_24, o->f34, o->f24, false);
}
static void bad_search_type(struct operands *o)
{
    rt_search_sorted(o->rt, o->i64_24, o->f4, o->bf24, false);
}
static void bad_search_position(struct operands *o)
{
    rt_search_sorted(o->rt, o->i24, o->f4, o->f24, true);
}

static const struct refused_row bad_calls[] = {
    {bad_take_axis, "take: axis 2 of f32[3, 4]"},
    {bad_take_index_dims, "take: index is i32[2, 4], one dimension is needed"},
    {bad_take_index_type, "take: index is f32[4], i32 or i64 is needed"},
    {bad_take_shape, "take: destination is f32[2, 4], the result f32[4, 4]"},
    {bad_take_range, "take: index[0] is 3, there are 3 entries"},
    {bad_take_self, "take: destination is the source"},
    {bad_take_rows_self, "take_rows: destination is the source"},
    {bad_along_dims, "take_along: source is f32[2, 4], index i32[4]"},
    {bad_along_leading, "take_along: source is f32[3, 4], index i32[2, 4]"},
    {bad_along_type, "take_along: destination is bf16[2, 4], the result f32[2, 4]"},
    {bad_along_range, "take_along: index[0] is -7, there are 4 entries"},
    {bad_put_index, "put_rows: source is f32[2, 4], index i32[4]"},
    {bad_put_rows, "put_rows: rows of f32[2, 4] do not fit into f32[4]"},
    {bad_put_scalar, "put_rows: rows of f32[2, 4] do not fit into f32[]"},
    {bad_put_type, "put_rows: destination is bf16, source f32"},
    {bad_put_range, "put_rows: index[0] is 3, there are 3 entries"},
    {bad_add_self, "add_rows: destination is the source"},
    {bad_add_range, "add_rows: index[0] is -1, there are 3 entries"},
    {bad_add_missing, "add_rows: index is missing"},
    {bad_sort_shape, "argsort: order is i64[2, 4], keys f32[3, 4]"},
    {bad_sort_scalar, "argsort: order is i64[], keys f32[]"},
    {bad_sort_self, "argsort: order shares the storage of the keys"},
    {bad_search_table, "search_sorted: table is f32[3, 4], values f32[2, 4]"},
    {bad_search_type, "search_sorted: table is f32[4], values bf16[2, 4]"},
    {bad_search_position, "search_sorted: position is i32[2, 4], values f32[2, 4]"},
};

static void test_bad_calls(void **state)
{
    (void)state;
    refused_check(bad_calls, sizeof(bad_calls) / sizeof(bad_calls[0]));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_take_along),
        cmocka_unit_test(test_put_rows),
        cmocka_unit_test(test_add_rows),
        cmocka_unit_test(test_add_rows_rounds_once),
        cmocka_unit_test(test_argsort_rows),
        cmocka_unit_test(test_search_sorted),
        cmocka_unit_test(test_bad_calls),
    };
    return cmocka_run_group_tests(tests, array_set_up, array_tear_down);
}
