/* SPDX-License-Identifier: Apache-2.0 */
/* Products, rearrangements and look-ups of the host backend against a plain evaluation, element by element. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/array.h"

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
    static double want[ARRAY_MAX];
    int64_t sa[3] = {p->batch, ta ? p->k : p->m, ta ? p->m : p->k}, sb[3] = {p->batch, tb ? p->n : p->k, tb ? p->k : p->n};
    int64_t sc[3] = {p->batch, p->m, p->n};
    int skip = stacked ? 0 : 1;
    array_make(&a, dtype, 3 - skip, sa + skip, dtype_is_float(dtype) ? 0.5 : 0, dtype == PKB_BOOL ? 1 : 3);
    array_make(&b, dtype, 3 - skip, sb + skip, dtype_is_float(dtype) ? 0.5 : 0, dtype == PKB_BOOL ? 1 : 3);
    pkb_tensor *c = rt_new(rt, dst_dtype, 3 - skip, sc + skip);
    rt_fill_bytes(rt, c, 0x5a);
    rt_matmul(rt, c, a.t, ta, b.t, tb);
    size_t mn = (size_t)(p->m * p->n), n = mn * (size_t)p->batch;
    for (size_t i = 0; i < n; i++)
        want[i] = element_of_product(p, &a, ta, &b, tb, i / mn, i % mn / (size_t)p->n, i % (size_t)p->n);
    if (dtype_is_float(dst_dtype))
        array_check_close(c, want, n, dtype == PKB_F64 || dst_dtype == PKB_F64 ? 1e-14 : 2e-6);
    else
        array_check_exact(c, want, n, false);
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
    static double want[ARRAY_MAX];
    int64_t shape[PKB_MAX_DIMS], to[PKB_MAX_DIMS], from[PKB_MAX_DIMS];
    for (int d = 0; d < a->t->ndim; d++)
        shape[d] = a->t->shape[order[d]];
    pkb_tensor *dst = rt_new(rt, a->t->dtype, a->t->ndim, shape);
    rt_permute(rt, dst, a->t, order);
    for (size_t i = 0; i < a->n; i++) {
        array_unravel(dst, i, to);
        for (int d = 0; d < a->t->ndim; d++)
            from[order[d]] = to[d];
        want[i] = a->x[array_ravel(a->t, from)];
    }
    array_check_exact(dst, want, a->n, false);
}

static void test_permute(void **state)
{
    static struct array a;
    static const int64_t shape[4] = {3, 1, 4, 5}, empty[2] = {0, 3}, matrix[2] = {31, 57};
    static const int types[] = {PKB_U8, PKB_BF16, PKB_F32, PKB_F64, PKB_I64};
    (void)state;
    for (size_t k = 0; k < 5; k++) {
        array_make(&a, types[k], 4, shape, 0, 100);
        for (int code = 0; code < 256; code++) {
            int order[4] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6};
            if ((1 << order[0] | 1 << order[1] | 1 << order[2] | 1 << order[3]) == 15)
                check_permute(&a, order);
        }
        array_make(&a, types[k], 2, matrix, 0, 100);
        check_permute(&a, (int[]){1, 0});
        array_make(&a, types[k], 2, empty, 0, 100);
        check_permute(&a, (int[]){1, 0});
        array_make(&a, types[k], 0, NULL, 0, 100);
        check_permute(&a, NULL);
        rt_release_all(rt);
    }
}

static void test_concat(void **state)
{
    static struct array parts[3];
    static double want[ARRAY_MAX];
    (void)state;
    for (int axis = 0; axis < 3; axis++) {
        const pkb_tensor *list[3];
        int64_t total[3] = {4, 5, 6};
        total[axis] = 0;
        for (int i = 0; i < 3; i++) {
            int64_t shape[3] = {4, 5, 6};
            shape[axis] = i == 1 ? 0 : i + 2;
            total[axis] += shape[axis];
            array_make(&parts[i], PKB_BF16, 3, shape, 0, 9);
            list[i] = parts[i].t;
        }
        pkb_tensor *dst = rt_new(rt, PKB_BF16, 3, total);
        rt_concat(rt, dst, 3, list, axis == 1 ? -2 : axis);
        size_t n = (size_t)(total[0] * total[1] * total[2]);
        for (size_t i = 0; i < n; i++) {
            int64_t index[PKB_MAX_DIMS];
            array_unravel(dst, i, index);
            int p = 0;
            while (index[axis] >= parts[p].t->shape[axis])
                index[axis] -= parts[p++].t->shape[axis];
            want[i] = parts[p].x[array_ravel(parts[p].t, index)];
        }
        array_check_exact(dst, want, n, false);
    }
    rt_concat(rt, rt_new(rt, PKB_F32, RT_SHAPE(0, 3)), 0, NULL, 0);
    rt_release_all(rt);
}

static void test_take_rows(void **state)
{
    static struct array table, index;
    static double want[ARRAY_MAX];
    static const int64_t form[3] = {9, 2, 3}, places[2] = {4, 5}, none[1] = {0};
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        array_make(&table, PKB_F16, 3, form, 0, 9);
        array_make(&index, wide ? PKB_I64 : PKB_I32, 2, places, 0, 8);
        pkb_tensor *dst = rt_new(rt, PKB_F16, RT_SHAPE(4, 5, 2, 3));
        rt_take_rows(rt, dst, table.t, index.t);
        for (size_t i = 0; i < 120; i++)
            want[i] = table.x[(size_t)index.x[i / 6] * 6 + i % 6];
        array_check_exact(dst, want, 120, false);
    }
    array_make(&index, PKB_I64, 1, none, 0, 1);
    rt_take_rows(rt, rt_new(rt, PKB_F16, RT_SHAPE(0, 2, 3)), table.t, index.t);
    pkb_tensor *row = rt_new(rt, PKB_F16, RT_SHAPE(2, 3)), *third = rt_new(rt, PKB_I32, RT_SCALAR);
    rt_fill(rt, third, 3);
    rt_take_rows(rt, row, table.t, third);
    array_check_exact(row, table.x + 18, 6, false);
    rt_release_all(rt);
}

static void test_argsort(void **state)
{
    static struct array keys;
    static int64_t order[ARRAY_MAX];
    static const int64_t lengths[] = {0, 1, 2, 3, 100, 1023};
    (void)state;
    for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
        for (size_t k = 0; k < 6; k++) {
            bool seen[ARRAY_MAX] = {false};
            array_make(&keys, dtype, 1, &lengths[k], dtype == PKB_U8 || dtype == PKB_BOOL ? 0 : -20, dtype == PKB_BOOL ? 1 : 20);
            pkb_tensor *t = rt_new(rt, PKB_I64, 1, &lengths[k]);
            rt_argsort(rt, t, keys.t);
            array_fetch(t, order);
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
    array_fetch(t, order);
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
        array_make(&v, dtype, 1, n, 0, 8);
        for (size_t i = 0; i < v.n; i++)
            want[(size_t)v.x[i]]++;
        pkb_tensor *counts = rt_new(rt, PKB_I64, RT_SHAPE(10));
        rt_bincount(rt, counts, v.t);
        array_check_exact(counts, want, 10, false);
    }
    for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
        pkb_tensor *d = rt_new(rt, dtype, RT_SHAPE(4)), *none = rt_new(rt, dtype, RT_SHAPE(0));
        for (int k = 0; k < 2; k++) {
            array_make(&a, dtype, 2, k ? tall : wide, 0, 1);
            rt_diagonal(rt, d, a.t);
            for (size_t i = 0; i < 4; i++)
                want[i] = a.x[i * (size_t)a.t->shape[1] + i];
            array_check_exact(d, want, 4, false);
        }
        array_make(&a, dtype, 2, empty, 0, 1);
        rt_diagonal(rt, none, a.t);
    }
    rt_release_all(rt);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul),    cmocka_unit_test(test_permute), cmocka_unit_test(test_concat),
        cmocka_unit_test(test_take_rows), cmocka_unit_test(test_argsort), cmocka_unit_test(test_bincount_diagonal),
    };
    return cmocka_run_group_tests(tests, array_set_up, array_tear_down);
}
