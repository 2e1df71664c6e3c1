/* SPDX-License-Identifier: Apache-2.0 */
/* Confidence intervals and tests, all at 95 %. docs/metrics.md gives the formulas.
 *
 * The bootstrap resamples problems, not tasks or samples: what is measured of one problem belongs together. Replicate b draws, for
 * i = 0 .. n-1, problem number rng_integer(rng_make(0, seed, 0, RNG_ALL_RANKS, 0), b n + i, 0, n) (runtime/random.h), so that
 * an interval depends on the seed alone, and all figures of a report are resampled alike.
 */
#ifndef PKB_RESULTS_INTERVAL_H
#define PKB_RESULTS_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

#define BOOTSTRAP_REPLICATES 1000

struct interval {
    bool known;
    double low, high;
};

/* Wilson's score interval of a proportion, `good` of n. Unknown for n = 0. */
struct interval interval_wilson(int64_t good, int64_t n);

struct bootstrap;

/* For n problems. NULL: out of memory. */
struct bootstrap *bootstrap_create(int n, int replicates, uint64_t seed, struct pkb_error *err);
void bootstrap_destroy(struct bootstrap *b);

/* Percentile interval of sum(part) / sum(weight) over problems (arrays of n). Replicates without weight are left out; unknown where
 * none is left, or where fewer than two problems have a weight. */
struct interval bootstrap_ratio(struct bootstrap *b, const double *part, const double *weight);

/* Two-sided exact binomial test with probability 1/2: how likely a split as uneven as (a, b), or more, is by chance. 1 for a + b = 0.
 * McNemar's exact test on discordant pairs, and the sign test on increases and decreases. */
double sign_test(int64_t a, int64_t b);

#endif
