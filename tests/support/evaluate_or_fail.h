/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluations for tests that have nothing to do without them: what cannot be made or run fails the running cmocka test. */
#ifndef PKB_TESTS_SUPPORT_EVALUATE_OR_FAIL_H
#define PKB_TESTS_SUPPORT_EVALUATE_OR_FAIL_H

#include "tests/support/evaluate.h"

/* As evaluation_create: inputs are zero. */
struct evaluation *evaluation_or_fail(const struct problem_setting *s);

/* A problem at tiny shape, its inputs those of set number `trial`. */
struct evaluation *evaluation_tiny(int id, int dtype, int world, uint32_t trial);

/* Element i of a tensor in host memory. */
double evaluation_element(const pkb_tensor *t, size_t i);

#endif
