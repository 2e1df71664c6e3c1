/* SPDX-License-Identifier: Apache-2.0 */
/* The gated delta rule, as in Kimi Delta Attention and Gated DeltaNet: linear attention whose state forgets, and learns what it got wrong.
 *
 * Per batch and head a state St (K, V) starts at zero. For the tokens in order, with everything of the token in lower case,
 *     St = decay * St,   p = k St,   u = (v - p) * beta,   St = St + k^T u,   o = q St.
 *
 * All of it is f32, whatever T is. Tensors are token-major, (S, B, H, ..), so that a token is an entry. */
#ifndef PKB_PROBLEMS_CONTEXT_PARALLEL_DELTA_H
#define PKB_PROBLEMS_CONTEXT_PARALLEL_DELTA_H

#include "problems/kit.h"

/* What the rule takes, in f32. */
struct delta {
    const pkb_tensor *q, *k; /* (S, B, H, K) */
    const pkb_tensor *v;     /* (S, B, H, V) */
    const pkb_tensor *beta;  /* (S, B, H) */
    const pkb_tensor *decay; /* (S, B, H, K), or (S, B, H) for one number per head */
};

/* o (S, B, H, V), a temporary of f32. */
pkb_tensor *delta_rule(struct rt *rt, const struct delta *d);

/* Swaps batch and tokens, the two leading axes; and converts to f32. */
pkb_tensor *delta_swapped(struct rt *rt, const pkb_tensor *t);
pkb_tensor *delta_widened(struct rt *rt, const pkb_tensor *t);

/* x = x / max(||x||, least) * factor along the last axis, in place. */
void delta_normalise(struct rt *rt, pkb_tensor *x, double least, double factor);

/* Inputs: q = k + N(0,1), where k is this rank's N(0,1). */
void delta_fill_query(const struct problem_setting *s, struct problem_inputs *set, int q, int k);

/* Inputs: entries first, first + 1, ... of a vector that all ranks share, uniform in [-1/2, 1/2). */
void delta_fill_shared(const struct problem_setting *s, struct problem_inputs *set, int tensor, int64_t first);

/* Inputs: low + 0.2 i / (n - 1) for the entries i = first, first + 1, ... of n. */
void delta_fill_ramp(struct problem_inputs *set, int tensor, double low, int64_t first, int64_t n);

/* Rows of a token, all heads: root mean square of the error 0.01 times the row's, largest 0.08 times (bf16), an eighth of it for f16, 1e-4
 * and 8e-4 for f32 and f64. */
void delta_check(const struct problem_setting *s, int64_t row, struct problem_check *check);

#endif
