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
    {26, PKB_F64, 7, 8, NULL, 0, NULL},
    {26, PKB_BF16, 0, 3, "num_experts", 9, NULL},
    {26, PKB_BF16, 0, 3, NULL, 0, "8 experts are not divisible by 3 ranks"},
    {26, PKB_BF16, 0, 2, "num_experts", 0, "0 experts: must be 1 to 2048"},
    {26, PKB_BF16, 0, 2, "num_experts", 1e6, "1000000 experts: must be 1 to 2048"},
    {26, PKB_BF16, 0, 2, "top_k", 9, "9 of 8 experts cannot be selected"},
    {26, PKB_BF16, 0, 4, "M", 2097152, NULL},
    {26, PKB_BF16, 0, 4, "M", 2097153, "cannot be counted in f32"},
    {27, PKB_BF16, 2, 3, NULL, 0, NULL},
    {27, PKB_BF16, 0, 5, NULL, 0, "M = 48 is not divisible by 5 ranks"},
    {27, PKB_BF16, 0, 2, "M", 0, "output y has no elements"},
    {30, PKB_F16, 16, 17, NULL, 0, NULL},
    {30, PKB_BF16, 0, 2, "rk", 0, "output dA1 has no elements"},
};

static void settings_are_checked(void **state)
{
    (void)state;
    problem_rows_check_settings(setting_rows, sizeof(setting_rows) / sizeof(setting_rows[0]));
}

static const struct cost_row cost_rows[] = {
    {20, 0, 2, 1536, 9240, 1548}, {20, 3, 4, 3072, 18480, 4644}, {26, 0, 2, 768, 3152, 16},   {26, 0, 4, 768, 3176, 24},
    {27, 0, 2, 0, 7680, 1920},    {27, 1, 4, 0, 7680, 2880},     {30, 0, 2, 576, 2304, 1152}, {30, 0, 4, 1728, 2304, 1728},
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
