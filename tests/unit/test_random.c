/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/dtype.h"
#include "runtime/random.h"

/* The known answers that the authors of Philox publish with their library Random123 for philox4x32-10. */
static void test_known_answers(void **state)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } rows[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        uint32_t out[4];
        philox4x32_10(rows[i].counter, rows[i].key, out);
        assert_memory_equal(out, rows[i].out, sizeof(out));
    }
}

/* Elements are words of the documented blocks. */
static void test_layout(void **state)
{
    struct rng r = rng_make(7, 11, 3, 2, 5);
    (void)state;
    for (uint64_t i = 0; i < 9; i++) {
        uint32_t counter[4] = {(uint32_t)(i / 2), 0, 2, 5}, w[4];
        philox4x32_10(counter, r.key, w);
        uint64_t bits = (uint64_t)w[2 * (i % 2) + 1] << 32 | w[2 * (i % 2)];
        assert_true(rng_uniform(&r, i) == (double)(bits >> 11) * 0x1p-53);
        assert_true(rng_integer(&r, i, 0, INT64_C(1) << 32) == (int64_t)(bits >> 32));
    }
    uint64_t far = (UINT64_C(5) << 33) + 1;
    uint32_t counter[4] = {0, 5, 2, 5}, w[4];
    philox4x32_10(counter, r.key, w);
    assert_true(rng_uniform(&r, far) == (double)(((uint64_t)w[3] << 32 | w[2]) >> 11) * 0x1p-53);
}

/* A change of any coordinate changes the stream. */
static void test_independence(void **state)
{
    struct rng base = rng_make(1, 1, 1, 1, 1);
    struct rng others[] = {rng_make(2, 1, 1, 1, 1), rng_make(1, 2, 1, 1, 1), rng_make(1, 1, 2, 1, 1),
                           rng_make(1, 1, 1, 2, 1), rng_make(1, 1, 1, 1, 2), rng_make(1, 1, 1, RNG_ALL_RANKS, 1)};
    (void)state;
    for (size_t k = 0; k < 6; k++) {
        for (uint64_t i = 0; i < 64; i++)
            assert_true(rng_uniform(&base, i) != rng_uniform(&others[k], i));
    }
    struct rng again = rng_make(1, 1, 1, 1, 1);
    assert_true(rng_normal(&base, 12345) == rng_normal(&again, 12345));
}

/* The definitions are a contract with other devices: their bits may never change. */
static void test_frozen(void **state)
{
    struct rng r = rng_make(13, 42, 1, 0, 2);
    (void)state;
    assert_int_equal(r.key[0], 0xe60e21c6u);
    assert_int_equal(r.key[1], 0xdf4888f4u);
    assert_true(rng_uniform(&r, 0) == 0x1.551c3766f264p-4);
    assert_true(rng_normal(&r, 0) == -0x1.6223317c76bcp+0);
    assert_true(rng_normal(&r, 17) == -0x1.1baa848e11597p-1);
    assert_true(rng_integer(&r, 3, -1000, 1000) == 887);
}

/* ---- distributions ------------------------------------------------------------------------------------------------- */

enum { N = 1 << 18 };

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov-Smirnov distance between a sample and a distribution function. */
static double ks_distance(double *x, size_t n, double (*cdf)(double))
{
    double largest = 0;
    qsort(x, n, sizeof(*x), ascending);
    for (size_t i = 0; i < n; i++) {
        double f = cdf(x[i]), above = (double)(i + 1) / (double)n - f, below = f - (double)i / (double)n;
        largest = fmax(largest, fmax(above, below));
    }
    return largest;
}

static double normal_cdf(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

static double uniform_cdf(double x)
{
    return x;
}

static void check_moments(const double *x, size_t n, const double want[4], double scale)
{
    for (int power = 1; power <= 4; power++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += pow(x[i], power);
        assert_true(fabs(sum / (double)n - want[power - 1]) < scale / sqrt((double)n));
    }
}

static void test_distributions(void **state)
{
    static const double normal[4] = {0, 1, 0, 3}, uniform[4] = {1.0 / 2, 1.0 / 3, 1.0 / 4, 1.0 / 5};
    double *x = calloc(N, sizeof(*x));
    struct rng r = rng_make(1, 2, 3, 4, 5);
    (void)state;
    assert_non_null(x);
    rng_fill_normal(&r, PKB_F64, x, N);
    check_moments(x, N, normal, 4 * sqrt(96));
    /* Below 1.63 / sqrt(n) in 99 of 100 samples; this one is fixed. */
    assert_true(ks_distance(x, N, normal_cdf) < 1.63 / sqrt(N));
    rng_fill_uniform(&r, PKB_F64, x, N, 0, 1);
    check_moments(x, N, uniform, 2);
    assert_true(ks_distance(x, N, uniform_cdf) < 1.63 / sqrt(N));
    free(x);
}

/* The inverse of the distribution function, against erfc: through a rng whose draws are known. */
static void test_normal_accuracy(void **state)
{
    struct rng r = rng_make(9, 9, 9, 9, 9);
    double worst = 0, largest = 0;
    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        double p = (floor(rng_uniform(&r, i) * 0x1p52) + 0.5) * 0x1p-52, x = rng_normal(&r, i);
        double tail = p < 0.5 ? p : 1 - p;
        double back = 0.5 * erfc(fabs(x) * M_SQRT1_2);
        assert_true((x < 0) == (p < 0.5));
        worst = fmax(worst, fabs(back / tail - 1));
        largest = fmax(largest, fabs(x));
    }
    assert_true(worst < 2e-14);
    assert_true(largest < 8.7 && largest > 4);
}

static void test_integers(void **state)
{
    static const struct {
        int64_t low, high;
    } rows[] = {{0, 1}, {0, 6}, {-3, 4}, {INT64_MIN, INT64_MAX}, {INT64_MAX - 1, INT64_MAX}, {-5, -4}};
    struct rng r = rng_make(1, 1, 1, 1, 1);
    (void)state;
    for (size_t k = 0; k < 6; k++) {
        for (uint64_t i = 0; i < 2000; i++) {
            int64_t x = rng_integer(&r, i, rows[k].low, rows[k].high);
            assert_true(x >= rows[k].low && x < rows[k].high);
        }
    }
    double chi = 0;
    int counts[6] = {0};
    for (uint64_t i = 0; i < 60000; i++)
        counts[rng_integer(&r, i, 0, 6)]++;
    for (int i = 0; i < 6; i++)
        chi += pow(counts[i] - 10000, 2) / 10000;
    assert_true(chi < 15.09); /* 1 % */
}

/* ---- filling ------------------------------------------------------------------------------------------------------- */

/* Every dtype and length: the single elements, rounded once; nothing behind them is written. */
static void test_fill(void **state)
{
    static const size_t lengths[] = {0, 1, 2, 127, 128, 129, 300};
    struct rng r = rng_make(3, 1, 4, 1, 5);
    (void)state;
    for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
        for (size_t k = 0; k < 7; k++) {
            size_t n = lengths[k], size = dtype_size(dtype);
            uint8_t u[2408], g[2408], z[2408], want[8];
            memset(u, 0xa5, sizeof(u));
            memset(g, 0xa5, sizeof(g));
            memset(z, 0xa5, sizeof(z));
            rng_fill_uniform(&r, dtype, u, n, -2, 3);
            rng_fill_normal(&r, dtype, g, n);
            rng_fill_integers(&r, dtype, z, n, -4, 5);
            for (size_t i = 0; i < n; i++) {
                double x = -2 + 5 * rng_uniform(&r, i), y = rng_normal(&r, i);
                int64_t m = rng_integer(&r, i, -4, 5);
                dtype_from_f64(dtype, want, &x, 1);
                assert_memory_equal(u + i * size, want, size);
                dtype_from_f64(dtype, want, &y, 1);
                assert_memory_equal(g + i * size, want, size);
                dtype_from_i64(dtype, want, &m, 1);
                assert_memory_equal(z + i * size, want, size);
            }
            assert_true(u[n * size] == 0xa5 && g[n * size] == 0xa5 && z[n * size] == 0xa5);
        }
    }
}

static void test_permutation(void **state)
{
    int64_t p[1000], firsts[5] = {0};
    bool seen[1000] = {false};
    struct rng r = rng_make(1, 1, 1, 1, 1);
    (void)state;
    rng_permutation(&r, p, 0);
    rng_permutation(&r, p, 1);
    assert_int_equal(p[0], 0);
    rng_permutation(&r, p, 1000);
    int fixed = 0;
    for (int i = 0; i < 1000; i++) {
        assert_true(p[i] >= 0 && p[i] < 1000 && !seen[p[i]]);
        seen[p[i]] = true;
        fixed += p[i] == i;
    }
    assert_true(fixed < 10);
    for (uint32_t trial = 0; trial < 5000; trial++) {
        r = rng_make(1, 1, trial, 1, 1);
        rng_permutation(&r, p, 5);
        firsts[p[0]]++;
    }
    for (int i = 0; i < 5; i++)
        assert_true(firsts[i] > 850 && firsts[i] < 1150); /* 1000, standard deviation 28 */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers), cmocka_unit_test(test_layout),        cmocka_unit_test(test_independence),
        cmocka_unit_test(test_frozen),        cmocka_unit_test(test_distributions), cmocka_unit_test(test_normal_accuracy),
        cmocka_unit_test(test_integers),      cmocka_unit_test(test_fill),          cmocka_unit_test(test_permutation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
