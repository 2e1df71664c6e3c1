/* SPDX-License-Identifier: Apache-2.0 */
/* Whole run directories made up: plan, run.json with the machine (h100-sxm-8) and records, as a sweep over all problems leaves
 * them. Models differ in how much they get right and how fast; problems in how hard they are; a few cells are missing, failed for
 * reasons of their own, were retried or are too fast to be true; a few lines are malformed. A function of the seed alone.
 */
#ifndef PKB_TESTS_SYNTHETIC_RUN_H
#define PKB_TESTS_SYNTHETIC_RUN_H

#include "sweeps/plan.h"

struct synthetic_shape {
    int problems; /* the first ones of the registry; 0: all */
    int models, samples;
    uint64_t seed;
};

struct synthetic_run;

/* Makes RUN/ with plan/, records/ and run.json, the same for the same shape (made again, records stay): device cuda, shape paper, bf16, 1, 2, 4 and 8 ranks. */
struct synthetic_run *synthetic_run_create(const char *path, const struct synthetic_shape *shape, struct pkb_error *err);
void synthetic_run_destroy(struct synthetic_run *r);
const struct plan *synthetic_run_plan(const struct synthetic_run *r);

/* Appends the records of a range of cells, with a baseline for each of their settings. Some cells get none. */
int synthetic_run_write(struct synthetic_run *r, size_t first, size_t end, struct pkb_error *err);

#endif
