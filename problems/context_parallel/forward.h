/* SPDX-License-Identifier: Apache-2.0 */
/* The forward pass of attention on the host, in f64: what a backward pass takes as inputs. */
#ifndef PKB_PROBLEMS_CONTEXT_PARALLEL_FORWARD_H
#define PKB_PROBLEMS_CONTEXT_PARALLEL_FORWARD_H

#include "problems/kit.h"

/* Attention of queries (B, S, H, D) to keys and values that are n such tensors, shard after shard of the sequence. */
struct forward {
    int n;            /* shards */
    const int *ranks; /* whose keys and values they are */
    double scale;     /* of the scores */
    int64_t visible;  /* query i sees keys 0 .. visible + i - 1 of the sequence; all when that is beyond the end */
    int q, k, v;      /* inputs: read; k and v are made anew for every rank and in the end for this one */
    int out, lse;     /* inputs that are written: (B, S, H, D), and (B, H, S) for the log of the sum of exp */
};

/* out = softmax(scale * q k^T) v and lse, each rounded once; q must be there, k and v are N(0,1). */
void forward_fill(const struct problem_setting *s, struct problem_inputs *set, const struct forward *f);

#endif
