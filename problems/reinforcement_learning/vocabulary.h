/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens whose logits are divided over the ranks along the vocabulary, and go to one rank each to be filtered: problems 82 to 84.
 *
 * Tokens are numbered n = b*S + s, 0 to Nt - 1. Rank r has the vocabulary entries r*Vl to (r+1)*Vl - 1 of all tokens, Vl = V / W.
 * Of `count` tokens from `first` on (count is a multiple of W), rank r gets count / W whole rows: those of the tokens from
 * first + r * count / W on.
 *
 * Inputs. Logits are N(0,1); the target's is raised by 8, 4, 2, 0 for n mod 4 = 0, 1, 2, 3, so that it is nearly all of the mass,
 * some of it, or filtered. Targets are uniform, the same on all ranks. A row whose filter's decision is not clear (filter.h) is
 * drawn anew. With top-p alone a cut through N(0,1) never is for bf16: there about 12 entries of a row, in some rows the target
 * among them, are raised by log(2.08 V), so that the others are less than 5 % of the mass. The pkb profile raises by 8 always, and
 * targets follow a formula; rows are drawn anew as far as that helps.
 */
#ifndef PKB_PROBLEMS_REINFORCEMENT_LEARNING_VOCABULARY_H
#define PKB_PROBLEMS_REINFORCEMENT_LEARNING_VOCABULARY_H

#include "problems/reinforcement_learning/filter.h"

/* The parameters that the problems share. */
#define VOCABULARY_PARAMS(tiny_s)                                                                                                \
    {"B", 2, 2, true, "sequences"}, {"S", 8, tiny_s, true, "tokens of a sequence, rounded up to a multiple of the ranks"},       \
        {"V", 256, 64, true, "vocabulary over all ranks"}, {"top_k", 10, 5, true, "entries that are kept; 0: all"},              \
    {                                                                                                                            \
        "top_p", 0.9, 0.9, false, "mass that is kept; 1: all"                                                                    \
    }

/* The inputs that they share, first. */
enum { VOCABULARY_LOGITS, VOCABULARY_TARGET, VOCABULARY_INPUTS };

int vocabulary_supports(const struct problem_setting *s, struct pkb_error *err);

/* Positions of a sequence, S rounded up; tokens Nt; entries of a rank Vl. */
int64_t vocabulary_sequence(const struct problem_setting *s);
int64_t vocabulary_tokens(const struct problem_setting *s);
int64_t vocabulary_width(const struct problem_setting *s);

/* For problems with the parameter chunk_size, in positions of a sequence: 0 stands for min(S, max(W, floor(S / 4)) rounded up to
 * a multiple of W). B * chunk_size must be a multiple of W; it is the number of tokens of a chunk. */
int vocabulary_supports_chunks(const struct problem_setting *s, struct pkb_error *err);
int64_t vocabulary_chunk_tokens(const struct problem_setting *s);

/* Describes logits (B, S, Vl) of T and target (B, S) of i64; returns VOCABULARY_INPUTS. */
int vocabulary_inputs(const struct problem_setting *s, struct problem_tensor *t);

/* Fills them. Published targets are (factor * n + offset + trial) mod V. */
struct vocabulary_targets {
    int64_t factor, offset;
};
void vocabulary_init(const struct problem_setting *s, struct problem_inputs *set, struct vocabulary_targets published);

/* The whole rows of this rank's share of `count` tokens from `first` on, (count / W, V) of T, by an all-to-all; and the share of
 * their targets, (count / W, 1). */
pkb_tensor *vocabulary_rows(const struct problem_call *c, int64_t first, int64_t count);
pkb_tensor *vocabulary_own(const struct problem_call *c, const pkb_tensor *per_token, int64_t first, int64_t count);

/* Rows as f32, -infinity where they are not kept. */
pkb_tensor *vocabulary_filtered(const struct problem_call *c, const pkb_tensor *rows, const pkb_tensor *keep);

/* The log-probability of the target of every one of these tokens into out[0] (B, S) of f32, on every rank:
 *     lp = z[target] - m - log(sum over kept v of exp(z[v] - m)),  m = max of the kept z, in f32;  -infinity where it is not
 *     kept. */
void vocabulary_log_probabilities(const struct problem_call *c, int64_t first, int64_t count);

/* That output, how it is compared (1e-5 + 1e-6 |l|; -infinity where the reference has it and nowhere else), and the cost of it
 * for all tokens: of each rank's part of a row only the top_k best need to move. They serve as the problem's own. */
int vocabulary_log_outputs(const struct problem_setting *s, struct problem_tensor *t);
void vocabulary_log_check(const struct problem_setting *s, int output, struct problem_check *check);
void vocabulary_log_cost(const struct problem_setting *s, struct problem_cost *cost);
double vocabulary_candidates(const struct problem_setting *s);

#endif
