/* SPDX-License-Identifier: Apache-2.0 */
/* A folder with a small candidate store, and plans of it, for tests of plans. The functions fail the running test where something
 * is wrong that is not the test's subject. */
#ifndef PKB_TESTS_SUPPORT_PLAN_STORE_H
#define PKB_TESTS_SUPPORT_PLAN_STORE_H

#include "sweeps/plan.h"

/* For cmocka: *state becomes the folder's path. Its store holds the models a (problems 1 and 13, 3 samples each), b (problem 1, sample 1), c
 * (problem 1 for GPUs: 1.cu, 2.py) and none. */
int plan_store_setup(void **state);
int plan_store_teardown(void **state);

/* A file below the folder, holding its own name; rm -rf of a path below it. */
void store_write(const char *base, const char *name);
void store_remove(const char *base, const char *name);

/* The plan of a sweep of the store with these fields. try_plan: NULL with the error set. */
struct plan *try_plan(const char *base, const char *fields, double shard_seconds, struct pkb_error *err);
struct plan *get_plan(const char *base, const char *fields, double shard_seconds);

#endif
