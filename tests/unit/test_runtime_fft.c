/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms of the host backend against the defining sums, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/array.h"
#include "tests/support/refused.h"

/* y[k] = sum of x[j] exp(sign 2 pi i jk/n); x and y are pairs. */
static void transform_of(int sign, const double *x, double *y, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        double re = 0, im = 0;
        for (size_t j = 0; j < n; j++) {
            double angle = sign * 2 * 3.14159265358979323846 * (double)(j * k % n) / (double)n;
            re += x[2 * j] * cos(angle) - x[2 * j + 1] * sin(angle);
            im += x[2 * j] * sin(angle) + x[2 * j + 1] * cos(angle);
        }
        y[2 * k] = re;
        y[2 * k + 1] = im;
    }
}

/* The error of an f32 transform grows with the length of the vector, not of the single number. */
static void check_close(const pkb_tensor *t, const double *want, size_t n, size_t vector)
{
    float got[ARRAY_MAX];
    array_fetch(t, got);
    for (size_t i = 0; i < n; i += vector) {
        double norm = 0;
        for (size_t j = i; j < i + vector; j++)
            norm += want[j] * want[j];
        for (size_t j = i; j < i + vector; j++) {
            if (!(fabs((double)got[j] - want[j]) <= 2e-6 * sqrt(norm) + 1e-30))
                fail_msg("element %zu: %.9g, expected %.9g", j, (double)got[j], want[j]);
        }
    }
}

static const int64_t lengths[] = {1, 2, 3, 4, 5, 8, 13, 31, 64, 100, 127};
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))
#define BATCH 6

static void test_complex(void **state)
{
    static struct array src;
    static double want[ARRAY_MAX];
    (void)state;
    for (size_t k = 0; k < LENGTHS; k++) {
        for (int inverse = 0; inverse < 2; inverse++) {
            size_t n = (size_t)lengths[k];
            array_make(&src, PKB_F32, 4, (int64_t[]){2, BATCH / 2, lengths[k], 2}, -1, 1);
            pkb_tensor *dst = rt_new_like(rt, PKB_F32, src.t);
            rt_fft(rt, inverse ? RT_FFT_INVERSE : RT_FFT_FORWARD, dst, src.t);
            for (size_t i = 0; i < BATCH; i++)
                transform_of(inverse ? 1 : -1, src.x + 2 * n * i, want + 2 * n * i, n);
            check_close(dst, want, src.n, 2 * n);
            array_check_exact(src.t, src.x, src.n, false);
        }
    }
    rt_release_all(rt);
}

/* Real to half a spectrum and back: n times the input. */
static void test_real(void **state)
{
    static struct array src;
    static double want[ARRAY_MAX], pairs[ARRAY_MAX], spectrum[ARRAY_MAX];
    (void)state;
    for (size_t k = 0; k < LENGTHS; k++) {
        size_t n = (size_t)lengths[k], half = n / 2 + 1;
        array_make(&src, PKB_F32, 2, (int64_t[]){BATCH, lengths[k]}, -1, 1);
        pkb_tensor *dst = rt_new(rt, PKB_F32, RT_SHAPE(BATCH, lengths[k] / 2 + 1, 2)), *back = rt_new_like(rt, PKB_F32, src.t);
        rt_fft(rt, RT_FFT_REAL, dst, src.t);
        for (size_t i = 0; i < BATCH; i++) {
            for (size_t j = 0; j < n; j++) {
                pairs[2 * j] = src.x[i * n + j];
                pairs[2 * j + 1] = 0;
            }
            transform_of(-1, pairs, spectrum, n);
            memcpy(want + 2 * half * i, spectrum, 2 * half * sizeof(*want));
        }
        check_close(dst, want, 2 * half * BATCH, 2 * half);
        array_check_exact(src.t, src.x, src.n, false);
        pkb_tensor *kept = rt_new_like(rt, PKB_F32, dst);
        rt_copy(rt, kept, dst);
        rt_fft(rt, RT_FFT_TO_REAL, back, dst);
        for (size_t i = 0; i < src.n; i++)
            want[i] = src.x[i] * (double)n;
        check_close(back, want, src.n, n);
        rt_binary(rt, RT_EQ, kept, kept, dst); /* the spectrum is left as it was */
        for (size_t i = 0; i < 2 * half * BATCH; i++)
            want[i] = 1;
        array_check_exact(kept, want, 2 * half * BATCH, false);
    }
    rt_release_all(rt);
}

/* Vectors that do not start at addresses of vector instructions, and more forms than plans are kept for. */
static void test_views_and_many_forms(void **state)
{
    static struct array src;
    static double want[ARRAY_MAX];
    (void)state;
    array_make(&src, PKB_F32, 3, (int64_t[]){3, 45, 2}, -1, 1);
    pkb_tensor *dst = rt_new_like(rt, PKB_F32, src.t);
    for (int round = 0; round < 2; round++) {
        for (int64_t n = 1; n <= 45; n++) {
            pkb_tensor *from = rt_rows(rt, rt_entry(rt, src.t, 1), 45 - n, n), *to = rt_rows(rt, rt_entry(rt, dst, 2), 0, n);
            rt_fft(rt, RT_FFT_FORWARD, to, from);
            transform_of(-1, src.x + 90 + 2 * (45 - n), want, (size_t)n);
            check_close(to, want, (size_t)n * 2, (size_t)n * 2);
        }
    }
    rt_fft(rt, RT_FFT_FORWARD, rt_new(rt, PKB_F32, RT_SHAPE(0, 4, 2)), rt_new(rt, PKB_F32, RT_SHAPE(0, 4, 2)));
    array_check_exact(src.t, src.x, src.n, false);
    rt_release_all(rt);
}

/* ---- what is refused ----------------------------------------------------------------------------------------------- */

static const struct {
    int kind, dst_type, src_type, dst_ndim, src_ndim;
    int64_t dst[8], src[8];
    const char *text;
} bad[] = {
    {99, PKB_F32, PKB_F32, 2, 2, {4, 2}, {4, 2}, "99 is no transform"},
    {RT_FFT_FORWARD, PKB_F64, PKB_F32, 2, 2, {4, 2}, {4, 2}, "destination is f64[4, 2], f32 is needed"},
    {RT_FFT_FORWARD, PKB_F32, PKB_BF16, 2, 2, {4, 2}, {4, 2}, "source is bf16[4, 2], f32 is needed"},
    {RT_FFT_FORWARD, PKB_F32, PKB_F32, 2, 2, {4, 3}, {4, 3}, "destination is f32[4, 3], complex numbers are needed"},
    {RT_FFT_INVERSE, PKB_F32, PKB_F32, 2, 1, {4, 2}, {8}, "source is f32[8], complex numbers are needed"},
    {RT_FFT_INVERSE, PKB_F32, PKB_F32, 2, 2, {4, 2}, {5, 2}, "destination is f32[4, 2], source f32[5, 2]"},
    {RT_FFT_REAL, PKB_F32, PKB_F32, 2, 0, {4, 2}, {0}, "source is f32[], real numbers are needed"},
    {RT_FFT_REAL, PKB_F32, PKB_F32, 2, 1, {4, 2}, {8}, "destination is f32[4, 2], source f32[8]"},
    {RT_FFT_REAL, PKB_F32, PKB_F32, 3, 2, {2, 5, 2}, {3, 8}, "destination is f32[2, 5, 2], source f32[3, 8]"},
    {RT_FFT_REAL,
     PKB_F32,
     PKB_F32,
     2,
     8,
     {5, 2},
     {1, 1, 1, 1, 1, 1, 1, 8},
     "source f32[1, 1, 1, 1, 1, 1, 1, 8] has no room for complex numbers"},
    {RT_FFT_TO_REAL, PKB_F32, PKB_F32, 1, 2, {8}, {4, 2}, "destination is f32[8], source f32[4, 2]"},
    {RT_FFT_TO_REAL, PKB_F32, PKB_F32, 2, 2, {1, 8}, {5, 2}, "destination is f32[1, 8], source f32[5, 2]"},
    {RT_FFT_FORWARD, PKB_F32, PKB_F32, 2, 2, {0, 2}, {0, 2}, "of 0 numbers"},
};

static void test_bad_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rt *own = array_runtime();
        assert_non_null(own);
        pkb_tensor *dst = rt_new(own, bad[i].dst_type, bad[i].dst_ndim, bad[i].dst);
        rt_fft(own, (enum rt_fft_kind)bad[i].kind, dst, rt_new(own, bad[i].src_type, bad[i].src_ndim, bad[i].src));
        refused_with(own, "fft: ", bad[i].text);
    }
}

static void in_place(struct operands *o)
{
    pkb_tensor *t = rt_new(o->rt, PKB_F32, RT_SHAPE(4, 2));
    rt_fft(o->rt, RT_FFT_FORWARD, t, t);
}

static void test_in_place(void **state)
{
    static const struct refused_row row = {in_place, "fft: destination is the source"};
    (void)state;
    refused_check(&row, 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complex),   cmocka_unit_test(test_real),     cmocka_unit_test(test_views_and_many_forms),
        cmocka_unit_test(test_bad_forms), cmocka_unit_test(test_in_place),
    };
    return cmocka_run_group_tests(tests, array_set_up, array_tear_down);
}
