/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of references: which experts a token goes to, and the sum of what comes back.
 *
 * The pairs (expert, token) of a selection, ordered by expert and within it by token, are its entries; there are k per token.
 * Rows of tokens travel in this order.
 */
#ifndef PKB_PROBLEMS_EXPERT_PARALLEL_ROUTING_H
#define PKB_PROBLEMS_EXPERT_PARALLEL_ROUTING_H

#include "problems/kit.h"

struct moe_entries {
    pkb_tensor *token;  /* (k*M) of i64 */
    pkb_tensor *weight; /* (k*M, 1): of the pair */
    pkb_tensor *counts; /* (E) of i64: entries of every expert */
};

/* (M, k) of i64: the k experts with the largest of a token's scores (M, experts), descending, the smaller index first where they
 * are equal. */
pkb_tensor *moe_top_k(const struct problem_call *c, const pkb_tensor *scores, int64_t tokens, int64_t experts, int64_t k);

/* Entries of the selection sel (M, k), of i64, in which the experts of a token differ; weights (M, k) belong to its elements. */
void moe_make_entries(const struct problem_call *c, const pkb_tensor *sel, const pkb_tensor *weights, int64_t tokens,
                      int64_t experts, int64_t k, struct moe_entries *entries);

/* out (M, N), starting from 0: row token[i] += row i of rows (k*M, N) for the entries in order, rounded to out's dtype after each
 * addition. Every token has k entries. */
void moe_combine(const struct problem_call *c, pkb_tensor *out, const pkb_tensor *rows, const pkb_tensor *token, int64_t k);

#endif
