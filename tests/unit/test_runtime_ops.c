/* SPDX-License-Identifier: Apache-2.0 */
/* Every operation of the host backend against a straightforward evaluation, element by element in f64 or i64. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/random.h"
#include "runtime/runtime.h"

#define MAX 4096 /* elements of a test tensor */

static struct rt *rt;

static int set_up(void **state)
{
    struct pkb_error err;
    struct rt_options o = {.rank = 0, .world = 1, .shm_prefix = "/pkb-test"};
    (void)state;
    rt = rt_open("host", &o, &err);
    return rt ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    rt_close(rt);
    return 0;
}

/* ---- test tensors -------------------------------------------------------------------------------------------------- */

/* A device tensor and the numbers in it. */
struct array {
    pkb_tensor *t;
    size_t n;
    double x[MAX];
};

static uint32_t stream; /* every array has other numbers */

static void make(struct array *a, int dtype, int ndim, const int64_t *shape, double low, double high)
{
    uint8_t stored[MAX * 8];
    int64_t n;
    struct rng r = rng_make(1, 1, 1, 1, stream++);
    a->t = rt_new(rt, dtype, ndim, shape);
    assert_non_null(a->t);
    assert_int_equal(tensor_numel(a->t, &n, NULL), 0);
    assert_true(n <= MAX);
    a->n = (size_t)n;
    if (dtype_is_float(dtype))
        rng_fill_uniform(&r, dtype, stored, a->n, low, high);
    else
        rng_fill_integers(&r, dtype, stored, a->n, (int64_t)low, (int64_t)high + 1);
    dtype_to_f64(dtype, a->x, stored, a->n);
    rt_upload(rt, a->t, stored);
}

static void fetch(const pkb_tensor *t, void *stored)
{
    struct pkb_error err = {""};
    rt_download(rt, stored, t);
    if (rt_sync(rt, &err))
        fail_msg("%s", err.text);
}

/* The tensor holds exactly these numbers, rounded from f32 arithmetic (f64, i64 where the type is that wide). */
static void check_exact(const pkb_tensor *t, const double *want, size_t n, bool f32)
{
    uint8_t stored[MAX * 8];
    double got[MAX], rounded[MAX];
    float single[MAX];
    fetch(t, stored);
    dtype_to_f64(t->dtype, got, stored, n);
    if (f32) {
        for (size_t i = 0; i < n; i++)
            single[i] = (float)want[i];
        dtype_from_f32(t->dtype, stored, single, n);
    } else {
        dtype_from_f64(t->dtype, stored, want, n);
    }
    dtype_to_f64(t->dtype, rounded, stored, n);
    for (size_t i = 0; i < n; i++) {
        if (got[i] != rounded[i] && !(isnan(got[i]) && isnan(rounded[i])))
            fail_msg("%s element %zu: %.17g, expected %.17g", dtype_name(t->dtype), i, got[i], rounded[i]);
    }
}

static void check_close(const pkb_tensor *t, const double *want, size_t n, double relative)
{
    uint8_t stored[MAX * 8];
    double got[MAX], u = dtype_roundoff(t->dtype) * 1.01 + relative;
    double least = t->dtype == PKB_FP8_E4M3 ? 0x1p-10 : t->dtype == PKB_F16 ? 0x1p-25 : 1e-38; /* half a subnormal step */
    fetch(t, stored);
    dtype_to_f64(t->dtype, got, stored, n);
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(got[i] - want[i]) <= u * fabs(want[i]) + least))
            fail_msg("%s element %zu: %.17g, expected %.17g", dtype_name(t->dtype), i, got[i], want[i]);
    }
}

/* Index of each dimension of element i. */
static void unravel(const pkb_tensor *t, size_t i, int64_t index[PKB_MAX_DIMS])
{
    for (int d = t->ndim - 1; d >= 0; d--) {
        index[d] = (int64_t)i % t->shape[d];
        i /= (size_t)t->shape[d];
    }
}

static size_t ravel(const pkb_tensor *t, const int64_t index[PKB_MAX_DIMS])
{
    size_t i = 0;
    for (int d = 0; d < t->ndim; d++)
        i = i * (size_t)t->shape[d] + (size_t)index[d];
    return i;
}

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
    default:
        return NAN;
    }
}

static size_t broadcast_index(const pkb_tensor *t, const pkb_tensor *dst, size_t i)
{
    int64_t index[PKB_MAX_DIMS], own[PKB_MAX_DIMS];
    unravel(dst, i, index);
    for (int d = 0; d < t->ndim; d++)
        own[d] = t->shape[d] == 1 ? 0 : index[dst->ndim - t->ndim + d];
    return ravel(t, own);
}

static void check_binary(enum rt_binary op, const struct array *a, const struct array *b, pkb_tensor *dst)
{
    static double want[MAX];
    int64_t n;
    bool f32 = in_f32(a->t->dtype, b->t->dtype, dst->dtype);
    bool integer = !f32 && dst->dtype != PKB_F64 && a->t->dtype != PKB_F64 && b->t->dtype != PKB_F64;
    assert_int_equal(tensor_numel(dst, &n, NULL), 0);
    for (size_t i = 0; i < (size_t)n; i++)
        want[i] = apply(op, a->x[broadcast_index(a->t, dst, i)], b->x[broadcast_index(b->t, dst, i)], f32, integer);
    check_exact(dst, want, (size_t)n, f32);
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
            make(&a, dtype, broadcasts[k].a_ndim, broadcasts[k].a, 1, 6);
            make(&b, dtype, broadcasts[k].b_ndim, broadcasts[k].b, 1, 4);
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
            make(&a, i, 2, shape, 1, 5);
            make(&b, j, 2, shape, 1, 3);
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
            make(&a, dtype, 2, shape, 1, 5);
            make(&b, dtype, side, row, 1, 3);
            rt_binary(rt, RT_MUL, a.t, side ? b.t : a.t, side ? a.t : b.t);
            check_binary(RT_MUL, &a, &b, a.t);
            make(&a, dtype, 2, shape, 1, 5);
            rt_binary(rt, RT_ADD, a.t, a.t, a.t);
            check_binary(RT_ADD, &a, &a, a.t);
        }
        rt_release_all(rt);
    }
}

static void test_scalar(void **state)
{
    static struct array a;
    static double want[MAX];
    static const int64_t shape[1] = {1500};
    static const double scalars[] = {3, -2, 0.1, 1e-3};
    (void)state;
    for (int dtype = 0; dtype < PKB_BOOL; dtype++) {
        bool f32 = in_f32(dtype, dtype, dtype), integer = !dtype_is_float(dtype);
        make(&a, dtype, 1, shape, 1, 6);
        for (size_t k = 0; k < (integer ? 2 : 4); k++) {
            double b = f32 ? (double)(float)scalars[k] : scalars[k];
            for (int op = 0; op < RT_BINARY_COUNT; op++) {
                pkb_tensor *dst = rt_new_like(rt, dtype, a.t);
                rt_binary_scalar(rt, (enum rt_binary)op, dst, a.t, scalars[k]);
                for (size_t i = 0; i < a.n; i++)
                    want[i] = apply((enum rt_binary)op, a.x[i], b, f32, integer);
                check_exact(dst, want, a.n, f32);
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
        fetch(z, got);
        assert_true(isnan(got[0]) && isnan(got[1]) && got[2] == 0 && isnan(got[3]) && isnan(got[4]) && !isnan(got[5]));
    }
    for (int op = 0; op < RT_REDUCTION_COUNT; op++) {
        rt_reduce_axis(rt, (enum rt_reduction)op, all, x, 0);
        fetch(all, got);
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
    default:
        return NAN;
    }
}

static void test_unary(void **state)
{
    static struct array a;
    static double want[MAX];
    static const int64_t shape[2] = {3, 700};
    (void)state;
    for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
        for (int op = 0; op < RT_UNARY_COUNT; op++) {
            bool positive = op == RT_LOG || op == RT_SQRT || op == RT_RSQRT, integer = !dtype_is_float(dtype);
            bool exact = op == RT_NEG || op == RT_ABS || op == RT_SQUARE;
            int dst_type = integer && !exact ? PKB_F32 : dtype;
            bool is_unsigned = dtype == PKB_U8 || dtype == PKB_BOOL;
            make(&a, dtype, 2, shape, positive ? 0.1 : is_unsigned ? 0 : -5, dtype == PKB_BOOL ? 1 : 5);
            pkb_tensor *dst = op % 2 && dst_type == dtype ? a.t : rt_new_like(rt, dst_type, a.t);
            rt_unary(rt, (enum rt_unary)op, dst, a.t);
            for (size_t i = 0; i < a.n; i++)
                want[i] = apply_unary((enum rt_unary)op, a.x[i]);
            if (integer && exact)
                check_exact(dst, want, a.n, false);
            else if (integer && positive)
                continue; /* log 0 */
            else
                check_close(dst, want, a.n, dtype == PKB_F64 ? 1e-15 : 4e-7);
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
    fetch(b, got);
    for (int i = 0; i < 6; i++)
        assert_true((double)got[i] == soft[i] || fabs((double)got[i] - soft[i]) < 1e-7 * soft[i] + 1e-30);
    rt_unary(rt, RT_SIGMOID, b, a);
    fetch(b, got);
    for (int i = 0; i < 6; i++)
        assert_true(fabs((double)got[i] - sig[i]) < 1e-7);
}

static void test_copy_fill(void **state)
{
    static struct array a;
    static double want[MAX];
    static const int64_t shape[2] = {40, 31}, flat[1] = {1240};
    (void)state;
    for (int from = 0; from < PKB_DTYPE_COUNT; from++) {
        make(&a, from, 2, shape, 0, 1);
        for (int to = 0; to < PKB_DTYPE_COUNT; to++) {
            pkb_tensor *dst = rt_new(rt, to, 1, flat);
            rt_copy(rt, dst, a.t);
            check_exact(dst, a.x, a.n, false);
        }
        pkb_tensor *filled = rt_new(rt, from, 2, shape);
        rt_fill(rt, filled, 1.7);
        for (size_t i = 0; i < a.n; i++)
            want[i] = 1.7;
        check_exact(filled, want, a.n, false);
        rt_fill(rt, rt_new(rt, from, 1, (int64_t[]){0}), 3);
        rt_copy(rt, rt_new(rt, PKB_F64, 1, (int64_t[]){0}), rt_new(rt, from, 2, (int64_t[]){5, 0}));
        rt_release_all(rt);
    }
}

/* ---- reductions ---------------------------------------------------------------------------------------------------- */

static void check_reduction(enum rt_reduction op, const struct array *a, pkb_tensor *dst, int axis, bool keep)
{
    static double want[MAX];
    int64_t index[PKB_MAX_DIMS], n;
    assert_int_equal(tensor_numel(dst, &n, NULL), 0);
    for (size_t i = 0; i < (size_t)n; i++)
        want[i] = op == RT_SUM ? 0 : op == RT_PROD ? 1 : op == RT_AMIN ? INFINITY : -(double)INFINITY;
    for (size_t i = 0; i < a->n; i++) {
        size_t j = 0;
        unravel(a->t, i, index);
        for (int d = 0; d < a->t->ndim && axis != RT_ALL_AXES; d++) {
            if (d != axis)
                j = j * (size_t)a->t->shape[d] + (size_t)index[d];
        }
        double x = a->x[i], y = want[j];
        want[j] = op == RT_SUM ? y + x : op == RT_PROD ? y * x : op == RT_AMIN ? fmin(y, x) : fmax(y, x);
    }
    (void)keep;
    check_close(dst, want, (size_t)n, dst->dtype == PKB_F64 ? 1e-13 : 1e-6);
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
            make(&a, dtype, forms[k].ndim, forms[k].shape, dtype_is_float(dtype) ? 0.998 : 1, high);
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
    fetch(sums, got);
    assert_true(got[0] == 0 && got[3] == 0);
    rt_reduce_axis(rt, RT_PROD, sums, none, -1);
    fetch(sums, got);
    assert_true(got[0] == 1 && got[3] == 1);
    rt_reduce_axis(rt, RT_AMAX, rt_new(rt, PKB_F64, RT_SHAPE(0)), none, 0);
    /* A million ones in bf16: a sum in bf16 would stop at 256, one in f32 without care would be inexact for 0.1. */
    pkb_tensor *many = rt_new(rt, PKB_F32, RT_SHAPE(1000, 1000)), *one = rt_new(rt, PKB_F32, RT_SCALAR);
    float f, x = 0.1f;
    rt_fill(rt, many, 0.1);
    rt_reduce_axis(rt, RT_SUM, one, many, RT_ALL_AXES);
    fetch(one, &f);
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

/* ---- products ------------------------------------------------------------------------------------------------------ */

struct product {
    int64_t batch, m, n, k;
};

static double element_of_product(const struct product *p, const struct array *a, bool ta, const struct array *b, bool tb,
                                 size_t s, size_t i, size_t j)
{
    size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k;
    double sum = 0;
    for (size_t q = 0; q < k; q++)
        sum += a->x[s * m * k + (ta ? q * m + i : i * k + q)] * b->x[s * k * n + (tb ? j * k + q : q * n + j)];
    return sum;
}

static void check_product(const struct product *p, int dtype, int dst_dtype, bool stacked, bool ta, bool tb)
{
    static struct array a, b;
    static double want[MAX];
    int64_t sa[3] = {p->batch, ta ? p->k : p->m, ta ? p->m : p->k}, sb[3] = {p->batch, tb ? p->n : p->k, tb ? p->k : p->n};
    int64_t sc[3] = {p->batch, p->m, p->n};
    int skip = stacked ? 0 : 1;
    make(&a, dtype, 3 - skip, sa + skip, dtype_is_float(dtype) ? 0.5 : 0, dtype == PKB_BOOL ? 1 : 3);
    make(&b, dtype, 3 - skip, sb + skip, dtype_is_float(dtype) ? 0.5 : 0, dtype == PKB_BOOL ? 1 : 3);
    pkb_tensor *c = rt_new(rt, dst_dtype, 3 - skip, sc + skip);
    rt_fill_bytes(rt, c, 0x5a);
    rt_matmul(rt, c, a.t, ta, b.t, tb);
    size_t mn = (size_t)(p->m * p->n), n = mn * (size_t)p->batch;
    for (size_t i = 0; i < n; i++)
        want[i] = element_of_product(p, &a, ta, &b, tb, i / mn, i % mn / (size_t)p->n, i % (size_t)p->n);
    if (dtype_is_float(dst_dtype))
        check_close(c, want, n, dtype == PKB_F64 || dst_dtype == PKB_F64 ? 1e-14 : 2e-6);
    else
        check_exact(c, want, n, false);
    rt_release_all(rt);
}

static void test_matmul(void **state)
{
    static const struct product products[] = {{1, 1, 1, 1},  {1, 3, 5, 7}, {1, 24, 17, 33}, {1, 4, 6, 0}, {1, 0, 3, 5},
                                              {1, 1, 40, 9}, {3, 4, 5, 6}, {0, 4, 5, 6},    {2, 7, 1, 1}};
    (void)state;
    for (size_t k = 0; k < sizeof(products) / sizeof(products[0]); k++) {
        for (int flags = 0; flags < 4; flags++) {
            for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
                /* Sums of up to 33 products of 9 at most: too large for e4m3 and u8 themselves. */
                int dst = dtype == PKB_FP8_E4M3 ? PKB_BF16 : dtype == PKB_U8 || dtype == PKB_BOOL ? PKB_I32 : dtype;
                check_product(&products[k], dtype, dst, products[k].batch != 1, flags & 1, flags & 2);
                check_product(&products[k], dtype, PKB_F64, true, flags & 1, flags & 2);
            }
            check_product(&products[k], PKB_BF16, PKB_F32, true, flags & 1, flags & 2);
        }
    }
}

/* ---- rearrangements ------------------------------------------------------------------------------------------------ */

static void check_permute(const struct array *a, const int *order)
{
    static double want[MAX];
    int64_t shape[PKB_MAX_DIMS], to[PKB_MAX_DIMS], from[PKB_MAX_DIMS];
    for (int d = 0; d < a->t->ndim; d++)
        shape[d] = a->t->shape[order[d]];
    pkb_tensor *dst = rt_new(rt, a->t->dtype, a->t->ndim, shape);
    rt_permute(rt, dst, a->t, order);
    for (size_t i = 0; i < a->n; i++) {
        unravel(dst, i, to);
        for (int d = 0; d < a->t->ndim; d++)
            from[order[d]] = to[d];
        want[i] = a->x[ravel(a->t, from)];
    }
    check_exact(dst, want, a->n, false);
}

static void test_permute(void **state)
{
    static struct array a;
    static const int64_t shape[4] = {3, 1, 4, 5}, empty[2] = {0, 3}, matrix[2] = {31, 57};
    static const int types[] = {PKB_U8, PKB_BF16, PKB_F32, PKB_F64, PKB_I64};
    (void)state;
    for (size_t k = 0; k < 5; k++) {
        make(&a, types[k], 4, shape, 0, 100);
        for (int code = 0; code < 256; code++) {
            int order[4] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6};
            if ((1 << order[0] | 1 << order[1] | 1 << order[2] | 1 << order[3]) == 15)
                check_permute(&a, order);
        }
        make(&a, types[k], 2, matrix, 0, 100);
        check_permute(&a, (int[]){1, 0});
        make(&a, types[k], 2, empty, 0, 100);
        check_permute(&a, (int[]){1, 0});
        make(&a, types[k], 0, NULL, 0, 100);
        check_permute(&a, NULL);
        rt_release_all(rt);
    }
}

static void test_concat(void **state)
{
    static struct array parts[3];
    static double want[MAX];
    (void)state;
    for (int axis = 0; axis < 3; axis++) {
        const pkb_tensor *list[3];
        int64_t total[3] = {4, 5, 6};
        total[axis] = 0;
        for (int i = 0; i < 3; i++) {
            int64_t shape[3] = {4, 5, 6};
            shape[axis] = i == 1 ? 0 : i + 2;
            total[axis] += shape[axis];
            make(&parts[i], PKB_BF16, 3, shape, 0, 9);
            list[i] = parts[i].t;
        }
        pkb_tensor *dst = rt_new(rt, PKB_BF16, 3, total);
        rt_concat(rt, dst, 3, list, axis == 1 ? -2 : axis);
        size_t n = (size_t)(total[0] * total[1] * total[2]);
        for (size_t i = 0; i < n; i++) {
            int64_t index[PKB_MAX_DIMS];
            unravel(dst, i, index);
            int p = 0;
            while (index[axis] >= parts[p].t->shape[axis])
                index[axis] -= parts[p++].t->shape[axis];
            want[i] = parts[p].x[ravel(parts[p].t, index)];
        }
        check_exact(dst, want, n, false);
    }
    rt_concat(rt, rt_new(rt, PKB_F32, RT_SHAPE(0, 3)), 0, NULL, 0);
    rt_release_all(rt);
}

static void test_take_rows(void **state)
{
    static struct array table, index;
    static double want[MAX];
    static const int64_t form[3] = {9, 2, 3}, places[2] = {4, 5}, none[1] = {0};
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        make(&table, PKB_F16, 3, form, 0, 9);
        make(&index, wide ? PKB_I64 : PKB_I32, 2, places, 0, 8);
        pkb_tensor *dst = rt_new(rt, PKB_F16, RT_SHAPE(4, 5, 2, 3));
        rt_take_rows(rt, dst, table.t, index.t);
        for (size_t i = 0; i < 120; i++)
            want[i] = table.x[(size_t)index.x[i / 6] * 6 + i % 6];
        check_exact(dst, want, 120, false);
    }
    make(&index, PKB_I64, 1, none, 0, 1);
    rt_take_rows(rt, rt_new(rt, PKB_F16, RT_SHAPE(0, 2, 3)), table.t, index.t);
    pkb_tensor *row = rt_new(rt, PKB_F16, RT_SHAPE(2, 3)), *third = rt_new(rt, PKB_I32, RT_SCALAR);
    rt_fill(rt, third, 3);
    rt_take_rows(rt, row, table.t, third);
    check_exact(row, table.x + 18, 6, false);
    rt_release_all(rt);
}

static void test_argsort(void **state)
{
    static struct array keys;
    static int64_t order[MAX];
    static const int64_t lengths[] = {0, 1, 2, 3, 100, 1023};
    (void)state;
    for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
        for (size_t k = 0; k < 6; k++) {
            bool seen[MAX] = {false};
            make(&keys, dtype, 1, &lengths[k], dtype == PKB_U8 || dtype == PKB_BOOL ? 0 : -20, dtype == PKB_BOOL ? 1 : 20);
            pkb_tensor *t = rt_new(rt, PKB_I64, 1, &lengths[k]);
            rt_argsort(rt, t, keys.t);
            fetch(t, order);
            for (int64_t i = 0; i < lengths[k]; i++) {
                assert_true(order[i] >= 0 && order[i] < lengths[k] && !seen[order[i]]);
                seen[order[i]] = true;
                if (i == 0)
                    continue;
                double x = keys.x[order[i - 1]], y = keys.x[order[i]];
                assert_true(x < y || (x == y && order[i - 1] < order[i]));
            }
        }
        rt_release_all(rt);
    }
    static const float special[7] = {NAN, 1, -0.0f, -INFINITY, 0, INFINITY, -1};
    static const int64_t sorted[7] = {3, 6, 2, 4, 1, 5, 0};
    pkb_tensor *a = rt_new(rt, PKB_F32, RT_SHAPE(7)), *t = rt_new(rt, PKB_I64, RT_SHAPE(7));
    rt_upload(rt, a, special);
    rt_argsort(rt, t, a);
    fetch(t, order);
    assert_memory_equal(order, sorted, sizeof(sorted));
}

static void test_bincount_diagonal(void **state)
{
    static struct array v, a;
    static const int64_t n[1] = {1000}, tall[2] = {7, 4}, wide[2] = {4, 7}, empty[2] = {0, 5};
    double want[10] = {0};
    (void)state;
    for (int dtype = PKB_I32; dtype <= PKB_U8; dtype++) {
        memset(want, 0, sizeof(want));
        make(&v, dtype, 1, n, 0, 8);
        for (size_t i = 0; i < v.n; i++)
            want[(size_t)v.x[i]]++;
        pkb_tensor *counts = rt_new(rt, PKB_I64, RT_SHAPE(10));
        rt_bincount(rt, counts, v.t);
        check_exact(counts, want, 10, false);
    }
    for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
        pkb_tensor *d = rt_new(rt, dtype, RT_SHAPE(4)), *none = rt_new(rt, dtype, RT_SHAPE(0));
        for (int k = 0; k < 2; k++) {
            make(&a, dtype, 2, k ? tall : wide, 0, 1);
            rt_diagonal(rt, d, a.t);
            for (size_t i = 0; i < 4; i++)
                want[i] = a.x[i * (size_t)a.t->shape[1] + i];
            check_exact(d, want, 4, false);
        }
        make(&a, dtype, 2, empty, 0, 1);
        rt_diagonal(rt, none, a.t);
    }
    rt_release_all(rt);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binary),
        cmocka_unit_test(test_mixed_types),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_scalar),
        cmocka_unit_test(test_integer_arithmetic),
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_unary),
        cmocka_unit_test(test_extreme_unary),
        cmocka_unit_test(test_copy_fill),
        cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_reduce_edges),
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_permute),
        cmocka_unit_test(test_concat),
        cmocka_unit_test(test_take_rows),
        cmocka_unit_test(test_argsort),
        cmocka_unit_test(test_bincount_diagonal),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
