/* SPDX-License-Identifier: Apache-2.0 */
/* Training steps and what they consist of (gradients, clipping, optimizers, sharded parameters): settings and costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/problem_rows.h"

static const struct setting_row setting_rows[] = {
    {9, PKB_F16, 4, 5, NULL, 0, NULL},
    {9, PKB_BF16, 0, 300, NULL, 0, NULL},
    {9, PKB_BF16, 0, 2, "B", 0, "B = 0 is less than 1"},
    {9, PKB_BF16, 0, 2, "H", 0, "output d_gamma has no elements"},
    {21, PKB_F64, 2, 3, "G", 8, NULL},
    {21, PKB_BF16, 0, 2, "G", 9, "G = 9 is more than 8"},
    {21, PKB_BF16, 0, 2, "G", 0, "G = 0 is less than 1"},
    {21, PKB_BF16, 0, 2, "max_norm", 0, "max_norm = 0 is not a positive number of f32"},
    {21, PKB_BF16, 0, 2, "max_norm", 1e39, "is not a positive number of f32"},
    {22, PKB_BF16, 4, 5, NULL, 0, NULL},
    {22, PKB_BF16, 5, 6, "ep_size", 6, NULL},
    {22, PKB_BF16, 0, 2, "ep_size", 3, "ep_size = 3 is more than the 2 ranks"},
    {22, PKB_BF16, 0, 2, "max_norm", -1, "max_norm = -1 is not a positive number"},
    {23, PKB_F16, 0, 64, NULL, 0, NULL},
    {23, PKB_BF16, 0, 2, "N", 0, "N = 0 is less than 1"},
    {23, PKB_BF16, 0, 1024, "M", 1e12, "must be less than 2^53"},
    {40, PKB_BF16, 6, 7, NULL, 0, NULL},
    {40, PKB_F16, 0, 2, NULL, 0, "dtype f16: second moments underflow"},
    {40, PKB_BF16, 0, 2, "hid", 0, "hid = 0 is less than 1"},
    {40, PKB_BF16, 0, 2, "b1", 1.5, "b1 = 1.5 is not in [0, 1)"},
    {41, PKB_BF16, 2, 3, NULL, 0, NULL},
    {41, PKB_F32, 0, 2, "d_hid", 7, NULL},
    {41, PKB_BF16, 0, 2, "n_total", 0, "n_total = 0 is less than 1"},
    {41, PKB_BF16, 0, 2, "d_out", 1e9, "d_out = 1000000000 is more than 1048576"},
    {41, PKB_BF16, 0, 3, "d_in", 256, NULL},
    {41, PKB_BF16, 0, 3, "d_in", 18, "d_hid = 32 to 1055: the number of parameters is never divisible by 3 ranks"},
    {42, PKB_BF16, 0, 2, "d_hid", 0, "d_hid = 0 is less than 1"},
    {42, PKB_BF16, 0, 2, "eps", -1, "eps = -1 is not positive"},
    {43, PKB_F16, 2, 3, "step", 7, NULL},
    {43, PKB_BF16, 0, 2, "step", 0, "step = 0 is less than 1"},
    {43, PKB_BF16, 0, 2, "beta1", 1, "beta1 = 1 is not in [0, 1)"},
    {43, PKB_BF16, 0, 2, "beta2", -0.5, "beta2 = -0.5 is not in [0, 1)"},
    {43, PKB_BF16, 0, 2, "eps", 0, "eps = 0 is not positive"},
    {44, PKB_F64, 2, 3, "n", 7, NULL},
    {44, PKB_BF16, 0, 2, "bs", 0, "bs = 0 is less than 1"},
    {44, PKB_BF16, 0, 2, "n", 0, "output avg has no elements"},
    {45, PKB_BF16, 4, 5, "M", 0, NULL},
    {45, PKB_BF16, 0, 2, "hidden", 0, "hidden = 0 is less than 1"},
    {45, PKB_BF16, 0, 2, "eps", 0, "eps = 0 is not between 0 and 1"},
    {47, PKB_F16, 3, 17, NULL, 0, NULL},
    {47, PKB_BF16, 0, 3, "d_in", 18, "is never divisible by 3 ranks"},
    {47, PKB_BF16, 0, 2, "step", 0, "step = 0 is less than 1"},
    {48, PKB_BF16, 16, 17, NULL, 0, NULL},
    {48, PKB_BF16, 5, 6, "n_tp", 3, NULL},
    {48, PKB_BF16, 0, 6, "n_tp", 4, "n_tp = 4 and n_fsdp = 0 do not make a grid of 6 ranks"},
    {48, PKB_BF16, 0, 6, "n_fsdp", 6, "n_tp = 0 and n_fsdp = 6 do not make a grid of 6 ranks"},
    {48, PKB_BF16, 0, 2, "D", 0, "D = 0 is less than 1"},
    {48, PKB_BF16, 0, 2, "F", 0, "F = 0 is less than 1"},
    {48, PKB_BF16, 0, 2, "rows", 0, "output y has no elements"},
    {52, PKB_F64, 4, 5, "hl", 1, NULL},
    {52, PKB_BF16, 0, 2, "hl", 0, "hl = 0 is less than 1"},
    {52, PKB_BF16, 0, 2, "p", 0, "output shard has no elements"},
    {53, PKB_BF16, 0, 2, "hl", 0, "hl = 0 is less than 1"},
    {63, PKB_BF16, 4, 5, "lambda", 1, NULL},
    {63, PKB_BF16, 0, 2, "lambda", 0, "lambda = 0 is not in (0, 1]"},
    {63, PKB_BF16, 0, 2, "n", 0, "n = 0 is less than 1"},
    {63, PKB_BF16, 0, 2, "nb", 0, "output weights_all has no elements"},
    {86, PKB_F32, 6, 7, "pdim", 0, NULL},
    {86, PKB_BF16, 0, 2, "steps", 10, NULL},
    {86, PKB_BF16, 0, 2, "steps", 6, "steps = 6 is not a multiple of the set's 5 triples"},
    {86, PKB_BF16, 0, 2, "steps", 0, "steps = 0 is not a multiple"},
    {86, PKB_BF16, 0, 2, "type", 4, "type = 4 is none of the 4 coefficient sets"},
    {86, PKB_BF16, 0, 2, "pdim", 2, "pdim = 2 is neither 0 nor 1"},
};

static void settings_are_checked(void **state)
{
    (void)state;
    problem_rows_check_settings(setting_rows, sizeof(setting_rows) / sizeof(setting_rows[0]));
}

/* Tiny shape, bf16, by hand. */
static const struct cost_row cost_rows[] = {
    {9, 0, 2, 10440, 14112, 288},
    {9, 0, 4, 10476, 14112, 432},
    {21, 0, 2, 17280, 23040, 4},
    {21, 3, 4, 17280, 23040, 12},
    {22, 0, 2, 13440, 15360, 8},
    {22, 3, 4, 13440, 15360, 24},
    {23, 0, 2, 10, 28, 2},
    {23, 3, 4, 10, 28, 6},
    {40, 0, 2, 310432, 34688, 15808},
    {40, 1, 2, 310432, 22832, 3952},
    {40, 0, 4, 167072, 33152, 17784},
    {40, 3, 4, 167072, 21296, 5928},
    {41, 0, 2, 63000, 12512, 3232},
    {42, 0, 2, 63000, 12512, 3232},
    {41, 1, 2, 63000, 12512, 1616},
    {42, 1, 2, 63000, 12512, 1616},
    {41, 0, 4, 31500, 9488, 4040},
    {42, 0, 4, 31500, 9488, 4040},
    {41, 3, 4, 31500, 9488, 2424},
    {42, 3, 4, 31500, 9488, 2424},
    {43, 0, 2, 2800, 2400, 400},
    {43, 0, 4, 2800, 3200, 1200},
    {44, 0, 2, 9000, 6504, 1626},
    {44, 0, 4, 9000, 6504, 2439},
    {47, 0, 2, 64616, 14128, 1616},
    {47, 0, 4, 32308, 10296, 2424},
    {48, 0, 2, 52224, 7680, 1536},
    {48, 3, 4, 26112, 4352, 1280},
    {52, 0, 2, 1008, 1072, 76},
    {52, 0, 4, 2016, 1936, 228},
    {53, 0, 2, 1200, 2064, 204},
    {53, 0, 4, 1200, 3664, 612},
    {63, 0, 2, 15744, 52224, 776},
    {63, 0, 4, 15744, 53760, 2328},
    {86, 0, 2, 123648, 1024, 5124},
    {86, 0, 4, 82304, 512, 7686},
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
