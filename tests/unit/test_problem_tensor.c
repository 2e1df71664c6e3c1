/* SPDX-License-Identifier: Apache-2.0 */
/* Products, convolutions and losses whose operands are divided over the ranks: settings and costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/problem_rows.h"

static const struct setting_row setting_rows[] = {
    {11, PKB_BF16, 2, 3, NULL, 0, NULL},
    {11, PKB_BF16, 0, 5, NULL, 0, "K = 48 is not divisible by 5 ranks"},
    {11, PKB_BF16, 0, 2, "K", 0, "K = 0 is less than 1"},
    {11, PKB_BF16, 0, 2, "N", 0, "output Ct has no elements"},
    {14, PKB_F64, 2, 3, NULL, 0, NULL},
    {14, PKB_BF16, 0, 5, NULL, 0, "N = 72 is not divisible by 5 ranks"},
    {14, PKB_BF16, 0, 2, "K", 0, "K = 0 is less than 1"},
    {15, PKB_F16, 4, 5, "M", 1, NULL},
    {15, PKB_BF16, 0, 2, "F", 0, "F = 0 is less than 1"},
    {15, PKB_BF16, 0, 2, "H", 0, "H = 0 is less than 1"},
    {15, PKB_BF16, 0, 2, "M", 0, "output y has no elements"},
    {19, PKB_F16, 4, 5, NULL, 0, NULL},
    {19, PKB_BF16, 0, 2, "b", 64, NULL},
    {19, PKB_BF16, 0, 2, "b", 0, "b = 0 is less than 1"},
    {19, PKB_BF16, 0, 2, "b", 100, "N = 256 is not divisible by b = 100"},
    {19, PKB_BF16, 0, 2, "M", 0, "output y has no elements"},
    {25, PKB_F16, 4, 5, NULL, 0, NULL},
    {25, PKB_BF16, 0, 2, "V", 0, "V = 0 is less than 1"},
    {25, PKB_BF16, 0, 2, "N", 0, "N = 0 is less than 1"},
    {25, PKB_BF16, 0, 2, "M", 0, "output token_logp has no elements"},
    {46, PKB_F16, 4, 5, "tokens", 8, NULL},
    {46, PKB_BF16, 0, 2, "hidden", 0, "hidden = 0 is less than 1"},
    {46, PKB_BF16, 0, 2, "v_loc", 0, "output logits has no elements"},
    {73, PKB_F64, 0, 16, NULL, 0, NULL},
    {73, PKB_BF16, 0, 3, NULL, 0, "V = 64 is not divisible by 3 ranks"},
    {73, PKB_BF16, 0, 2, "V", 0, "V = 0 is less than 1"},
};

static void settings_are_checked(void **state)
{
    (void)state;
    problem_rows_check_settings(setting_rows, sizeof(setting_rows) / sizeof(setting_rows[0]));
}

/* Tiny shape, bf16, by hand. */
static const struct cost_row cost_rows[] = {
    {11, 0, 2, 165888, 13824, 1152}, {11, 0, 4, 165888, 14400, 1728}, {14, 0, 2, 82944, 9216, 1728},
    {14, 0, 4, 41472, 7488, 2592},   {15, 0, 2, 63840, 7424, 384},    {15, 0, 4, 31920, 6464, 288},
    {19, 0, 2, 4608, 6240, 1584},    {19, 0, 4, 4608, 9408, 4752},    {25, 0, 2, 264960, 12184, 28},
    {25, 3, 4, 264960, 12184, 84},   {46, 0, 2, 15480, 6064, 240},    {46, 0, 4, 15480, 6544, 720},
    {73, 0, 2, 3072, 1776, 168},     {73, 0, 4, 1536, 1008, 252},
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
