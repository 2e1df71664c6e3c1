/* SPDX-License-Identifier: Apache-2.0 */
/* A layer of ring attention between two projections, on ranks that form a grid: the sequence is split over `members` ranks (the
 * context-parallel group), and a rank has `heads` of the H heads.
 *
 * Sizes        S = max(1, floor(Tg / members)) positions, Hd = H*D numbers each.
 * Inputs       x (B, S, Hd); w_qkv (3*heads*D, Hd), rows (a*heads + h)*D + d with a = 0, 1, 2 for q, k, v; w_o (Hd, heads*D).
 * Layer        z = x w_qkv^T,  q, k, v from z,  ctx = ring attention (ring.h),  y = ctx w_o^T,
 *              with z, ctx and y rounded to T; no bias.
 * Weights      N(0,1) / sqrt(Hd), so that scores are of order 1: attention is far from uniform, and a second layer does not magnify the
 *              roundings of the first (with scores of order 10 it does). In the pkb profile N(0,1) times 0.02, with which attention
 *              is nearly uniform and a mean of v nearly right.
 */
#ifndef PKB_PROBLEMS_CONTEXT_PARALLEL_LAYER_H
#define PKB_PROBLEMS_CONTEXT_PARALLEL_LAYER_H

#include "problems/kit.h"

enum { LAYER_X, LAYER_W_QKV, LAYER_W_O, LAYER_INPUTS };

/* Parameters of such a problem; the tiny sizes of H and D differ. */
#define LAYER_PARAMS(tiny_heads, tiny_head)                                                                                      \
    {"B", 16, 2, true, "batch"}, {"Tg", 16, 16, true, "positions of the whole sequence"}, {"H", 8, tiny_heads, true, "heads"},   \
        {"D", 64, tiny_head, true, "size of a head"}, {"scale", 0, 0, false, "of the scores; 0: 1/sqrt(D)"},                     \
    {                                                                                                                            \
        "causal", 1, 1, true, "1: no key behind the query is seen"                                                               \
    }

/* Hd. */
int64_t layer_width(const struct problem_setting *s);

/* Describes the three inputs; returns LAYER_INPUTS. */
int layer_inputs(const struct problem_setting *s, int members, int64_t heads, struct problem_tensor *t);

/* Describes the one output, `out` (B, S, Hd); returns 1. */
int layer_outputs(const struct problem_setting *s, int members, struct problem_tensor *t);

/* Fills x as rank x_rank has it and the weights as rank w_rank has them. */
void layer_init(const struct problem_setting *s, struct problem_inputs *set, int x_rank, int w_rank);

/* y = layer of x with the call's weights, the sequence split over cp. */
void layer_forward(const struct problem_call *c, const struct rt_group *cp, pkb_tensor *y, const pkb_tensor *x);

/* How results of so many layers in a row are compared: rows of Hd elements, the tolerances of attention.h per layer, but twice the
 * root mean square, as z and ctx may be rounded to T or not; once in the norm of the whole. */
void layer_check(const struct problem_setting *s, int layers, struct problem_check *check);

/* Ideal cost of one layer on member `place` of `members`; where causal, shards go directly to the members that need them. */
void layer_cost(const struct problem_setting *s, int place, int members, int64_t heads, struct problem_cost *cost);

#endif
