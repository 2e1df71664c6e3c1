/* SPDX-License-Identifier: Apache-2.0 */
/* A timed loop without pkb's engine: a compiled candidate between pairs of CUDA events, on one GPU and one rank, for comparison with what
 * the engine measures. Nothing is numbered, checked, sampled or told to anybody. */
#ifndef PKB_BENCH_BARE_LOOP_H
#define PKB_BENCH_BARE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

#define BARE_MOST_TENSORS 3

/* What a call works on: bf16 tensors of at most two dimensions, inputs and then one output (a vector has 0 in the second place). */
struct bare_tensors {
    int n_in;
    int64_t shape[BARE_MOST_TENSORS][2];
};

/* What surrounds the calls. What a call meets in the caches, and where its buffers lie, is part of the conditions. */
struct bare_conditions {
    const char *what;
    bool
        own_memory; /* an allocation for each tensor, instead of the runtime's blocks in the order in which the engine asks for them */
    bool
        refill; /* a buffer gets new inputs and a poisoned output right after it was used, a whole rotation before its next use */
    bool barrier; /* of symmetric memory, before each call */
};

/* Median nanoseconds of `timed` calls of the object (a compiled candidate) after `warmup` ones. The process gets a context on the GPU
 * that it keeps. -1 with the error set. */
int bare_loop(const char *object, const struct bare_tensors *t, const struct bare_conditions *c, int warmup, int timed,
              double *ns, struct pkb_error *err);

#endif
