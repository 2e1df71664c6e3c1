/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the tables that tests of problems consist of, and the tests that they hold. */
#ifndef PKB_TESTS_SUPPORT_PROBLEM_ROWS_H
#define PKB_TESTS_SUPPORT_PROBLEM_ROWS_H

#include "problems/problem.h"

/* A setting at tiny shape, and whether it can run. */
struct setting_row {
    int id, dtype, rank, world;
    const char *name; /* overridden, or NULL */
    double value;
    const char *error; /* part of the reason; NULL: can run */
};

/* A cost computed by hand: tiny shape, bf16. */
struct cost_row {
    int id, rank, world;
    double flops, hbm, link;
};

/* The two tables of a program, and the cmocka tests of a list that check them. */
struct problem_rows {
    const struct setting_row *settings;
    size_t n_settings;
    const struct cost_row *costs;
    size_t n_costs;
};
#define PROBLEM_ROWS(settings, costs)                                                                                            \
    {                                                                                                                            \
        settings, sizeof(settings) / sizeof((settings)[0]), costs, sizeof(costs) / sizeof((costs)[0])                            \
    }

void settings_are_checked(void **state);
void costs_are_those_computed_by_hand(void **state);
#define PROBLEM_ROWS_TESTS(rows)                                                                                                 \
    cmocka_unit_test_prestate(settings_are_checked, rows), cmocka_unit_test_prestate(costs_are_those_computed_by_hand, rows)

#endif
