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
    {76, PKB_F16, 2, 3, "dilation", 1, NULL},
    {76, PKB_BF16, 0, 17, NULL, 0, "O = 16 is less than the 17 ranks"},
    {76, PKB_BF16, 0, 2, "stride", 0, "stride = 0 is less than 1"},
    {76, PKB_BF16, 0, 2, "dilation", 0, "dilation = 0 is less than 1"},
    {76, PKB_BF16, 0, 2, "k", 0, "k = 0 is less than 1"},
    {76, PKB_BF16, 0, 2, "dilation", 2, "output y has no elements"},
    {78, PKB_BF16, 12, 13, NULL, 0, NULL},
    {78, PKB_BF16, 0, 2, "us", 0, "us = 0 is less than 1"},
    {78, PKB_BF16, 0, 2, "Zw", 70000, "Zw is more than 65536"},
    {78, PKB_BF16, 0, 2, "os", 1, "overlaps 1, 0.25: must be at least 0 and less than 1"},
    {78, PKB_BF16, 0, 2, "ffi", 2, "ffi is neither 0 nor 1"},
    {78, PKB_BF16, 0, 2, "lt", 1, "frames: tiles of 1 with an overlap of 0.25 do not advance"},
    {78, PKB_BF16, 0, 2, "ffi", 1, "frames: of a decoded tile 8 are kept, but the next one is 6 further"},
    {78, PKB_BF16, 0, 2, "Zh", 65536, "more than 1024 tiles"},
    {80, PKB_F64, 2, 3, "n_iterations", 1, NULL},
    {80, PKB_BF16, 0, 2, "temp", 0, "temp = 0 is not between"},
    {80, PKB_BF16, 0, 2, "K", 0, "output y has no elements"},
    {82, PKB_F64, 15, 16, NULL, 0, NULL},
    {82, PKB_BF16, 0, 2, "top_k", 1000, NULL},
    {82, PKB_BF16, 0, 2, "top_p", 1.5, NULL},
    {82, PKB_BF16, 0, 3, NULL, 0, "V = 64 is not divisible by 3 ranks"},
    {82, PKB_BF16, 0, 2, "top_p", 0, "top_p = 0 is not positive"},
    {82, PKB_BF16, 0, 2, "V", 0, "V = 0 is less than 1"},
    {83, PKB_BF16, 0, 4, "chunk_size", 2, NULL},
    {83, PKB_BF16, 0, 4, "chunk_size", 3, "B * chunk_size = 2 * 3 tokens are not divisible by 4 ranks"},
    {84, PKB_BF16, 0, 8, "chunk_size", 0, NULL},
    {84, PKB_BF16, 0, 4, "chunk_size", 1, "B * chunk_size = 2 * 1 tokens are not divisible by 4 ranks"},
    {84, PKB_BF16, 0, 2, "B", 0, "output grad_logits has no elements"},
    {87, PKB_BF16, 6, 7, "padding", 0, NULL},
    {87, PKB_BF16, 0, 2, "H", 0, NULL},
    {87, PKB_BF16, 0, 2, "stride", 0, "stride = 0 is less than 1"},
    {87, PKB_BF16, 0, 2, "w", 0, "w = 0 is less than 1"},
    {87, PKB_BF16, 0, 2, "C", 0, "output y has no elements"},
};

static const struct cost_row cost_rows[] = {
    {11, 0, 2, 165888, 13824, 1152}, {11, 0, 4, 165888, 14400, 1728}, {14, 0, 2, 82944, 9216, 1728},
    {14, 0, 4, 41472, 7488, 2592},   {15, 0, 2, 63840, 7424, 384},    {15, 0, 4, 31920, 6464, 288},
    {19, 0, 2, 4608, 6240, 1584},    {19, 0, 4, 4608, 9408, 4752},    {25, 0, 2, 264960, 12184, 28},
    {25, 3, 4, 264960, 12184, 84},   {46, 0, 2, 15480, 6064, 240},    {46, 0, 4, 15480, 6544, 720},
    {73, 0, 2, 3072, 1776, 168},     {73, 0, 4, 1536, 1008, 252},     {76, 0, 2, 332544, 15392, 1536},
    {76, 0, 4, 166656, 10016, 2304}, {78, 0, 1, 491520, 45384, 0},    {78, 0, 2, 491520, 45384, 4320},
    {78, 3, 4, 491520, 45384, 4680}, {80, 0, 2, 21504, 30720, 768},   {80, 0, 4, 21504, 30720, 1152},
    {82, 0, 2, 2048, 1216, 112},     {82, 0, 4, 1024, 704, 168},      {83, 0, 2, 6144, 3648, 336},
    {83, 0, 4, 3072, 2112, 504},     {84, 0, 2, 12288, 9696, 624},    {84, 0, 4, 6144, 5088, 936},
    {87, 0, 1, 161280, 6096, 0},     {87, 0, 2, 161280, 6096, 224},   {87, 1, 4, 80640, 3856, 448},
};

static struct problem_rows rows_of_problems = PROBLEM_ROWS(setting_rows, cost_rows);

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROBLEM_ROWS_TESTS(&rows_of_problems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
