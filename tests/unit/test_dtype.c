/* SPDX-License-Identifier: Apache-2.0 */
/* Element types against definitions that share nothing with their implementation: values of codes by ldexp, rounding by a search
 * over all codes. */
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

/* ---- definitions --------------------------------------------------------------------------------------------------- */

struct narrow {
    int dtype, exponent_bits, fraction_bits;
    bool infinities; /* the largest exponent holds infinity and NaN; else only its largest fraction is NaN */
};

static const struct narrow narrow_types[] = {
    {PKB_BF16, 8, 7, true},
    {PKB_F16, 5, 10, true},
    {PKB_FP8_E4M3, 4, 3, false},
};

static int codes(const struct narrow *t)
{
    return 1 << (1 + t->exponent_bits + t->fraction_bits);
}

static double value_of(const struct narrow *t, int code)
{
    int fraction = code & ((1 << t->fraction_bits) - 1), top = (1 << t->exponent_bits) - 1;
    int exponent = code >> t->fraction_bits & top, bias = top / 2;
    double sign = code >> (t->exponent_bits + t->fraction_bits) ? -1 : 1;
    if (exponent == top && t->infinities)
        return fraction ? NAN : sign * (double)INFINITY;
    if (exponent == top && fraction == (1 << t->fraction_bits) - 1)
        return NAN;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - t->fraction_bits);
    return sign * ldexp(fraction + (1 << t->fraction_bits), exponent - bias - t->fraction_bits);
}

static int code_at(const struct narrow *t, const void *data, size_t i)
{
    return t->dtype == PKB_FP8_E4M3 ? ((const uint8_t *)data)[i] : ((const uint16_t *)data)[i];
}

static void set_code(const struct narrow *t, void *data, size_t i, int code)
{
    if (t->dtype == PKB_FP8_E4M3)
        ((uint8_t *)data)[i] = (uint8_t)code;
    else
        ((uint16_t *)data)[i] = (uint16_t)code;
}

/* The positive code that x >= 0 rounds to: nearest, the even code when two are as near; the step after the largest finite value counts
 * as a code, which stands for overflow. */
static int nearest_code(const struct narrow *t, double x)
{
    int low = 0, high = codes(t) / 2 - 1; /* positive codes grow with their values up to infinity or NaN */
    double below, above;
    while (!isfinite(value_of(t, high)))
        high--;
    int largest = high;
    double beyond = 2 * value_of(t, largest) - value_of(t, largest - 1);
    if (x >= beyond)
        return largest + 1;
    if (x >= value_of(t, largest)) {
        low = largest;
    } else {
        while (high - low > 1) {
            int middle = (low + high) / 2;
            if (value_of(t, middle) <= x)
                low = middle;
            else
                high = middle;
        }
    }
    below = value_of(t, low);
    above = low == largest ? beyond : value_of(t, low + 1);
    if (x - below != above - x)
        return x - below < above - x ? low : low + 1;
    return low % 2 == 0 ? low : low + 1;
}

/* What a conversion must give: a code, or any NaN. */
static void check_rounded(const struct narrow *t, double x, int code)
{
    double got = value_of(t, code);
    if (isnan(x)) {
        assert_true(isnan(got));
        return;
    }
    int want = nearest_code(t, fabs(x)) | (signbit(x) ? codes(t) / 2 : 0);
    if (isnan(value_of(t, want)))
        assert_true(isnan(got));
    else
        assert_int_equal(code, want);
}

/* ---- names, sizes -------------------------------------------------------------------------------------------------- */

static void test_names(void **state)
{
    static const size_t sizes[PKB_DTYPE_COUNT] = {2, 2, 4, 8, 1, 4, 8, 1, 1};
    (void)state;
    for (int i = 0; i < PKB_DTYPE_COUNT; i++) {
        assert_int_equal(dtype_parse(dtype_name(i)), i);
        assert_int_equal(dtype_size(i), sizes[i]);
        assert_int_equal(dtype_is_float(i), i <= PKB_FP8_E4M3);
        assert_int_equal(dtype_roundoff(i) > 0, i <= PKB_FP8_E4M3);
    }
    static const int none[] = {-1, PKB_DTYPE_COUNT, 1000};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(dtype_size(none[i]), 0);
        assert_string_equal(dtype_name(none[i]), "?");
        assert_false(dtype_is_float(none[i]));
    }
    static const char *const unknown[] = {"", "BF16", "bf16 ", "float", "?"};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(dtype_parse(unknown[i]), -1);
}

static void test_roundoff(void **state)
{
    (void)state;
    for (int i = 0; i <= PKB_FP8_E4M3; i++) {
        double u = dtype_roundoff(i), x[3] = {1 + u, 1 + 2 * u, 1 + 3 * u}, y[3];
        uint8_t stored[24];
        dtype_from_f64(i, stored, x, 3);
        dtype_to_f64(i, y, stored, 3);
        assert_true(y[0] == 1 && y[1] == 1 + 2 * u && (i == PKB_F64 || y[2] == 1 + 4 * u));
    }
}

/* ---- forms --------------------------------------------------------------------------------------------------------- */

static void test_forms(void **state)
{
    static const struct {
        pkb_tensor t;
        int64_t numel; /* -1: refused */
    } rows[] = {
        {{.dtype = PKB_F32, .ndim = 0}, 1},
        {{.dtype = PKB_BF16, .ndim = 2, .shape = {24, 72}}, 1728},
        {{.dtype = PKB_U8, .ndim = 3, .shape = {4, 0, 5}}, 0},
        {{.dtype = PKB_I64, .ndim = 3, .shape = {INT64_MAX, 0, INT64_MAX}}, 0},
        {{.dtype = PKB_U8, .ndim = 1, .shape = {INT64_MAX}}, INT64_MAX},
        {{.dtype = 9, .ndim = 1, .shape = {1}}, -1},
        {{.dtype = -1, .ndim = 1, .shape = {1}}, -1},
        {{.dtype = PKB_F32, .ndim = -1}, -1},
        {{.dtype = PKB_F32, .ndim = PKB_MAX_DIMS + 1}, -1},
        {{.dtype = PKB_F32, .ndim = 2, .shape = {3, -1}}, -1},
        {{.dtype = PKB_F32, .ndim = 2, .shape = {0, -1}}, -1},
        {{.dtype = PKB_U8, .ndim = 3, .shape = {1 << 30, 1 << 30, 16}}, -1},
    };
    struct pkb_error err;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t n = -7;
        int rc = tensor_numel(&rows[i].t, &n, &err);
        assert_int_equal(rc, rows[i].numel < 0 ? -1 : 0);
        if (rc == 0)
            assert_true(n == rows[i].numel);
        else
            assert_true(err.text[0] != '\0');
    }
    size_t bytes;
    pkb_tensor big = {.dtype = PKB_F64, .ndim = 1, .shape = {INT64_MAX / 4}};
    assert_int_equal(tensor_bytes(&big, &bytes, &err), -1);
    assert_int_equal(tensor_bytes(&rows[1].t, &bytes, &err), 0);
    assert_int_equal(bytes, 3456);
}

static void test_describe(void **state)
{
    char text[64], small[8];
    pkb_tensor t = {.dtype = PKB_BF16, .ndim = 2, .shape = {24, 72}}, scalar = {.dtype = PKB_I32}, other = t;
    (void)state;
    tensor_describe(&t, text, sizeof(text));
    assert_string_equal(text, "bf16[24, 72]");
    tensor_describe(&scalar, text, sizeof(text));
    assert_string_equal(text, "i32[]");
    tensor_describe(&t, small, sizeof(small));
    assert_string_equal(small, "bf16[24");
    assert_true(tensor_same_form(&t, &other));
    other.shape[1] = 71;
    assert_false(tensor_same_form(&t, &other));
    other = t;
    other.dtype = PKB_F16;
    assert_false(tensor_same_form(&t, &other));
}

/* ---- narrow floats ------------------------------------------------------------------------------------------------- */

static void test_every_code(void **state)
{
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        const struct narrow *t = &narrow_types[k];
        size_t n = (size_t)codes(t);
        uint16_t *stored = calloc(n, 2), *back = calloc(n, 2);
        float *f32 = calloc(n, 4);
        double *f64 = calloc(n, 8);
        assert_true(stored && back && f32 && f64);
        for (size_t i = 0; i < n; i++)
            set_code(t, stored, i, (int)i);
        dtype_to_f32(t->dtype, f32, stored, n);
        dtype_to_f64(t->dtype, f64, stored, n);
        dtype_from_f32(t->dtype, back, f32, n);
        for (size_t i = 0; i < n; i++) {
            double want = value_of(t, (int)i);
            if (isnan(want)) {
                assert_true(isnan(f32[i]) && isnan(f64[i]) && isnan(value_of(t, code_at(t, back, i))));
                continue;
            }
            assert_true((double)f32[i] == want && f64[i] == want && !signbit(f64[i]) == !signbit(want));
            assert_int_equal(code_at(t, back, i), (int)i);
        }
        free(stored);
        free(back);
        free(f32);
        free(f64);
    }
}

/* Around every code: the middle to the next one, and the nearest numbers of the source type on both sides of it. */
static void test_ties(void **state)
{
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        const struct narrow *t = &narrow_types[k];
        for (int code = 0; code < codes(t) / 2; code++) {
            double low = value_of(t, code), high = value_of(t, code + 1), middle;
            uint16_t stored[16] = {0};
            if (!isfinite(low))
                break;
            middle = isfinite(high) ? low + (high - low) / 2 : low + (low - value_of(t, code - 1)) / 2;
            double x[6] = {middle, nextafter(middle, INFINITY), nextafter(middle, 0), -middle, -nextafter(middle, INFINITY), low};
            dtype_from_f64(t->dtype, stored, x, 6);
            for (size_t i = 0; i < 6; i++)
                check_rounded(t, x[i], code_at(t, stored, i));
            float m = (float)middle;
            float y[4] = {m, nextafterf(m, INFINITY), nextafterf(m, 0), -m};
            dtype_from_f32(t->dtype, stored, y, 4);
            for (size_t i = 0; i < 4; i++)
                check_rounded(t, (double)y[i], code_at(t, stored, i));
        }
    }
}

static void test_random_patterns(void **state)
{
    enum { N = 4096 };
    static uint32_t bits[N];
    static float f32[N];
    static uint16_t stored[N];
    (void)state;
    struct rng r = rng_make(1, 2, 3, 4, 5);
    for (uint32_t i = 0; i < N; i++)
        bits[i] = (uint32_t)rng_integer(&r, i, 0, INT64_C(1) << 32);
    memcpy(f32, bits, sizeof(f32));
    for (size_t k = 0; k < 3; k++) {
        dtype_from_f32(narrow_types[k].dtype, stored, f32, N);
        for (size_t i = 0; i < N; i++)
            check_rounded(&narrow_types[k], (double)f32[i], code_at(&narrow_types[k], stored, i));
    }
}

static void test_special_values(void **state)
{
    static const struct {
        double x;
        int bf16, f16, e4m3; /* -1: any NaN */
    } rows[] = {
        {0.0, 0, 0, 0},
        {-0.0, 0x8000, 0x8000, 0x80},
        {INFINITY, 0x7f80, 0x7c00, -1},
        {-INFINITY, 0xff80, 0xfc00, -1},
        {NAN, -1, -1, -1},
        {448, 0x43e0, 0x5f00, 0x7e},
        {464, 0x43e8, 0x5f40, 0x7e},
        {465, 0x43e8, 0x5f44, -1},
        {480, 0x43f0, 0x5f80, -1},
        {65504, 0x4780, 0x7bff, -1},
        {65519.99, 0x4780, 0x7bff, -1},
        {65520, 0x4780, 0x7c00, -1},
        {1e39, 0x7f80, 0x7c00, -1},
        {1e300, 0x7f80, 0x7c00, -1},
        {1e-300, 0, 0, 0},
        {0x1p-10, 0x3a80, 0x1400, 0},
        {0x1.8p-10, 0x3ac0, 0x1600, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int want[3] = {rows[i].bf16, rows[i].f16, rows[i].e4m3};
        for (size_t k = 0; k < 3; k++) {
            uint16_t stored = 0;
            dtype_from_f64(narrow_types[k].dtype, &stored, &rows[i].x, 1);
            int code = code_at(&narrow_types[k], &stored, 0);
            if (want[k] < 0)
                assert_true(isnan(value_of(&narrow_types[k], code)));
            else
                assert_int_equal(code, want[k]);
        }
    }
}

/* f64 and i64 go to 16 bits in one rounding: values that a detour through f32 would round twice. */
static void test_one_rounding(void **state)
{
    double x = 1 + 0x1p-8 + 0x1p-40, y = 1 + 0x1p-11 + 0x1p-45;
    int64_t n = (INT64_C(1) << 40) + (INT64_C(1) << 32) + 1, m = -((INT64_C(1) << 55) + (INT64_C(1) << 47) + 1);
    uint16_t h;
    (void)state;
    dtype_from_f64(PKB_BF16, &h, &x, 1);
    assert_int_equal(h, 0x3f81);
    dtype_from_f64(PKB_F16, &h, &y, 1);
    assert_int_equal(h, 0x3c01);
    dtype_from_i64(PKB_BF16, &h, &n, 1);
    assert_int_equal(h, 0x5381);
    dtype_from_i64(PKB_BF16, &h, &m, 1);
    assert_int_equal(h, 0xdb01);
}

/* ---- integers ------------------------------------------------------------------------------------------------------ */

static void test_to_integers(void **state)
{
    static const struct {
        double x;
        int64_t i64, i32, u8, boolean;
    } rows[] = {
        {2.9, 2, 2, 2, 1},
        {-2.9, -2, -2, 0, 1},
        {0.5, 0, 0, 0, 1},
        {-0.0, 0, 0, 0, 0},
        {255.9, 255, 255, 255, 1},
        {256, 256, 256, 255, 1},
        {2147483647, 2147483647, 2147483647, 255, 1},
        {2147483648.0, 2147483648, INT32_MAX, 255, 1},
        {-3e9, -3000000000, INT32_MIN, 0, 1},
        {1e19, INT64_MAX, INT32_MAX, 255, 1},
        {-1e19, INT64_MIN, INT32_MIN, 0, 1},
        {INFINITY, INT64_MAX, INT32_MAX, 255, 1},
        {-INFINITY, INT64_MIN, INT32_MIN, 0, 1},
        {NAN, 0, 0, 0, 1},
    };
    static const int types[4] = {PKB_I64, PKB_I32, PKB_U8, PKB_BOOL};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int64_t want[4] = {rows[i].i64, rows[i].i32, rows[i].u8, rows[i].boolean};
        float f = (float)rows[i].x;
        for (size_t k = 0; k < 4; k++) {
            uint64_t stored = 0;
            int64_t back;
            dtype_from_f64(types[k], &stored, &rows[i].x, 1);
            dtype_to_i64(types[k], &back, &stored, 1);
            assert_true(back == want[k]);
            if ((double)f == rows[i].x || isnan(f)) {
                dtype_from_f32(types[k], &stored, &f, 1);
                dtype_to_i64(types[k], &back, &stored, 1);
                assert_true(back == want[k]);
            }
        }
    }
}

/* Small integers are held by all types, so every pair of types must agree. */
static void test_every_pair(void **state)
{
    enum { N = 1500 };
    static int64_t numbers[N], got[N];
    static uint8_t a[N * 8], b[N * 8];
    (void)state;
    for (int from = 0; from < PKB_DTYPE_COUNT; from++) {
        for (int to = 0; to < PKB_DTYPE_COUNT; to++) {
            bool one_bit = from == PKB_BOOL || to == PKB_BOOL;
            for (int i = 0; i < N; i++)
                numbers[i] = one_bit ? i % 2 : i % 17;
            dtype_from_i64(from, a, numbers, N);
            dtype_convert(to, b, from, a, N);
            dtype_to_i64(to, got, b, N);
            assert_memory_equal(got, numbers, sizeof(got));
        }
    }
}

static void test_nothing(void **state)
{
    uint8_t untouched[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const uint8_t same[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    (void)state;
    for (int from = 0; from < PKB_DTYPE_COUNT; from++) {
        for (int to = 0; to < PKB_DTYPE_COUNT; to++)
            dtype_convert(to, untouched, from, NULL, 0);
    }
    assert_memory_equal(untouched, same, 8);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),           cmocka_unit_test(test_roundoff),       cmocka_unit_test(test_forms),
        cmocka_unit_test(test_describe),        cmocka_unit_test(test_every_code),     cmocka_unit_test(test_ties),
        cmocka_unit_test(test_random_patterns), cmocka_unit_test(test_special_values), cmocka_unit_test(test_one_rounding),
        cmocka_unit_test(test_to_integers),     cmocka_unit_test(test_every_pair),     cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
