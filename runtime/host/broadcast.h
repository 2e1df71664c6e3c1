/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcasting comes down to runs of the destination along which each operand either advances or stands still. */
#ifndef PKB_RUNTIME_HOST_BROADCAST_H
#define PKB_RUNTIME_HOST_BROADCAST_H

#include "runtime/backend.h"

#define BROADCAST_OPERANDS 3

struct broadcast_operand {
    int dtype;
    size_t size;                  /* bytes of an element */
    bool still;                   /* all elements of a run are the same one */
    const char *at;               /* the current run's first element */
    int64_t stride[PKB_MAX_DIMS]; /* in elements, outermost first; 0: stands still */
};

struct broadcast {
    size_t run; /* elements of a run */
    int ndim;   /* dimensions, merged as far as all operands allow; the innermost is the run */
    int64_t shape[PKB_MAX_DIMS], index[PKB_MAX_DIMS];
    int n_operands;
    struct broadcast_operand operands[BROADCAST_OPERANDS];
};

/* At the first run of a destination that has elements. */
void broadcast_plan(struct broadcast *p, const pkb_tensor *dst, int n, const pkb_tensor *const *operands);

/* To the next run. */
void broadcast_advance(struct broadcast *p);

#endif
