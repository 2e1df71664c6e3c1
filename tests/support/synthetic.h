/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and records made up for tests and benchmarks of results/: real formats, invented outcomes. */
#ifndef PKB_TESTS_SYNTHETIC_H
#define PKB_TESTS_SYNTHETIC_H

#include "results/record.h"
#include "sweeps/plan.h"

/* Cells: problems (the first ones of the registry) x worlds x models ("model-0", ...) x samples (1, 2, ...); one shard per world. */
struct plan *synthetic_plan(int problems, int n_worlds, const int *worlds, int models, int samples);

/* A valid record of a cell of the plan: correct, baseline 2 ms, `speedup` times faster. */
void synthetic_record(const struct plan *p, size_t cell, int attempt, enum outcome outcome, double speedup, struct record *r);

#endif
