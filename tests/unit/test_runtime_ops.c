/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operations and reductions of the host backend against a plain evaluation, element by element in f64 or i64. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/array.h"

/* Does an operation on these types compute in f32? */
static bool in_f32(int a, int b, int dst)
{
    bool f64 = a == PKB_F64 || b == PKB_F64 || dst == PKB_F64;
    return !f64 && (dtype_is_float(a) || dtype_is_float(b) || dtype_is_float(dst));
}

/* ---- binary -------------------------------------------------------------------------------------------------------- */

static double apply(enum rt_binary op, double x, double y, bool f32, bool integer)
{
    double q = f32 ? (double)(float)(x / y) : x / y;
    switch (op) {
    case RT_ADD:
        return x + y;
    case RT_SUB:
        return x - y;
    case RT_MUL:
        return x * y;
    case RT_DIV:
        return integer ? trunc(x / y) : q;
    case RT_FLOORDIV:
        return floor(q);
    case RT_MIN:
        return x < y ? x : y;
    case RT_MAX:
        return x > y ? x : y;
    case RT_MOD:
        return x - (f32 ? (double)(float)(floor(q) * y) : floor(q) * y);
    case RT_EQ:
        return x == y;
    case RT_NE:
        return x != y;
    case RT_LT:
        return x < y;
    case RT_LE:
        return x <= y;
    case RT_GT:
        return x > y;
    case RT_GE:
        return x >= y;
    default:
        return NAN;
    }
}

static size_t broadcast_index(const pkb_tensor *t, const pkb_tensor *dst, size_t i)
{
    int64_t index[PKB_MAX_DIMS], own[PKB_MAX_DIMS];
    array_unravel(dst, i, index);
    for (int d = 0; d < t->ndim; d++)
        own[d] = t->shape[d] == 1 ? 0 : index[dst->ndim - t->ndim + d];
    return array_ravel(t, own);
}

static void check_binary(enum rt_binary op, const struct array *a, const struct array *b, pkb_tensor *dst)
{
    static double want[ARRAY_MAX];
    int64_t n;
    bool f32 = in_f32(a->t->dtype, b->t->dtype, dst->dtype);
    bool integer = !f32 && dst->dtype != PKB_F64 && a->t->dtype != PKB_F64 && b->t->dtype != PKB_F64;
    assert_int_equal(tensor_numel(dst, &n, NULL), 0);
    for (size_t i = 0; i < (size_t)n; i++)
        want[i] = apply(op, a->x[broadcast_index(a->t, dst, i)], b->x[broadcast_index(b->t, dst, i)], f32, integer);
    array_check_exact(dst, want, (size_t)n, f32);
}

static const struct {
    int a_ndim, b_ndim, ndim;
    int64_t a[8], b[8], dst[8];
} broadcasts[] = {
    {0, 0, 0, {0}, {0}, {0}},
    {1, 1, 1, {7}, {7}, {7}},
    {1, 0, 1, {7}, {0}, {7}},
    {0, 1, 1, {0}, {1}, {1}},
    {1, 1, 1, {2500}, {2500}, {2500}},
    {1, 1, 1, {1}, {2500}, {2500}},
    {2, 2, 2, {24, 72}, {24, 72}, {24, 72}},
    {2, 1, 2, {24, 72}, {72}, {24, 72}},
    {1, 2, 2, {72}, {24, 72}, {24, 72}},
    {2, 2, 2, {24, 72}, {24, 1}, {24, 72}},
    {2, 2, 2, {24, 1}, {1, 72}, {24, 72}},
    {3, 2, 3, {3, 1, 5}, {4, 1}, {3, 4, 5}},
    {4, 4, 4, {2, 1, 3, 1}, {1, 5, 1, 7}, {2, 5, 3, 7}},
    {8, 8, 8, {2, 1, 2, 1, 2, 1, 2, 3}, {1, 2, 1, 2, 1, 2, 2, 1}, {2, 2, 2, 2, 2, 2, 2, 3}},
    {2, 2, 2, {0, 5}, {1, 5}, {0, 5}},
    {2, 1, 2, {4, 0}, {0}, {4, 0}},
    {2, 1, 2, {4, 1}, {0}, {4, 0}},
};

static void test_binary(void **state)
{
    static struct array a, b;
    (void)state;
    for (int dtype = 0; dtype < PKB_BOOL; dtype++) {
        for (size_t k = 0; k < sizeof(broadcasts) / sizeof(broadcasts[0]); k++) {
            array_make(&a, dtype, broadcasts[k].a_ndim, broadcasts[k].a, 1, 6);
            array_make(&b, dtype, broadcasts[k].b_ndim, broadcasts[k].b, 1, 4);
            pkb_tensor *dst = rt_new(rt, dtype, broadcasts[k].ndim, broadcasts[k].dst);
            for (int op = 0; op < RT_BINARY_COUNT; op++) {
                rt_binary(rt, (enum rt_binary)op, dst, a.t, b.t);
                check_binary((enum rt_binary)op, &a, &b, dst);
            }
            rt_release_all(rt);
        }
    }
}

static void test_mixed_types(void **state)
{
    static struct array a, b;
    static const int64_t shape[2] = {9, 130};
    (void)state;
    for (int i = 0; i < PKB_DTYPE_COUNT; i++) {
        for (int j = 0; j < PKB_DTYPE_COUNT; j++) {
            array_make(&a, i, 2, shape, 1, 5);
            array_make(&b, j, 2, shape, 1, 3);
            for (int k = 0; k < PKB_DTYPE_COUNT; k++) {
                pkb_tensor *dst = rt_new(rt, k, 2, shape);
                rt_binary(rt, RT_MUL, dst, a.t, b.t);
                check_binary(RT_MUL, &a, &b, dst);
                rt_binary(rt, RT_SUB, dst, a.t, b.t);
                check_binary(RT_SUB, &a, &b, dst);
            }
            rt_release_all(rt);
        }
    }
}

/* dst may be an operand of its own shape. */
static void test_in_place(void **state)
{
    static struct array a, b;
    static const int64_t shape[2] = {33, 61}, row[1] = {61};
    (void)state;
    for (int dtype = 0; dtype < PKB_BOOL; dtype++) {
        for (int side = 0; side < 2; side++) {
            array_make(&a, dtype, 2, shape, 1, 5);
            array_make(&b, dtype, side, row, 1, 3);
            rt_binary(rt, RT_MUL, a.t, side ? b.t : a.t, side ? a.t : b.t);
            check_binary(RT_MUL, &a, &b, a.t);
            array_make(&a, dtype, 2, shape, 1, 5);
            rt_binary(rt, RT_ADD, a.t, a.t, a.t);
            check_binary(RT_ADD, &a, &a, a.t);
        }
        rt_release_all(rt);
    }
}

static void test_scalar(void **state)
{
    static struct array a;
    static double want[ARRAY_MAX];
    static const int64_t shape[1] = {1500};
    static const double scalars[] = {3, -2, 0.1, 1e-3};
    (void)state;
    for (int dtype = 0; dtype < PKB_BOOL; dtype++) {
        bool f32 = in_f32(dtype, dtype, dtype), integer = !dtype_is_float(dtype);
        array_make(&a, dtype, 1, shape, 1, 6);
        for (size_t k = 0; k < (integer ? 2 : 4); k++) {
            double b = f32 ? (double)(float)scalars[k] : scalars[k];
            for (int op = 0; op < RT_BINARY_COUNT; op++) {
                pkb_tensor *dst = rt_new_like(rt, dtype, a.t);
                rt_binary_scalar(rt, (enum rt_binary)op, dst, a.t, scalars[k]);
                for (size_t i = 0; i < a.n; i++)
                    want[i] = apply((enum rt_binary)op, a.x[i], b, f32, integer);
                array_check_exact(dst, want, a.n, f32);
            }
        }
        rt_release_all(rt);
    }
}

static void test_integer_arithmetic(void **state)
{
    static const struct {
        enum rt_binary op;
        int64_t a, b, want;
    } rows[] = {
        {RT_DIV, 7, -2, -3},
        {RT_FLOORDIV, 7, -2, -4},
        {RT_FLOORDIV, -7, 2, -4},
        {RT_FLOORDIV, -8, 2, -4},
        {RT_FLOORDIV, -7, -2, 3},
        {RT_DIV, INT64_MIN, -1, INT64_MIN},
        {RT_FLOORDIV, INT64_MIN, -1, INT64_MIN},
        {RT_ADD, INT64_MAX, 1, INT64_MIN},
        {RT_MUL, INT64_C(3037000500), INT64_C(3037000500), INT64_C(-9223372036709301616)},
        {RT_MOD, 7, -2, -1},
        {RT_MOD, -7, 2, 1},
        {RT_MOD, -8, 2, 0},
        {RT_MOD, -7, -2, -1},
        {RT_MOD, INT64_MIN, -1, 0},
        {RT_MOD, INT64_MIN, 3, 1},
        {RT_EQ, (INT64_C(1) << 53) + 1, INT64_C(1) << 53, 0},
        {RT_GT, (INT64_C(1) << 53) + 1, INT64_C(1) << 53, 1},
        {RT_LE, INT64_MIN, INT64_MAX, 1},
        {RT_MIN, INT64_MIN, INT64_MAX, INT64_MIN},
        {RT_MAX, (INT64_C(1) << 53) + 1, INT64_C(1) << 53, (INT64_C(1) << 53) + 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        pkb_tensor *a = rt_new(rt, PKB_I64, RT_SCALAR), *b = rt_new(rt, PKB_I64, RT_SCALAR);
        int64_t got;
        rt_upload(rt, a, &rows[i].a);
        rt_upload(rt, b, &rows[i].b);
        rt_binary(rt, rows[i].op, a, a, b);
        rt_read_i64(rt, &got, a);
        assert_true(got == rows[i].want);
    }
}

static void test_nan(void **state)
{
    static const float a[6] = {NAN, 1, -0.0f, INFINITY, NAN, 2}, b[6] = {1, NAN, 0, NAN, NAN, 3};
    pkb_tensor *x = rt_new(rt, PKB_F32, RT_SHAPE(6)), *y = rt_new(rt, PKB_F32, RT_SHAPE(6)),
               *z = rt_new(rt, PKB_F32, RT_SHAPE(6));
    pkb_tensor *all = rt_new(rt, PKB_F32, RT_SCALAR);
    float got[6];
    (void)state;
    rt_upload(rt, x, a);
    rt_upload(rt, y, b);
    for (int op = RT_MIN; op <= RT_MAX; op++) {
        rt_binary(rt, (enum rt_binary)op, z, x, y);
        array_fetch(z, got);
        assert_true(isnan(got[0]) && isnan(got[1]) && got[2] == 0 && isnan(got[3]) && isnan(got[4]) && !isnan(got[5]));
    }
    for (int op = 0; op < RT_REDUCTION_COUNT; op++) {
        rt_reduce_axis(rt, (enum rt_reduction)op, all, x, 0);
        array_fetch(all, got);
        assert_true(isnan(got[0]));
    }
}

/* ---- unary, copy, fill --------------------------------------------------------------------------------------------- */

static double apply_unary(enum rt_unary op, double x)
{
    switch (op) {
    case RT_NEG:
        return -x;
    case RT_ABS:
        return fabs(x);
    case RT_EXP:
        return exp(x);
    case RT_LOG:
        return log(x);
    case RT_SQRT:
        return sqrt(x);
    case RT_RSQRT:
        return 1 / sqrt(x);
    case RT_SQUARE:
        return x * x;
    case RT_SIGMOID:
        return 1 / (1 + exp(-x));
    case RT_SOFTPLUS:
        return log1p(exp(x));
    case RT_SILU:
        return x / (1 + exp(-x));
    case RT_FLOOR:
        return floor(x);
    case RT_CEIL:
        return ceil(x);
    case RT_RINT:
        return rint(x);
    default:
        return NAN;
    }
}

static void test_unary(void **state)
{
    static struct array a;
    static double want[ARRAY_MAX];
    static const int64_t shape[2] = {3, 700};
    (void)state;
    for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
        for (int op = 0; op < RT_UNARY_COUNT; op++) {
            bool positive = op == RT_LOG || op == RT_SQRT || op == RT_RSQRT, integer = !dtype_is_float(dtype);
            bool exact = op == RT_NEG || op == RT_ABS || op == RT_SQUARE;
            int dst_type = integer && !exact ? PKB_F32 : dtype;
            bool is_unsigned = dtype == PKB_U8 || dtype == PKB_BOOL;
            array_make(&a, dtype, 2, shape, positive ? 0.1 : is_unsigned ? 0 : -5, dtype == PKB_BOOL ? 1 : 5);
            pkb_tensor *dst = op % 2 && dst_type == dtype ? a.t : rt_new_like(rt, dst_type, a.t);
            rt_unary(rt, (enum rt_unary)op, dst, a.t);
            for (size_t i = 0; i < a.n; i++)
                want[i] = apply_unary((enum rt_unary)op, a.x[i]);
            if (integer && exact)
                array_check_exact(dst, want, a.n, false);
            else if (integer && positive)
                continue; /* log 0 */
            else
                array_check_close(dst, want, a.n, dtype == PKB_F64 ? 1e-15 : 4e-7);
        }
        rt_release_all(rt);
    }
}

static void test_extreme_unary(void **state)
{
    static const float x[6] = {-200, 200, 0, -INFINITY, INFINITY, 50};
    static const double soft[6] = {0, 200, 0.69314718055994530942, 0, INFINITY, 50}, sig[6] = {0, 1, 0.5, 0, 1, 1};
    pkb_tensor *a = rt_new(rt, PKB_F32, RT_SHAPE(6)), *b = rt_new(rt, PKB_F32, RT_SHAPE(6));
    float got[6];
    (void)state;
    rt_upload(rt, a, x);
    rt_unary(rt, RT_SOFTPLUS, b, a);
    array_fetch(b, got);
    for (int i = 0; i < 6; i++)
        assert_true((double)got[i] == soft[i] || fabs((double)got[i] - soft[i]) < 1e-7 * soft[i] + 1e-30);
    rt_unary(rt, RT_SIGMOID, b, a);
    array_fetch(b, got);
    for (int i = 0; i < 6; i++)
        assert_true(fabs((double)got[i] - sig[i]) < 1e-7);
}

static void test_copy_fill(void **state)
{
    static struct array a;
    static double want[ARRAY_MAX];
    static const int64_t shape[2] = {40, 31}, flat[1] = {1240};
    (void)state;
    for (int from = 0; from < PKB_DTYPE_COUNT; from++) {
        array_make(&a, from, 2, shape, 0, 1);
        for (int to = 0; to < PKB_DTYPE_COUNT; to++) {
            pkb_tensor *dst = rt_new(rt, to, 1, flat);
            rt_copy(rt, dst, a.t);
            array_check_exact(dst, a.x, a.n, false);
        }
        pkb_tensor *filled = rt_new(rt, from, 2, shape);
        rt_fill(rt, filled, 1.7);
        for (size_t i = 0; i < a.n; i++)
            want[i] = 1.7;
        array_check_exact(filled, want, a.n, false);
        rt_fill(rt, rt_new(rt, from, 1, (int64_t[]){0}), 3);
        rt_copy(rt, rt_new(rt, PKB_F64, 1, (int64_t[]){0}), rt_new(rt, from, 2, (int64_t[]){5, 0}));
        rt_release_all(rt);
    }
}

/* ---- reductions ---------------------------------------------------------------------------------------------------- */

static void check_reduction(enum rt_reduction op, const struct array *a, pkb_tensor *dst, int axis, bool keep)
{
    static double want[ARRAY_MAX];
    int64_t index[PKB_MAX_DIMS], n;
    assert_int_equal(tensor_numel(dst, &n, NULL), 0);
    for (size_t i = 0; i < (size_t)n; i++)
        want[i] = op == RT_SUM ? 0 : op == RT_PROD ? 1 : op == RT_AMIN ? INFINITY : -(double)INFINITY;
    for (size_t i = 0; i < a->n; i++) {
        size_t j = 0;
        array_unravel(a->t, i, index);
        for (int d = 0; d < a->t->ndim && axis != RT_ALL_AXES; d++) {
            if (d != axis)
                j = j * (size_t)a->t->shape[d] + (size_t)index[d];
        }
        double x = a->x[i], y = want[j];
        want[j] = op == RT_SUM ? y + x : op == RT_PROD ? y * x : op == RT_AMIN ? fmin(y, x) : fmax(y, x);
    }
    (void)keep;
    array_check_close(dst, want, (size_t)n, dst->dtype == PKB_F64 ? 1e-13 : 1e-6);
}

static void reduce_all_ways(const struct array *a, int dtype)
{
    for (int axis = 0; axis <= a->t->ndim; axis++) {
        bool all = axis == a->t->ndim;
        for (int keep = 0; keep < 2; keep++) {
            int64_t shape[PKB_MAX_DIMS] = {0};
            int ndim = 0;
            for (int d = 0; d < a->t->ndim; d++) {
                if (!all && d != axis)
                    shape[ndim++] = a->t->shape[d];
                else if (keep)
                    shape[ndim++] = 1;
            }
            pkb_tensor *dst = rt_new(rt, dtype, ndim, shape);
            for (int op = 0; op < RT_REDUCTION_COUNT; op++) {
                int given = all ? RT_ALL_AXES : keep ? axis : axis - a->t->ndim;
                rt_reduce_axis(rt, (enum rt_reduction)op, dst, a->t, given);
                check_reduction((enum rt_reduction)op, a, dst, all ? RT_ALL_AXES : axis, keep);
            }
        }
    }
}

static void test_reduce(void **state)
{
    static struct array a;
    static const struct {
        int ndim;
        int64_t shape[4];
    } forms[] = {{1, {1}}, {1, {11}}, {2, {5, 7}}, {3, {3, 1, 6}}, {4, {2, 3, 2, 4}}, {2, {2, 1300}}, {2, {3, 1}}};
    (void)state;
    for (int dtype = 0; dtype < PKB_BOOL; dtype++) {
        for (size_t k = 0; k < sizeof(forms) / sizeof(forms[0]); k++) {
            double high = dtype_is_float(dtype) ? 1.002 : 1; /* so that no product leaves the type */
            array_make(&a, dtype, forms[k].ndim, forms[k].shape, dtype_is_float(dtype) ? 0.998 : 1, high);
            reduce_all_ways(&a, dtype == PKB_FP8_E4M3 || dtype == PKB_U8 ? PKB_F32 : dtype);
            if (dtype == PKB_BF16)
                reduce_all_ways(&a, PKB_F64);
        }
        rt_release_all(rt);
    }
}

static void test_reduce_edges(void **state)
{
    double got[4];
    (void)state;
    pkb_tensor *none = rt_new(rt, PKB_BF16, RT_SHAPE(4, 0)), *sums = rt_new(rt, PKB_F64, RT_SHAPE(4));
    rt_reduce_axis(rt, RT_SUM, sums, none, 1);
    array_fetch(sums, got);
    assert_true(got[0] == 0 && got[3] == 0);
    rt_reduce_axis(rt, RT_PROD, sums, none, -1);
    array_fetch(sums, got);
    assert_true(got[0] == 1 && got[3] == 1);
    rt_reduce_axis(rt, RT_AMAX, rt_new(rt, PKB_F64, RT_SHAPE(0)), none, 0);
    /* A million ones in bf16: a sum in bf16 would stop at 256, one in f32 without care would be inexact for 0.1. */
    pkb_tensor *many = rt_new(rt, PKB_F32, RT_SHAPE(1000, 1000)), *one = rt_new(rt, PKB_F32, RT_SCALAR);
    float f, x = 0.1f;
    rt_fill(rt, many, 0.1);
    rt_reduce_axis(rt, RT_SUM, one, many, RT_ALL_AXES);
    array_fetch(one, &f);
    assert_true(f == (float)(1e6 * (double)x));
    /* bool: how many are set. */
    pkb_tensor *flags = rt_new(rt, PKB_BOOL, RT_SHAPE(300)), *count = rt_new(rt, PKB_I64, RT_SCALAR);
    int64_t n;
    rt_fill(rt, flags, 1);
    rt_reduce_axis(rt, RT_SUM, count, flags, 0);
    rt_read_i64(rt, &n, count);
    assert_int_equal(n, 300);
    rt_release_all(rt);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binary), cmocka_unit_test(test_mixed_types),        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_scalar), cmocka_unit_test(test_integer_arithmetic), cmocka_unit_test(test_nan),
        cmocka_unit_test(test_unary),  cmocka_unit_test(test_extreme_unary),      cmocka_unit_test(test_copy_fill),
        cmocka_unit_test(test_reduce), cmocka_unit_test(test_reduce_edges),
    };
    return cmocka_run_group_tests(tests, array_set_up, array_tear_down);
}
