/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates of tests/candidates, built into a folder of the group of cmocka tests whose fixtures these are. */
#ifndef PKB_TESTS_SUPPORT_WORKSHOP_H
#define PKB_TESTS_SUPPORT_WORKSHOP_H

#include "node_agent/build.h"

int workshop_open(void **state);
int workshop_close(void **state);

/* tests/candidates, while the workshop is open. */
const char *workshop_candidates(void);

/* Builds NAME.c of it, once. Whether it compiles is the status; what else goes wrong fails the running test. */
enum build_status workshop_build(const char *name, struct build_result *r);

#endif
