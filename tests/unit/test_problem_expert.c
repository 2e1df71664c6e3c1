/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of experts and what they consist of: settings and costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/problem_rows.h"

static const struct setting_row setting_rows[] = {
    {20, PKB_F16, 2, 3, NULL, 0, NULL},
    {20, PKB_BF16, 0, 2, "N", 32, NULL},
    {20, PKB_BF16, 0, 2, "b", 0, "b = 0 is less than 1"},
    {20, PKB_BF16, 0, 2, "N", 40, "M * N = 320 is not a multiple of b = 128"},
    {20, PKB_BF16, 0, 2, "N", 0, "output out has no elements"},
    {24, PKB_F16, 6, 7, NULL, 0, NULL},
    {24, PKB_BF16, 0, 2, "batch", 4, NULL},
    {24, PKB_BF16, 0, 2, "k", 8, NULL},
    {24, PKB_BF16, 0, 2, "layers", 0, "layers = 0 is less than 1"},
    {24, PKB_BF16, 0, 2, "layers", 3, "M = 64 is not divisible by layers * batch"},
    {24, PKB_BF16, 0, 2, "M", 0, "M = 0 is less than 1"},
    {24, PKB_BF16, 0, 2, "k", 0, "0 of 8 experts cannot be selected"},
    {24, PKB_BF16, 0, 2, "E", 2049, "2049 experts: must be 1 to 2048"},
    {26, PKB_F64, 7, 8, NULL, 0, NULL},
    {26, PKB_BF16, 0, 3, "E", 9, NULL},
    {26, PKB_BF16, 0, 3, NULL, 0, "8 experts are not divisible by 3 ranks"},
    {26, PKB_BF16, 0, 2, "E", 0, "0 experts: must be 1 to 2048"},
    {26, PKB_BF16, 0, 2, "E", 1e6, "1000000 experts: must be 1 to 2048"},
    {26, PKB_BF16, 0, 2, "k", 9, "9 of 8 experts cannot be selected"},
    {26, PKB_BF16, 0, 4, "M", 2097152, NULL},
    {26, PKB_BF16, 0, 4, "M", 2097153, "cannot be counted in f32"},
    {27, PKB_BF16, 2, 3, NULL, 0, NULL},
    {27, PKB_BF16, 0, 5, NULL, 0, "M = 48 is not divisible by 5 ranks"},
    {27, PKB_BF16, 0, 2, "M", 0, "output y has no elements"},
    {28, PKB_F16, 3, 4, "k", 8, NULL},
    {28, PKB_BF16, 0, 8, "M", 37, "74 rows of tokens are not divisible by 8 ranks"},
    {28, PKB_BF16, 0, 8, "E", 12, "12 experts are not divisible by 8 ranks"},
    {28, PKB_BF16, 0, 2, "N", 0, "output y has no elements"},
    {29, PKB_F64, 7, 8, NULL, 0, NULL},
    {29, PKB_BF16, 0, 2, "k", 9, "9 of 8 experts cannot be selected"},
    {29, PKB_BF16, 0, 4, "M", 35, "70 rows of tokens are not divisible by 4 ranks"},
    {30, PKB_F16, 16, 17, NULL, 0, NULL},
    {30, PKB_BF16, 0, 2, "rk", 0, "output dA1 has no elements"},
    {31, PKB_F16, 2, 3, "E", 9, NULL},
    {31, PKB_BF16, 0, 16, NULL, 0, "8 experts are not divisible by 16 ranks"},
    {31, PKB_BF16, 0, 2, "F", 0, "F = 0 is less than 1"},
    {31, PKB_BF16, 0, 2, "M", 0, "output out has no elements"},
    {32, PKB_F32, 0, 8, "k", 8, NULL},
    {32, PKB_BF16, 0, 2, "rk", 0, "rk = 0 is less than 1"},
    {49, PKB_BF16, 16, 17, NULL, 0, NULL},
    {49, PKB_BF16, 0, 1, NULL, 0, NULL},
    {49, PKB_BF16, 0, 2, "k", 0, "k = 0 is less than 1"},
    {50, PKB_BF16, 1023, 1024, NULL, 0, NULL},
    {50, PKB_BF16, 0, 2, "I", 0, "I = 0 is less than 1"},
    {51, PKB_F16, 5, 6, NULL, 0, NULL},
    {51, PKB_BF16, 0, 2, "Hd", 0, "output out has no elements"},
};

static void settings_are_checked(void **state)
{
    (void)state;
    problem_rows_check_settings(setting_rows, sizeof(setting_rows) / sizeof(setting_rows[0]));
}

/* Tiny shape, bf16, by hand. */
static const struct cost_row cost_rows[] = {
    {20, 0, 2, 1536, 9240, 1548},     {20, 3, 4, 3072, 18480, 4644},   {24, 0, 2, 4096, 1028, 4},
    {24, 0, 4, 4096, 1028, 12},       {26, 0, 2, 768, 3152, 16},       {26, 0, 4, 768, 3176, 24},
    {27, 0, 2, 0, 7680, 1920},        {27, 1, 4, 0, 7680, 2880},       {28, 0, 2, 0, 9216, 1728},
    {28, 0, 4, 0, 9216, 2592},        {29, 0, 2, 5184, 6768, 1728},    {29, 0, 4, 5184, 6768, 2592},
    {30, 0, 2, 576, 2304, 1152},      {30, 0, 4, 1728, 2304, 1728},    {31, 0, 2, 819200, 54272, 8256},
    {31, 0, 4, 819200, 54272, 12480}, {32, 0, 2, 966656, 56576, 8256}, {32, 0, 4, 966656, 56576, 12480},
    {49, 0, 1, 51200, 9408, 0},       {49, 0, 2, 102400, 13568, 2064}, {49, 0, 4, 104448, 13696, 3168},
    {50, 0, 2, 104448, 13696, 2080},  {50, 0, 4, 108544, 13952, 3264}, {51, 0, 2, 51200, 9408, 0},
    {51, 3, 4, 102400, 13568, 2064},  {51, 0, 8, 104448, 13696, 3168},
};

static void costs_are_those_computed_by_hand(void **state)
{
    (void)state;
    problem_rows_check_costs(cost_rows, sizeof(cost_rows) / sizeof(cost_rows[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(costs_are_those_computed_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
