/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the tables that tests of problems consist of, and what checks them. Everything fails the running cmocka test when a row
 * does not hold. */
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
void problem_rows_check_settings(const struct setting_row *rows, size_t n);

/* A cost computed by hand: tiny shape, bf16. */
struct cost_row {
    int id, rank, world;
    double flops, hbm, link;
};
void problem_rows_check_costs(const struct cost_row *rows, size_t n);

#endif
