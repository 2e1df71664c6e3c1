/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics: pass@k and fast_p@k, as counts and as unbiased estimates. docs/metrics.md gives the formulas.
 *
 * A *task* is one problem in one setting (world size, dtype, shape); with one setting per problem, tasks are problems. A sample of a
 * task is one planned cell of one model. What is not known stays apart: a cell without a final record is neither solved nor
 * failed, and a correct one that was not timed is neither fast nor slow.
 */
#ifndef PKB_RESULTS_METRICS_H
#define PKB_RESULTS_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "results/record.h"

/* What a sample says about one question ("is it correct", "is it correct and faster than p"). */
enum verdict { VERDICT_NO, VERDICT_YES, VERDICT_UNKNOWN };

/* Probability that at least one of k samples, drawn without replacement from n of which c are good, is good:
 * 1 - C(n-c, k) / C(n, k), as a product, so that no factorial overflows. -1 when it is not defined (k < 1, k > n, c not in 0..n). */
double metrics_pass_at_k(int64_t n, int64_t c, int64_t k);

/* One question at one k, over tasks. */
struct metrics_at_k {
    int64_t solved;     /* tasks with a good one among the first k samples */
    int64_t failed;     /* all of the first k samples are known and none is good */
    int64_t undecided;  /* none is good so far, and one or more are unknown */
    int64_t absent;     /* the task has fewer than k samples in the plan, and none is good; then it is in none of the above */
    int64_t counted;    /* tasks with k or more known samples: those the estimate is the mean of */
    int64_t short_of_k; /* other tasks: left out of the estimate */
    double sum;         /* of metrics_pass_at_k over the counted tasks */
    double latest;      /* metrics_pass_at_k of the task added last; -1: it was left out */
};

/* Mean over tasks, 0..1; -1 when no task counts. */
double metrics_estimate(const struct metrics_at_k *m);

/* A sample: one planned cell. */
struct metrics_sample {
    int number;     /* the sample's number in the plan */
    int outcome;    /* enum outcome of the final record, or of the last one; -1: no record */
    bool timed;     /* both times were measured */
    double speedup; /* where timed */
};

/* Everything about one group of tasks, for instance those of a model at a world size. */
struct metrics {
    int k_max;
    double p;        /* fast: correct and speedup > p */
    int64_t tasks;   /* planned */
    int64_t samples; /* largest number of samples of a task */
    int64_t cells;   /* planned: the sum of the next two, and of outcome[] and missing */
    int64_t known, unknown;
    int64_t missing;                  /* no record */
    int64_t untimed;                  /* correct, but without both times */
    int64_t outcome[OUTCOME_COUNT];   /* infra_error and not_run: last records of cells without a final one */
    struct metrics_at_k *pass, *fast; /* [k - 1] */
};

/* 0, or -1 when memory runs out. */
int metrics_init(struct metrics *m, int k_max, double p, struct pkb_error *err);
void metrics_clear(struct metrics *m);

/* Adds one task with its samples in the order of their numbers. */
void metrics_add_task(struct metrics *m, const struct metrics_sample *samples, int n);

#endif
