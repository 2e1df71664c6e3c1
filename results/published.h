/* SPDX-License-Identifier: Apache-2.0 */
/* The figures that ParallelKernelBench's authors published: problems solved of 87, on 8 H100s, by the first one and three samples. */
#ifndef PKB_RESULTS_PUBLISHED_H
#define PKB_RESULTS_PUBLISHED_H

#include <stdbool.h>

#define PUBLISHED_PROBLEMS 87

struct published {
    const char *model;
    int pass_1, pass_3, fast_1, fast_3; /* -1: not published as a count */
    const char *remark;                 /* what else is published, "" */
};

extern const struct published published_table[];
extern const int published_count;

/* Whether a model of a run is the one of a row: letters and digits agree, whatever their case and what stands between them. */
bool published_is(const struct published *row, const char *model);

#endif
