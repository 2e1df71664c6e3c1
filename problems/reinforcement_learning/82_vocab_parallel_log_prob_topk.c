/* SPDX-License-Identifier: Apache-2.0 */
/* 82 vocab_parallel_log_prob_topk: log-probabilities of target tokens after top-k and top-p filtering, from logits that are
 * divided over the ranks along the vocabulary.
 *
 * Parameters   B, S: sequences and their tokens (S is rounded up to a multiple of W), Nt = B*S. V: vocabulary, divided over the
 *              ranks; rank r has the entries r*Vl to (r+1)*Vl - 1, Vl = V / W. top_k: entries of a row that are kept, 0 for all.
 *              top_p: mass that is kept, 1 or more for all.
 * Inputs       logits (B, S, Vl) of T, different on every rank; target (B, S) of i64, 0 to V-1, the same on every rank.
 * Output       logprob (B, S) of f32 (for every T), the same on every rank. For every token, with the row z of all V logits and
 *              the filter of problems/reinforcement_learning/filter.h:
 *                  logprob = z[target] - log(sum over kept v of exp(z[v])), or -infinity if the target is not kept.
 *              An all-to-all brings the rows of Nt/W tokens to each rank, an all-gather the results to all.
 * One rank     the same on the own rows.
 * Arithmetic   T in the filter, as filter.h says; f32 with the maximum subtracted after it.
 * Check        |l - lc| <= 1e-5 + 1e-6 |lc|; -infinity where the reference has it and nowhere else. Inputs leave no doubt what is
 *              kept (filter.h, vocabulary.h).
 * Inputs       problems/reinforcement_learning/vocabulary.h; the published targets are (17 n + 3 + trial) mod V.
 */
#include "problems/reinforcement_learning/vocabulary.h"

static const struct problem_param params[] = {VOCABULARY_PARAMS(8)};

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    vocabulary_init(s, set, (struct vocabulary_targets){17, 3});
}

static void reference(const struct problem_call *c)
{
    vocabulary_log_probabilities(c, 0, vocabulary_tokens(c->setting));
}

const struct problem problem_82 = {
    .id = 82,
    .name = "82_vocab_parallel_log_prob_topk",
    .family = "reinforcement_learning",
    .origin =
        "NeMo-RL: log-probabilities of sampled tokens under top-k and top-p, with tensor-parallel logits, as GRPO needs them",
    .summary =
        "From logits divided over the ranks along the vocabulary: all-to-all to whole rows of some tokens, top-k and top-p, "
        "log-probability of each token's target, all-gather.",
    .source = "problems/reinforcement_learning/82_vocab_parallel_log_prob_topk.c",
    .worlds = "V % W == 0",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = vocabulary_supports,
    .inputs = vocabulary_inputs,
    .outputs = vocabulary_log_outputs,
    .init = init,
    .reference = reference,
    .check = vocabulary_log_check,
    .cost = vocabulary_log_cost,
};
