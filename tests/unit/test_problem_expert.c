/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of experts and what they consist of: settings, costs, and what their inputs promise. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "problems/expert_parallel/choice.h"
#include "problems/expert_parallel/layer.h"
#include "tests/support/evaluate_or_fail.h"
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

static struct problem_rows rows_of_problems = PROBLEM_ROWS(setting_rows, cost_rows);

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

static void choices_are_clear_or_not(void **state)
{
    (void)state;
    static const struct {
        int dtype, n, k;
        double scores[4];
        bool clear;
    } rows[] = {
        {PKB_BF16, 4, 2, {0, 3, 1, 2}, true},
        {PKB_BF16, 4, 2, {2, -1, 1.9, 1.81}, true},
        {PKB_F16, 4, 2, {2, -1, 1.9, 1.88}, true},
        {PKB_F32, 4, 2, {2, -1, 1.9, 1.8998}, true},
        {PKB_F64, 3, 1, {-50, -40, -60}, true},
        {PKB_BF16, 4, 4, {1, 1, 1, 1}, true},
        {PKB_BF16, 1, 1, {0}, true},
        {PKB_BF16, 4, 1, {1, 1, 0, 0}, false},
        {PKB_BF16, 4, 2, {2, -1, 1.9, 1.83}, false},
        {PKB_F16, 4, 2, {2, -1, 1.9, 1.891}, false},
        {PKB_F32, 4, 2, {2, -1, 1.9, 1.89991}, false},
        {PKB_BF16, 2, 1, {40, 39.5}, false},
        {PKB_BF16, 2, 1, {-40, -39.5}, false},
        {PKB_BF16, 2, 1, {1, NAN}, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double scores[4];
        memcpy(scores, rows[i].scores, sizeof(scores));
        if (moe_choice_is_clear(rows[i].dtype, scores, rows[i].n, rows[i].k) != rows[i].clear)
            fail_msg("row %zu", i);
    }
}

/* Tokens whose choice of experts is clear, by their logits in f64. */
static int64_t clear_tokens(const struct evaluation_rank *r)
{
    struct moe_sizes z = moe_layer_sizes(&r->setting);
    const pkb_tensor *x = &r->set.in[MOE_X], *weight = &r->set.in[MOE_ROUTER], *bias = &r->set.in[MOE_ROUTER + 1];
    int64_t clear = 0;
    for (int64_t t = 0; t < z.tokens; t++) {
        double logits[MOE_MAX_EXPERTS];
        for (int64_t e = 0; e < z.experts; e++) {
            logits[e] = evaluation_element(bias, (size_t)e);
            for (int64_t j = 0; j < z.width; j++)
                logits[e] +=
                    evaluation_element(x, (size_t)(t * z.width + j)) * evaluation_element(weight, (size_t)(e * z.width + j));
        }
        clear += moe_choice_is_clear(r->setting.dtype, logits, z.experts, z.top_k);
    }
    return clear;
}

static void every_token_has_a_clear_choice(void **state)
{
    (void)state;
    static const int ids[] = {31, 32, 49, 50, 51};
    for (size_t i = 0; i < 3 * sizeof(ids) / sizeof(ids[0]); i++) {
        struct evaluation *e = evaluation_tiny(ids[i / 3], i % 2 ? PKB_BF16 : PKB_F16, 8, (uint32_t)i % 3);
        for (int r = 0; r < e->world; r++)
            assert_int_equal(clear_tokens(&e->ranks[r]), (int64_t)e->ranks[r].setting.params[MOE_TOKENS]);
        evaluation_destroy(e);
    }
}

static int64_t sum(const int64_t *values, int64_t n)
{
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++)
        total += values[i];
    return total;
}

/* Ranks agree on what goes from one to another, `sent` rows in all from each, and chunks (if any) say the same. Returns the ranks
 * that receive nothing. */
static int check_lists(const struct evaluation *e, int first, bool chunks, int64_t sent)
{
    int idle = 0;
    for (int r = 0; r < e->world; r++) {
        const pkb_tensor *lists = &e->ranks[r].set.in[first];
        const int64_t *recv = lists[1].data;
        for (int q = 0; q < e->world; q++) {
            const int64_t *of_peer = e->ranks[q].set.in[first].data;
            assert_true(recv[q] >= 0);
            assert_int_equal(recv[q], of_peer[r]);
        }
        assert_int_equal(sum(lists[0].data, e->world), sent);
        if (chunks)
            assert_int_equal(sum(lists[2].data, lists[2].shape[0] * lists[2].shape[1]), sum(recv, e->world));
        idle += sum(recv, e->world) == 0;
    }
    return idle;
}

static void ranks_agree_on_numbers_of_rows(void **state)
{
    (void)state;
    static const struct {
        int id, first; /* input of in_splits */
        bool chunks;
        int64_t sent;
    } rows[] = {{27, 1, false, 48}, {28, 2, true, 72}, {29, 3, true, 72}};
    static const int worlds[] = {1, 2, 4, 8};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int at = 0; at < 4 * 6; at++) {
            int world = worlds[at % 4], trial = at / 4;
            struct evaluation *e = evaluation_tiny(rows[i].id, PKB_BF16, world, (uint32_t)trial);
            int idle = check_lists(e, rows[i].first, rows[i].chunks, rows[i].sent);
            if (rows[i].chunks)
                assert_int_equal(idle, world > 1 && trial % 3 == 2);
            evaluation_destroy(e);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROBLEM_ROWS_TESTS(&rows_of_problems),
        cmocka_unit_test(choices_are_clear_or_not),
        cmocka_unit_test(every_token_has_a_clear_choice),
        cmocka_unit_test(ranks_agree_on_numbers_of_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
