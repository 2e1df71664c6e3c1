/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of references: rows of tokens go to the ranks that own their experts, and come back.
 *
 * Of E experts member q of a group of G owns the L = E / G experts q*L to q*L + L - 1. Rows are sent in the order of entries
 * (routing.h). They arrive by source rank, within it by local expert: n[s, j] rows from member s for expert j.
 */
#ifndef PKB_PROBLEMS_EXPERT_PARALLEL_DISPATCH_H
#define PKB_PROBLEMS_EXPERT_PARALLEL_DISPATCH_H

#include "problems/kit.h"

/* Experts over all ranks. */
#define MOE_MAX_EXPERTS 2048

/* Numbers of rows, on the host. */
struct moe_exchange {
    const struct rt_group *group;
    int64_t local;                   /* L */
    int64_t send[PROBLEM_MAX_WORLD]; /* rows to every member */
    int64_t recv[PROBLEM_MAX_WORLD]; /* rows from every member */
    int64_t chunks[MOE_MAX_EXPERTS]; /* n[s, j] at s*L + j */
    int64_t sent, received;          /* sums */
};

/* From this rank's counts (E) of i64: the members tell each other. Waits. */
void moe_exchange_counts(const struct problem_call *c, const struct rt_group *g, const pkb_tensor *counts, int64_t experts,
                         struct moe_exchange *x);

/* From three inputs that the host reads (lists.h), over all ranks. */
void moe_exchange_given(const struct problem_call *c, const pkb_tensor *lists, struct moe_exchange *x);

/* The all-to-all: (sent, N) to (received, N), and back. */
pkb_tensor *moe_dispatch(const struct problem_call *c, const struct moe_exchange *x, const pkb_tensor *rows, int64_t width);
pkb_tensor *moe_return(const struct problem_call *c, const struct moe_exchange *x, const pkb_tensor *rows, int64_t width);

/* Chunks from the order (source, local expert) to (local expert, source), and back: dst and src are (received, N). */
void moe_group(const struct problem_call *c, const struct moe_exchange *x, pkb_tensor *dst, const pkb_tensor *src);
void moe_ungroup(const struct problem_call *c, const struct moe_exchange *x, pkb_tensor *dst, const pkb_tensor *src);

#endif
