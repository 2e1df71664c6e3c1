/* SPDX-License-Identifier: Apache-2.0 */
/* Rows whose number depends on the data: steps that several references take. Rows are entries of the leading dimension. Positions,
 * counts and flags are i64. As the runtime's operations, these do nothing after a failure; those that return numbers of rows
 * to the host wait.
 */
#ifndef PKB_PROBLEMS_ROWS_H
#define PKB_PROBLEMS_ROWS_H

#include "problems/kit.h"

/* A tensor of `count` rows of the form that those of `like` have. */
pkb_tensor *rows_like(const struct problem_call *c, const pkb_tensor *like, int64_t count);

/* 0, 1, ..., n-1. */
pkb_tensor *rows_positions(const struct problem_call *c, int64_t n);

/* The rows at the positions in a 1-D index. */
pkb_tensor *rows_take(const struct problem_call *c, const pkb_tensor *rows, const pkb_tensor *index);

/* Copies rows to the front of an output (its number) that has room for more, and their number into the output that counts them. */
void rows_put(const struct problem_call *c, int output, const pkb_tensor *rows);
void rows_put_counted(const struct problem_call *c, int output, const pkb_tensor *rows, int counter);

/* Rows of a tensor on the host; 0 for NULL. */
int64_t rows_count(const pkb_tensor *t);

/* Waits: sum of an integer tensor. */
int64_t rows_total(const struct problem_call *c, const pkb_tensor *counts);

/* The positions, ascending, at which 1-D flags are not 0. Waits. */
pkb_tensor *rows_where(const struct problem_call *c, const pkb_tensor *flags);

/* 1 where a 1-D key is the first of its value, else 0. */
pkb_tensor *rows_first(const struct problem_call *c, const pkb_tensor *keys);

/* Lists that lie one after the other: list j has lengths[j] entries. Where each begins: the sums of the lengths before it. */
pkb_tensor *rows_starts(const struct problem_call *c, const pkb_tensor *lengths);

/* The concatenation of lists that lie anywhere in a tensor of rows: list j is starts[j], starts[j]+1, ... */
struct rows_lists {
    pkb_tensor *list;     /* which list an entry of the concatenation is of */
    pkb_tensor *position; /* where it is */
};

/* Waits. */
struct rows_lists rows_lists(const struct problem_call *c, const pkb_tensor *starts, const pkb_tensor *lengths);

/* a, then b; only b where a is NULL. */
pkb_tensor *rows_append(const struct problem_call *c, const pkb_tensor *a, const pkb_tensor *b);

/* Numbers of rows that go to every rank and come from it. */
struct rows_exchange {
    int64_t sent[PROBLEM_MAX_WORLD], received[PROBLEM_MAX_WORLD];
    int64_t n_sent, n_received; /* sums */
};

/* From this rank's counts (W) of i64: the ranks tell each other. Waits. */
void rows_agree(const struct problem_call *c, struct rows_exchange *x, const pkb_tensor *counts);

/* Rows in the order of their destinations go there: what arrived, by ascending source. rows_return is the way back, an answer for
 * every row that arrived. */
pkb_tensor *rows_send(const struct problem_call *c, const struct rows_exchange *x, const pkb_tensor *rows);
pkb_tensor *rows_return(const struct problem_call *c, const struct rows_exchange *x, const pkb_tensor *answers);

/* The rows of all ranks, rank by rank, into dst: counts[q] of rank q (on the host; its own are the first of src). One broadcast per rank
 * that has rows. */
void rows_gather(const struct problem_call *c, pkb_tensor *dst, const int64_t *counts, const pkb_tensor *src);

#endif
