/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and records made up for tests and benchmarks of results/: real formats, invented outcomes. */
#ifndef PKB_TESTS_SYNTHETIC_H
#define PKB_TESTS_SYNTHETIC_H

#include "results/record.h"
#include "sweeps/plan.h"

/* Cells: problems (the first ones of the registry) x worlds x models ("model-0", ...) x samples (1, 2, ...); one shard per world.
 * Settings are of the device host and the shape tiny. */
struct plan *synthetic_plan(int problems, int n_worlds, const int *worlds, int models, int samples);

/* The same settings on another device or in the other shape. */
void synthetic_size(struct plan *p, const char *device, enum problem_shape shape);

/* A valid record of a cell of the plan: correct, baseline 2 ms, `speedup` times faster. */
void synthetic_record(const struct plan *p, size_t cell, int attempt, enum outcome outcome, double speedup, struct record *r);

/* The same with a baseline of so many nanoseconds. */
void synthetic_scale(struct record *r, double baseline_ns);

/* A valid baseline of a setting; drift: of the second of its two measurements. */
void synthetic_baseline(const struct plan *p, size_t setting, double baseline_ns, double drift, struct record_baseline *b);

#endif
