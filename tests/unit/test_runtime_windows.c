/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution operands as matrices, on the host backend, against a plain evaluation; what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/array.h"
#include "tests/support/refused.h"

static const struct window_row {
    int ndim; /* spatial dimensions */
    int64_t shape[5];
    struct rt_window w;
} rows[] = {
    {1, {2, 3, 17}, {{3}, {1}, {1}, {1}}},
    {1, {1, 1, 5}, {{5}, {1}, {0}, {1}}},
    {1, {2, 2, 9}, {{2}, {3}, {4}, {3}}},
    {1, {1, 2, 3}, {{1}, {1}, {5}, {1}}}, /* positions with nothing but zeros on both sides */
    {1, {1, 2, 4}, {{3}, {2}, {0}, {1}}}, /* the window does not reach the end */
    {1, {0, 2, 4}, {{3}, {2}, {0}, {1}}},
    {1, {1, 2, 0}, {{2}, {1}, {1}, {1}}}, /* nothing but padding */
    {2, {2, 3, 8, 9}, {{3, 3}, {1, 1}, {1, 1}, {1, 1}}},
    {2, {1, 2, 8, 9}, {{4, 2}, {4, 2}, {0, 0}, {1, 1}}}, /* patches */
    {2, {1, 2, 8, 7}, {{3, 2}, {2, 1}, {2, 0}, {2, 3}}},
    {2, {1, 3, 5, 1}, {{1, 1}, {1, 1}, {0, 0}, {1, 1}}},
    {3, {1, 1, 4, 5, 6}, {{3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}},
    {3, {2, 1, 5, 4, 3}, {{2, 3, 1}, {2, 1, 2}, {0, 1, 1}, {3, 1, 1}}},
};

static int64_t positions(const struct window_row *r, int i)
{
    return (r->shape[2 + i] + 2 * r->w.pad[i] - r->w.dilation[i] * (r->w.kernel[i] - 1) - 1) / r->w.stride[i] + 1;
}

/* Element of dst that belongs to tap[] and position[] of one volume of src. */
static double entry(const struct window_row *r, const struct array *src, size_t volume, const int64_t *tap,
                    const int64_t *position)
{
    size_t at = volume;
    for (int i = 0; i < r->ndim; i++) {
        int64_t x = position[i] * r->w.stride[i] - r->w.pad[i] + tap[i] * r->w.dilation[i];
        if (x < 0 || x >= r->shape[2 + i])
            return 0;
        at = at * (size_t)r->shape[2 + i] + (size_t)x;
    }
    return src->x[at];
}

static void check_row(const struct window_row *r, int dtype)
{
    static struct array src;
    static double want[ARRAY_MAX];
    int64_t taps = 1, places = 1;
    pkb_tensor whole = {.ndim = 1 + 2 * r->ndim}; /* volume, taps, positions */
    whole.shape[0] = r->shape[0] * r->shape[1];
    for (int i = 0; i < r->ndim; i++) {
        taps *= whole.shape[1 + i] = r->w.kernel[i];
        places *= whole.shape[1 + r->ndim + i] = positions(r, i);
    }
    array_make(&src, dtype, 2 + r->ndim, r->shape, 0, 1);
    pkb_tensor *dst = rt_new(rt, dtype, RT_SHAPE(r->shape[0], r->shape[1] * taps, places));
    rt_fill_bytes(rt, dst, 0x5a);
    rt_im2col(rt, dst, src.t, &r->w);
    size_t n = (size_t)(whole.shape[0] * taps * places);
    assert_true(n <= ARRAY_MAX);
    for (size_t i = 0; i < n; i++) {
        int64_t index[PKB_MAX_DIMS];
        array_unravel(&whole, i, index);
        want[i] = entry(r, &src, (size_t)index[0], index + 1, index + 1 + r->ndim);
    }
    array_check_exact(dst, want, n, false);
    rt_release_all(rt);
}

static void test_im2col(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++)
            check_row(&rows[k], dtype);
    }
}

/* ---- what is refused ----------------------------------------------------------------------------------------------- */

static const struct {
    int dtype, dst_ndim, src_ndim;
    int64_t dst[3], src[6];
    struct rt_window w;
    const char *text;
} bad[] = {
    {PKB_F32, 3, 2, {1, 2, 3}, {1, 2}, {{1}, {1}, {0}, {1}}, "source is f32[1, 2], one to three spatial dimensions are needed"},
    {PKB_F32,
     3,
     6,
     {1, 2, 3},
     {1, 1, 1, 1, 1, 1},
     {{1}, {1}, {0}, {1}},
     "source is f32[1, 1, 1, 1, 1, 1], one to three spatial dimensions are needed"},
    {PKB_F32, 3, 3, {1, 2, 3}, {1, 1, 5}, {{0}, {1}, {0}, {1}}, "kernel 0 along spatial dimension 0"},
    {PKB_F32, 3, 3, {1, 2, 3}, {1, 1, 5}, {{2}, {0}, {0}, {1}}, "stride 0 along spatial dimension 0"},
    {PKB_F32, 3, 3, {1, 2, 3}, {1, 1, 5}, {{2}, {1}, {-1}, {1}}, "pad -1 along spatial dimension 0"},
    {PKB_F32, 3, 4, {1, 2, 3}, {1, 1, 5, 5}, {{2, 2}, {1, 1}, {0, 0}, {1, 0}}, "dilation 0 along spatial dimension 1"},
    {PKB_F32, 3, 3, {1, 2, 3}, {1, 1, 5}, {{INT64_MAX}, {1}, {0}, {1}}, "kernel 9223372036854775807 along spatial dimension 0"},
    {PKB_F32,
     3,
     3,
     {1, 2, 3},
     {1, 1, 5},
     {{4}, {1}, {0}, {2}},
     "a window of 7 does not fit into 5 + 2 * 0 along spatial dimension 0"},
    {PKB_F32, 3, 3, {1, 2, 3}, {1, 1, 5}, {{2}, {1}, {0}, {1}}, "destination is f32[1, 2, 3], the result f32[1, 2, 4]"},
    {PKB_BF16, 3, 3, {1, 2, 4}, {1, 1, 5}, {{2}, {1}, {0}, {1}}, "destination is bf16[1, 2, 4], the result f32[1, 2, 4]"},
    {PKB_F32, 2, 3, {2, 4}, {1, 1, 5}, {{2}, {1}, {0}, {1}}, "destination is f32[2, 4], the result f32[1, 2, 4]"},
};

static void test_bad_windows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rt *own = array_runtime();
        assert_non_null(own);
        pkb_tensor *src = rt_new(own, PKB_F32, bad[i].src_ndim, bad[i].src);
        rt_im2col(own, rt_new(own, bad[i].dtype, bad[i].dst_ndim, bad[i].dst), src, &bad[i].w);
        refused_with(own, "im2col: ", bad[i].text);
    }
}

static void missing_window(struct operands *o)
{
    rt_im2col(o->rt, o->f124, o->f124, NULL);
}

static void test_missing_window(void **state)
{
    static const struct refused_row row = {missing_window, "im2col: window is missing"};
    (void)state;
    refused_check(&row, 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_im2col),
        cmocka_unit_test(test_bad_windows),
        cmocka_unit_test(test_missing_window),
    };
    return cmocka_run_group_tests(tests, array_set_up, array_tear_down);
}
