/* SPDX-License-Identifier: Apache-2.0 */
/* Figures beyond pass@k and fast@k: speedups, curves over thresholds, scaling over world sizes, and kernels that only one model found.
 * docs/metrics.md defines them. All are computed from the cells in memory.
 */
#ifndef PKB_RESULTS_ANALYSIS_H
#define PKB_RESULTS_ANALYSIS_H

#include "results/report_data.h"

/* ---- speedups (analysis_speed.c) -------------------------------------------------------------------------------------- */

/* A geometric mean over n values, with its interval from the bootstrap over problems. */
struct geomean {
    int64_t n;
    double value; /* 0: n is 0 */
    struct interval interval;
};

struct speeds {
    int64_t correct, timed;      /* candidates */
    struct geomean all;          /* speedups of the timed correct candidates */
    struct geomean best, best_k; /* of the fastest of a task's first 1 and first k_max samples, over tasks with such a one */
    int64_t fast;                /* candidates with speedup > p */
    double largest;
};

/* One per model, for the caller to free. */
struct speeds *analysis_speeds(const struct report_data *d, struct pkb_error *err);

/* ---- fast_p over p (analysis_curve.c) --------------------------------------------------------------------------------- */

#define CURVE_POINTS 15 /* 0.5, 0.75, ... 4 */
double analysis_threshold(int point);

/* Shares of tasks at every threshold: the estimate of fast_p@1 and fast_p@k_max (means over the tasks that count; -1: none). */
struct curve {
    double at_1[CURVE_POINTS], at_k[CURVE_POINTS];
    int64_t counted_1, counted_k;
};

struct curve *analysis_curves(const struct report_data *d, struct pkb_error *err);

/* ---- scaling (analysis_scaling.c) ------------------------------------------------------------------------------------- */

/* Who: the reference (-1) or a model, at one world size: over the series (problem, dtype, shape) that are timed both there and at the
 * smallest world size of the run. */
struct scaling {
    int model, world;
    int64_t series;      /* that count */
    double time_ratio;   /* geometric mean of T(world) / T(smallest) */
    double strong, weak; /* efficiencies: T(smallest) smallest / (T(world) world), and T(smallest) / T(world); geometric means */
    struct geomean speedup; /* over the baseline, of the fastest correct candidates, at this world size */
};

/* Empty when there is one world size. */
int analysis_scaling(const struct report_data *d, struct scaling **rows, size_t *n, struct pkb_error *err);

/* ---- new kernels (analysis_new.c) --------------------------------------------------------------------------------------- */

/* A task where exactly one model has a correct candidate faster than p times the baseline. */
struct new_kernel {
    int setting, model, sample;
    double speedup;
    int64_t unknown; /* samples of the other models that are not known yet, or correct and not timed */
};

int analysis_new(const struct report_data *d, struct new_kernel **rows, size_t *n, struct pkb_error *err);

#endif
