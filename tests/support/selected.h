/* SPDX-License-Identifier: Apache-2.0 */
/* Which problems the tests that go through the registry take: all, or those that the environment names, for work on a few:
 *
 *     PKB_TEST_PROBLEMS="26 27_moe_all2all_primitive" tests/unit/test_problem_check
 */
#ifndef PKB_TESTS_SUPPORT_SELECTED_H
#define PKB_TESTS_SUPPORT_SELECTED_H

#include "problems/problem.h"

#define SELECTED_VARIABLE "PKB_TEST_PROBLEMS"

/* Fills `list` (room for every problem of the registry and NULL) with the problems that `names` lists, ids or names separated by
 * spaces, in the registry's order and NULL-terminated; all for NULL. 0, or -1 with the error set for a name that is no problem's and
 * for a list without any. */
int selected_parse(const char *names, const struct problem **list, struct pkb_error *err);

/* The problems of $PKB_TEST_PROBLEMS, or all, as selected_parse has them. Ends the program with the error when it is malformed: a
 * test of nothing passes. */
const struct problem *const *selected_problems(void);

/* Those of them whose family `families` lists, separated by spaces; after a leading "!" those whose family it does not list. */
const struct problem *const *selected_of(const char *families);

#endif
