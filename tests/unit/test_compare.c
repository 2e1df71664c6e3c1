/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "problems/problem.h"

#define ELEMENTS 4

static const struct problem_check exact = {.kind = CHECK_EXACT};
static const struct problem_check close_1pc = {.kind = CHECK_CLOSE, .atol = 0.01, .rtol = 0.01};
static const struct problem_check bound = {.kind = CHECK_BOUND};
static const struct problem_check bound_norm = {.kind = CHECK_BOUND, .frobenius = 0.001};

static const struct problem_check rows_2 = {.kind = CHECK_ROWS, .row = 2, .row_max = 0.1, .row_rms = 1};
static const struct problem_check rows_rms = {.kind = CHECK_ROWS, .row = 2, .row_max = 1, .row_rms = 0.1};
static const struct problem_check rows_3 = {.kind = CHECK_ROWS, .row = 3, .row_max = 0.1, .row_rms = 1};
static const struct problem_check rows_all = {.kind = CHECK_ROWS, .row_max = 0.1, .row_rms = 0.1};
static const struct problem_check rows_mixed = {.kind = CHECK_ROWS, .row = 2, .rtol = 0.1, .atol = 0.1};

struct row {
    const char *what;
    int dtype;
    const struct problem_check *check;
    enum problem_profile tolerance;
    double expected[ELEMENTS], actual[ELEMENTS];
    float tol[ELEMENTS];
    bool ok;
    int64_t wrong, first;
};

#define HARDENED PROFILE_HARDENED
#define PKB PROFILE_PKB

static const struct row rows[] = {
    {"equal", PKB_F32, &exact, HARDENED, {1, 2, 3, 4}, {1, 2, 3, 4}, {0}, true, 0, -1},
    {"one bit off", PKB_F32, &exact, HARDENED, {1, 2, 3, 4}, {1, 2, 3.0000002384, 4}, {0}, false, 1, 2},
    {"NaN equals NaN", PKB_F32, &exact, HARDENED, {1, NAN, 3, 4}, {1, NAN, 3, 4}, {0}, true, 0, -1},
    {"NaN for a number", PKB_F32, &exact, HARDENED, {1, 2, 3, 4}, {1, NAN, 3, 4}, {0}, false, 1, 1},
    {"number for a NaN", PKB_F32, &exact, HARDENED, {NAN, 2, 3, 4}, {1, 2, 3, 4}, {0}, false, 1, 0},
    {"-0 is not 0", PKB_F32, &exact, HARDENED, {0, 2, 3, 4}, {-0.0, 2, 3, 4}, {0}, false, 1, 0},
    {"infinities", PKB_F32, &exact, HARDENED, {INFINITY, -INFINITY, 3, 4}, {INFINITY, -INFINITY, 3, 4}, {0}, true, 0, -1},
    {"wrong infinity", PKB_F32, &exact, HARDENED, {INFINITY, 2, 3, 4}, {-INFINITY, 2, 3, 4}, {0}, false, 1, 0},
    {"bf16 equal", PKB_BF16, &exact, HARDENED, {1.5, 2, 3, 256}, {1.5, 2, 3, 256}, {0}, true, 0, -1},
    {"bf16 one ulp", PKB_BF16, &exact, HARDENED, {1, 2, 3, 256}, {1, 2, 3, 258}, {0}, false, 1, 3},
    {"integers", PKB_I64, &exact, HARDENED, {-1, 2, 3, 4}, {-1, 2, 3, 5}, {0}, false, 1, 3},

    {"within rtol", PKB_F32, &close_1pc, HARDENED, {100, 2, 3, 4}, {101, 2, 3, 4}, {0}, true, 0, -1},
    {"above rtol", PKB_F32, &close_1pc, HARDENED, {100, 2, 3, 4}, {101.5, 2, 3, 4}, {0}, false, 1, 0},
    {"within atol of 0", PKB_F32, &close_1pc, HARDENED, {0, 0, 0, 0}, {0.009, -0.009, 0, -0.0}, {0}, true, 0, -1},
    {"above atol of 0", PKB_F32, &close_1pc, HARDENED, {0, 0, 0, 0}, {0.011, -0.011, 0, 0}, {0}, false, 2, 0},
    {"rtol of the expected", PKB_F32, &close_1pc, HARDENED, {1000, 2, 3, 4}, {1010.05, 2, 3, 4}, {0}, false, 1, 0},
    {"rtol of the actual", PKB_F32, &close_1pc, PKB, {1000, 2, 3, 4}, {1010.05, 2, 3, 4}, {0}, true, 0, -1},
    {"NaN expected", PKB_F32, &close_1pc, HARDENED, {NAN, 2, 3, 4}, {NAN, 2, 3, 4}, {0}, true, 0, -1},
    {"NaN never, as published", PKB_F32, &close_1pc, PKB, {NAN, 2, 3, 4}, {NAN, 2, 3, 4}, {0}, false, 1, 0},
    {"same infinity", PKB_F32, &close_1pc, PKB, {INFINITY, 2, 3, 4}, {INFINITY, 2, 3, 4}, {0}, true, 0, -1},
    {"infinity for a number", PKB_F32, &close_1pc, PKB, {1, 2, 3, 4}, {INFINITY, 2, 3, 4}, {0}, false, 1, 0},
    {"infinity for a number", PKB_F32, &close_1pc, HARDENED, {1, 2, 3, 4}, {1, 2, 3, -INFINITY}, {0}, false, 1, 3},
    {"as f32, as published", PKB_F64, &close_1pc, PKB, {1, 2, 3, 1e300}, {1, 2, 3, 2e300}, {0}, true, 0, -1},
    {"f64 stays f64", PKB_F64, &close_1pc, HARDENED, {1, 2, 3, 1e300}, {1, 2, 3, 2e300}, {0}, false, 1, 3},
    {"all zero", PKB_BF16, &close_1pc, HARDENED, {1, 2, 3, 4}, {0, 0, 0, 0}, {0}, false, 4, 0},

    {"within the bound", PKB_F32, &bound, HARDENED, {1, 2, 3, 4}, {1.5, 2, 3, 4}, {0.5, 0, 0, 0}, true, 0, -1},
    {"above the bound", PKB_F32, &bound, HARDENED, {1, 2, 3, 4}, {1.5, 2, 3.25, 4}, {0.5, 0, 0.2f, 0}, false, 1, 2},
    {"NaN bound", PKB_F32, &bound, HARDENED, {1, 2, 3, 4}, {1, 2, 3, 4.5}, {0, 0, 0, NAN}, false, 1, 3},
    {"norm holds", PKB_F32, &bound_norm, HARDENED, {1, 2, 3, 4}, {1, 2, 3, 4.001}, {1, 1, 1, 1}, true, 0, -1},
    {"norm too large", PKB_F32, &bound_norm, HARDENED, {1, 2, 3, 4}, {1, 2, 3, 4.1}, {1, 1, 1, 1}, false, 0, -1},
    {"norm of nothing", PKB_F32, &bound_norm, HARDENED, {0, 0, 0, 0}, {0, 0, 0, 0.1}, {1, 1, 1, 1}, false, 0, -1},
    {"within the row's size", PKB_F32, &rows_2, HARDENED, {1, 100, 1, 1}, {8, 93, 1, 1}, {0}, true, 0, -1},
    {"one row's size is not the other's", PKB_F32, &rows_2, HARDENED, {1, 100, 1, 1}, {1, 100, 1, 1.2}, {0}, false, 1, 3},
    {"above the row's size", PKB_F32, &rows_2, HARDENED, {1, 100, 1, 1}, {8.2, 92.8, 1, 1}, {0}, false, 2, 0},
    {"a short last row", PKB_F32, &rows_3, HARDENED, {100, 100, 100, 1}, {91, 109, 100, 1.05}, {0}, true, 0, -1},
    {"a short last row's size", PKB_F32, &rows_3, HARDENED, {100, 100, 100, 1}, {91, 109, 100, 1.2}, {0}, false, 1, 3},
    {"a row of zeros", PKB_F32, &rows_2, HARDENED, {0, 0, 1, 1}, {0, -0.0, 1, 1}, {0}, true, 0, -1},
    {"in a row of zeros", PKB_F32, &rows_2, HARDENED, {0, 0, 1, 1}, {0, 1e-30, 1, 1}, {0}, false, 1, 1},
    {"the row as a whole", PKB_F32, &rows_rms, HARDENED, {1, 1, 1, 1}, {1.05, 1.05, 1, 1}, {0}, true, 0, -1},
    {"the row as a whole", PKB_F32, &rows_rms, HARDENED, {1, 1, 1, 1}, {1.2, 1, 1, 1}, {0}, false, 0, -1},
    {"the tensor as a row", PKB_F32, &rows_all, HARDENED, {1, 1, 1, 100}, {5, 1, 1, 100}, {0}, true, 0, -1},
    {"the tensor as a row", PKB_F32, &rows_all, HARDENED, {1, 1, 1, 100}, {7, 1, 1, 100}, {0}, false, 1, 0},
    {"atol and rtol of a row", PKB_F32, &rows_mixed, HARDENED, {1, -1, 0, 0}, {1.19, -0.98, 0.05, 0}, {0}, false, 0, -1},
    {"atol and rtol of a row", PKB_F32, &rows_mixed, HARDENED, {1, -1, 0, 0}, {1.05, -0.98, 0.05, 0}, {0}, true, 0, -1},
    {"NaN in a row", PKB_F32, &rows_2, HARDENED, {NAN, 1, 1, 1}, {NAN, 1, 1, 1}, {0}, true, 0, -1},
    {"NaN for a number in a row", PKB_F32, &rows_2, HARDENED, {2, 1, 1, 1}, {NAN, 1, 1, 1}, {0}, false, 1, 0},
    {"infinity in a row", PKB_F32, &rows_2, HARDENED, {INFINITY, 1, 1, 1}, {INFINITY, 1.2, 1, 1}, {0}, false, 1, 1},
    {"infinity for a number in a row", PKB_F32, &rows_2, HARDENED, {2, 1, 1, 1}, {2, INFINITY, 1, 1}, {0}, false, 1, 1},
    {"norm of zeros", PKB_F32, &bound_norm, HARDENED, {0, 0, 0, 0}, {0, 0, 0, 0}, {1, 1, 1, 1}, true, 0, -1},
};

static void results_are_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *r = &rows[i];
        double expected_data[ELEMENTS], actual_data[ELEMENTS];
        pkb_tensor expected = {.data = expected_data, .dtype = r->dtype, .ndim = 2, .shape = {2, 2}};
        pkb_tensor actual = expected;
        actual.data = actual_data;
        dtype_from_f64(r->dtype, expected.data, r->expected, ELEMENTS);
        dtype_from_f64(r->dtype, actual.data, r->actual, ELEMENTS);
        struct problem_difference d;
        problem_compare(r->check, r->tolerance, &expected, &actual, r->tol, &d);
        if (d.ok != r->ok || d.wrong != r->wrong || d.first != r->first)
            fail_msg("%s: ok %d, %lld wrong, first %lld", r->what, d.ok, (long long)d.wrong, (long long)d.first);
        assert_int_equal(d.elements, ELEMENTS);
    }
}

static void the_first_difference_is_reported(void **state)
{
    (void)state;
    float expected_data[2 * 3 * 400] = {0}, actual_data[2 * 3 * 400] = {0};
    pkb_tensor expected = {.data = expected_data, .dtype = PKB_F32, .ndim = 3, .shape = {2, 3, 400}};
    pkb_tensor actual = expected;
    actual.data = actual_data;
    expected_data[0] = 4;
    actual_data[0] = 4;
    expected_data[1 * 1200 + 2 * 400 + 7] = 2;
    actual_data[1 * 1200 + 2 * 400 + 7] = 3;
    actual_data[1 * 1200 + 2 * 400 + 8] = 0.5f;
    struct problem_difference d;
    problem_compare(&exact, PROFILE_HARDENED, &expected, &actual, NULL, &d);
    assert_false(d.ok);
    assert_int_equal(d.wrong, 2);
    assert_int_equal(d.first, 2007);
    assert_int_equal(d.first_index[0], 1);
    assert_int_equal(d.first_index[1], 2);
    assert_int_equal(d.first_index[2], 7);
    assert_true(d.expected == 2 && d.actual == 3 && d.max_abs == 1);
    assert_true(isinf(d.max_rel));
    assert_true(fabs(d.frobenius - sqrt(1.25 / 20)) < 1e-12);
    char text[256];
    problem_difference_describe(&d, 3, text, sizeof(text));
    assert_string_equal(text, "2 of 2400 elements differ, first at [1, 2, 7]: expected 2, got 3 (max abs 1, max rel inf)");
}

static void failing_rows_are_named(void **state)
{
    (void)state;
    float right[6] = {1, 1, 2, 2, 3, 3}, off[6] = {1, 1, 2.4f, 2.4f, 3, 3}, wrong[6] = {1, 1, 2, 2, 3, 9};
    pkb_tensor expected = {.data = right, .dtype = PKB_F32, .ndim = 2, .shape = {3, 2}}, actual = expected;
    struct problem_difference d;
    char text[300];
    actual.data = off;
    problem_compare(&rows_rms, PROFILE_HARDENED, &expected, &actual, NULL, &d);
    assert_true(d.wrong == 0 && d.rows_wrong == 1 && d.first_row == 1);
    problem_difference_describe(&d, 2, text, sizeof(text));
    assert_string_equal(text,
                        "no single element is out of bounds, but 1 rows of 2 elements are, first row 1: its root mean square "
                        "difference is 0.4, above 0.2");
    actual.data = wrong;
    problem_compare(&rows_rms, PROFILE_HARDENED, &expected, &actual, NULL, &d);
    problem_difference_describe(&d, 2, text, sizeof(text));
    assert_string_equal(text,
                        "1 of 6 elements differ, first at [2, 1]: expected 3, got 9 (max abs 6, max rel 2), row 2; root mean "
                        "square difference of row 2: 4.24264, above 0.3");
}

static void scalars_and_empty_tensors_work(void **state)
{
    (void)state;
    float one = 1, two = 2;
    pkb_tensor a = {.data = &one, .dtype = PKB_F32, .ndim = 0}, b = {.data = &two, .dtype = PKB_F32, .ndim = 0};
    pkb_tensor nothing = {.data = &one, .dtype = PKB_F32, .ndim = 2, .shape = {3, 0}};
    struct problem_difference d;
    char text[128];
    problem_compare(&close_1pc, PROFILE_HARDENED, &a, &b, NULL, &d);
    assert_false(d.ok);
    assert_int_equal(d.elements, 1);
    problem_difference_describe(&d, 0, text, sizeof(text));
    assert_string_equal(text, "1 of 1 elements differ, first at []: expected 1, got 2 (max abs 1, max rel 1)");
    problem_compare(&rows_all, PROFILE_HARDENED, &nothing, &nothing, NULL, &d);
    assert_true(d.ok);
    problem_compare(&bound_norm, PROFILE_HARDENED, &nothing, &nothing, NULL, &d);
    assert_true(d.ok);
    assert_int_equal(d.elements, 0);
}

static void a_missing_number_is_the_largest_error(void **state)
{
    (void)state;
    float numbers[3] = {1, 2, 3}, broken[3] = {1, NAN, 30};
    pkb_tensor expected = {.data = numbers, .dtype = PKB_F32, .ndim = 1, .shape = {3}}, actual = expected;
    actual.data = broken;
    struct problem_difference d;
    problem_compare(&close_1pc, PROFILE_HARDENED, &expected, &actual, NULL, &d);
    assert_true(isnan(d.max_abs) && isnan(d.max_rel) && isnan(d.frobenius));
    assert_int_equal(d.wrong, 2);
}

static void descriptions_fit_their_text(void **state)
{
    (void)state;
    struct problem_difference d = {.elements = 9, .frobenius = 0.02, .frobenius_limit = 0.01};
    char text[200], small[20];
    problem_difference_describe(&d, 1, text, sizeof(text));
    assert_non_null(strstr(text, "0.02, above 0.01"));
    d.ok = true;
    problem_difference_describe(&d, 1, text, sizeof(text));
    assert_non_null(strstr(text, "all 9 elements agree"));
    d.wrong = 3;
    d.ok = false;
    memset(small, 'x', sizeof(small));
    problem_difference_describe(&d, PKB_MAX_DIMS, small, sizeof(small) - 1);
    assert_int_equal(strlen(small), sizeof(small) - 2);
    assert_int_equal(small[sizeof(small) - 1], 'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_judged),
        cmocka_unit_test(the_first_difference_is_reported),
        cmocka_unit_test(failing_rows_are_named),
        cmocka_unit_test(scalars_and_empty_tensors_work),
        cmocka_unit_test(a_missing_number_is_the_largest_error),
        cmocka_unit_test(descriptions_fit_their_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
