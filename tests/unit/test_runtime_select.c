/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons, roundings, selections and counting tensors of the host backend against a plain evaluation, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/array.h"
#include "tests/support/refused.h"

/* ---- comparisons, remainders, roundings ---------------------------------------------------------------------------- */

/* NaN equals nothing, -0 equals 0; the results are 1 and 0 in any type. */
static void test_comparisons(void **state)
{
    static const float a[6] = {NAN, 1, -0.0f, INFINITY, NAN, 2}, b[6] = {1, NAN, 0, INFINITY, NAN, 3};
    static const uint8_t want[6][6] = {{0, 0, 1, 1, 0, 0}, {1, 1, 0, 0, 1, 1}, {0, 0, 0, 0, 0, 1},
                                       {0, 0, 1, 1, 0, 1}, {0, 0, 0, 0, 0, 0}, {0, 0, 1, 1, 0, 0}};
    pkb_tensor *x = rt_new(rt, PKB_F32, RT_SHAPE(6)), *y = rt_new(rt, PKB_F32, RT_SHAPE(6));
    (void)state;
    rt_upload(rt, x, a);
    rt_upload(rt, y, b);
    for (int op = RT_EQ; op <= RT_GE; op++) {
        for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
            pkb_tensor *z = rt_new(rt, dtype, RT_SHAPE(6));
            double expected[6];
            for (int i = 0; i < 6; i++)
                expected[i] = want[op - RT_EQ][i];
            rt_binary(rt, (enum rt_binary)op, z, x, y);
            array_check_exact(z, expected, 6, false);
        }
    }
    static const double above[6] = {0, 0, 0, 1, 0, 1};
    pkb_tensor *z = rt_new(rt, PKB_BOOL, RT_SHAPE(6));
    rt_binary_scalar(rt, RT_GT, z, x, 1.5);
    array_check_exact(z, above, 6, false);
    rt_release_all(rt);
}

static void test_remainders(void **state)
{
    static const double a[6] = {7.5, -7.5, 7.5, -7.5, 0, 5}, b[6] = {2, 2, -2, -2, 3, INFINITY};
    static const double want[6] = {1.5, 0.5, -0.5, -1.5, 0, NAN}; /* as NumPy's formula gives them */
    pkb_tensor *x = rt_new(rt, PKB_F64, RT_SHAPE(6)), *y = rt_new(rt, PKB_F64, RT_SHAPE(6));
    (void)state;
    rt_upload(rt, x, a);
    rt_upload(rt, y, b);
    rt_binary(rt, RT_MOD, x, x, y);
    array_check_exact(x, want, 6, false);
    rt_release_all(rt);
}

static void test_roundings(void **state)
{
    static const double a[9] = {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4999, INFINITY, NAN};
    static const double want[3][9] = {{-3, -2, -1, 0, 1, 2, 2, INFINITY, NAN},
                                      {-2, -1, -0.0, 1, 2, 3, 3, INFINITY, NAN},
                                      {-2, -2, -0.0, 0, 2, 2, 2, INFINITY, NAN}};
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        pkb_tensor *x = rt_new(rt, PKB_F64, RT_SHAPE(9)), *y = rt_new(rt, wide ? PKB_F64 : PKB_F32, RT_SHAPE(9));
        rt_upload(rt, x, a);
        rt_copy(rt, y, x);
        for (int op = RT_FLOOR; op <= RT_RINT; op++) {
            pkb_tensor *z = rt_new_like(rt, y->dtype, y);
            rt_unary(rt, (enum rt_unary)op, z, y);
            array_check_exact(z, want[op - RT_FLOOR], 9, false);
        }
    }
    rt_release_all(rt);
}

/* ---- where --------------------------------------------------------------------------------------------------------- */

static size_t place(const pkb_tensor *t, const pkb_tensor *dst, size_t i)
{
    int64_t index[PKB_MAX_DIMS], own[PKB_MAX_DIMS];
    array_unravel(dst, i, index);
    for (int d = 0; d < t->ndim; d++)
        own[d] = t->shape[d] == 1 ? 0 : index[dst->ndim - t->ndim + d];
    return array_ravel(t, own);
}

static const struct {
    int ndim[4]; /* destination, condition, a, b */
    int64_t shape[4][4];
} forms[] = {
    {{0, 0, 0, 0}, {{0}}},
    {{1, 1, 1, 1}, {{2500}, {2500}, {2500}, {2500}}},
    {{1, 1, 1, 0}, {{2500}, {2500}, {2500}}},
    {{1, 0, 1, 1}, {{2500}, {0}, {2500}, {2500}}},
    {{1, 1, 1, 0}, {{7}, {7}, {1}}},
    {{2, 2, 2, 1}, {{24, 72}, {24, 1}, {24, 72}, {72}}},
    {{2, 2, 1, 2}, {{24, 72}, {24, 1}, {72}, {24, 1}}},
    {{3, 2, 3, 3}, {{3, 4, 5}, {4, 1}, {3, 1, 5}, {1, 4, 5}}},
    {{4, 4, 1, 2}, {{2, 1, 4, 5}, {2, 1, 4, 1}, {5}, {4, 5}}},
    {{4, 1, 4, 4}, {{2, 3, 4, 5}, {5}, {2, 3, 4, 5}, {2, 3, 4, 5}}},
    {{2, 2, 2, 0}, {{0, 5}, {0, 5}, {1, 5}}},
};

static void check_where(size_t k, int condition, int dtype)
{
    static struct array c, a, b;
    static double want[ARRAY_MAX];
    bool truth = condition == PKB_BOOL, is_unsigned = truth || condition == PKB_U8;
    array_make(&c, condition, forms[k].ndim[1], forms[k].shape[1], is_unsigned ? 0 : -1, 1);
    array_make(&a, dtype, forms[k].ndim[2], forms[k].shape[2], 0, 1);
    array_make(&b, dtype, forms[k].ndim[3], forms[k].shape[3], 0, 1);
    pkb_tensor *dst = rt_new(rt, dtype, forms[k].ndim[0], forms[k].shape[0]);
    int64_t n;
    rt_where(rt, dst, c.t, a.t, b.t);
    assert_int_equal(tensor_numel(dst, &n, NULL), 0);
    for (size_t i = 0; i < (size_t)n; i++)
        want[i] = c.x[place(c.t, dst, i)] != 0 ? a.x[place(a.t, dst, i)] : b.x[place(b.t, dst, i)];
    array_check_exact(dst, want, (size_t)n, false);
    rt_release_all(rt);
}

static void test_where(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof(forms) / sizeof(forms[0]); k++) {
        for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
            check_where(k, PKB_BOOL, dtype);
            check_where(k, dtype == PKB_FP8_E4M3 ? PKB_I64 : dtype, PKB_BF16);
        }
    }
}

/* What counts as true, and that the chosen bits are kept: NaN payloads, the sign of zero. */
static void test_where_bits(void **state)
{
    static const float flags[6] = {0, -0.0f, NAN, INFINITY, 1e-40f, -1};
    static const uint32_t yes[6] = {1, 2, 0x7fc00123, 0x80000000, 5, 0xffffffff}, no[6] = {7, 0x80000000, 9, 10, 11, 12};
    static const uint32_t want[6] = {7, 0x80000000, 0x7fc00123, 0x80000000, 5, 0xffffffff};
    pkb_tensor *c = rt_new(rt, PKB_F32, RT_SHAPE(6)), *a = rt_new(rt, PKB_F32, RT_SHAPE(6)),
               *b = rt_new(rt, PKB_F32, RT_SHAPE(6));
    uint32_t got[6];
    (void)state;
    rt_upload(rt, c, flags);
    rt_upload(rt, a, yes);
    rt_upload(rt, b, no);
    for (int in_place = 0; in_place < 3; in_place++) {
        pkb_tensor *dst = in_place == 1 ? a : in_place == 2 ? b : rt_new_like(rt, PKB_F32, a);
        rt_where(rt, dst, c, a, b);
        array_fetch(dst, got);
        assert_memory_equal(got, want, sizeof(want));
        rt_upload(rt, a, yes);
    }
}

/* ---- iota ---------------------------------------------------------------------------------------------------------- */

static void test_iota(void **state)
{
    static const struct {
        double first, step;
    } rows[] = {{0, 1}, {5, 0}, {100, -1}, {0.5, 0.125}, {-3, 2}, {0, 0.1}};
    static double want[ARRAY_MAX];
    (void)state;
    for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
        for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
            pkb_tensor *t = rt_new(rt, dtype, RT_SHAPE(3, 700));
            if (!dtype_is_float(dtype) && (rows[k].first != floor(rows[k].first) || rows[k].step != floor(rows[k].step)))
                continue;
            rt_iota(rt, t, rows[k].first, rows[k].step);
            for (size_t i = 0; i < 2100; i++)
                want[i] = rows[k].first + rows[k].step * (double)i;
            array_check_exact(t, want, 2100, false);
        }
        rt_iota(rt, rt_new(rt, dtype, RT_SHAPE(3, 0)), 0, 1);
        rt_release_all(rt);
    }
    int64_t got[3];
    pkb_tensor *t = rt_new(rt, PKB_I64, RT_SHAPE(3));
    rt_iota(rt, t, 0x1p62, 0x1p61);
    rt_read_i64(rt, got, t);
    assert_true(got[1] == INT64_C(3) << 61 && got[2] == INT64_MIN);
    rt_release_all(rt);
}

/* ---- what is refused ----------------------------------------------------------------------------------------------- */

static void bad_mod(struct operands *o)
{
    rt_fill(o->rt, o->i24, 0);
    rt_binary(o->rt, RT_MOD, o->i24, o->i24, o->i24);
}
static void bad_mod_scalar(struct operands *o)
{
    rt_binary_scalar(o->rt, RT_MOD, o->i24, o->i24, 0);
}
static void bad_compare_scalar(struct operands *o)
{
    rt_binary_scalar(o->rt, RT_LT, o->i24, o->i24, 0.5);
}
static void bad_compare_shape(struct operands *o)
{
    rt_binary(o->rt, RT_GE, o->bool24, o->f4, o->f4);
}
static void bad_silu_type(struct operands *o)
{
    rt_unary(o->rt, RT_SILU, o->i24, o->i24);
}
static void bad_rint_type(struct operands *o)
{
    rt_unary(o->rt, RT_RINT, o->i24, o->bool24);
}
static void bad_where_missing(struct operands *o)
{
    rt_where(o->rt, o->f24, NULL, o->f24, o->f24);
}
static void bad_where_choice_missing(struct operands *o)
{
    rt_where(o->rt, o->f24, o->bool24, o->f24, NULL);
}
static void bad_where_type(struct operands *o)
{
    rt_where(o->rt, o->f24, o->bool24, o->i24, o->f24);
}
static void bad_where_shape(struct operands *o)
{
    rt_where(o->rt, o->f4, o->bool24, o->f4, o->f4);
}
static void bad_where_dims(struct operands *o)
{
    rt_where(o->rt, o->f24, o->bool24, o->f124, o->f24);
}
static void bad_where_small(struct operands *o)
{
    rt_where(o->rt, o->f24, o->f4, o->f4, o->f1);
}
static void bad_where_alias(struct operands *o)
{
    pkb_tensor *row = rt_view(o->rt, rt_rows(o->rt, o->f24, 0, 1), RT_SHAPE(4));
    rt_where(o->rt, o->f24, o->bool24, row, o->f4);
}
static void bad_iota_missing(struct operands *o)
{
    rt_iota(o->rt, NULL, 0, 1);
}
static void bad_iota_step(struct operands *o)
{
    rt_iota(o->rt, o->i24, 0, 0.5);
}
static void bad_iota_range(struct operands *o)
{
    rt_iota(o->rt, o->i24, 0x1p63, 1);
}

static const struct refused_row bad_calls[] = {
    {bad_mod, "mod: division by zero"},
    {bad_mod_scalar, "mod: division by zero"},
    {bad_compare_scalar, "lt: scalar 0.5 is not an integer, the operand is i32[2, 4]"},
    {bad_compare_shape, "ge: destination is bool[2, 4], the operands are f32[4] and f32[4]"},
    {bad_silu_type, "silu: i32 into i32: needs a floating type"},
    {bad_rint_type, "rint: bool into i32: needs a floating type"},
    {bad_where_missing, "where: condition is missing"},
    {bad_where_choice_missing, "where: second choice is missing"},
    {bad_where_type, "where: destination is f32[2, 4], the first choice i32[2, 4]"},
    {bad_where_shape, "where: condition bool[2, 4] does not stretch to f32[4]"},
    {bad_where_dims, "where: first choice f32[1, 2, 4] does not stretch to f32[2, 4]"},
    {bad_where_small, "where: destination f32[2, 4] is larger than all operands together"},
    {bad_where_alias, "where: destination f32[2, 4] shares the storage of operand f32[4]"},
    {bad_iota_missing, "iota: destination is missing"},
    {bad_iota_step, "iota: from 0 in steps of 0.5 into i32[2, 4]"},
    {bad_iota_range, "iota: from 9.22337e+18 in steps of 1 into i32[2, 4]"},
};

static void test_bad_calls(void **state)
{
    (void)state;
    refused_check(bad_calls, sizeof(bad_calls) / sizeof(bad_calls[0]));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparisons), cmocka_unit_test(test_remainders), cmocka_unit_test(test_roundings),
        cmocka_unit_test(test_where),       cmocka_unit_test(test_where_bits), cmocka_unit_test(test_iota),
        cmocka_unit_test(test_bad_calls),
    };
    return cmocka_run_group_tests(tests, array_set_up, array_tear_down);
}
