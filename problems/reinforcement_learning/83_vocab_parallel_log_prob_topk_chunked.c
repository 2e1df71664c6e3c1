/* SPDX-License-Identifier: Apache-2.0 */
/* 83 vocab_parallel_log_prob_topk_chunked: as 82, in chunks of tokens, which bounds the memory that whole rows take.
 *
 * Parameters   B, S: sequences and their tokens (S is rounded up to a multiple of W), Nt = B*S. V: vocabulary, divided over the
 *              ranks; rank r has the entries r*Vl to (r+1)*Vl - 1, Vl = V / W. top_k: entries of a row that are kept, 0 for all.
 *              top_p: mass that is kept, 1 or more for all. chunk_size: positions of a sequence per chunk; 0 for min(S, max(W,
 *              floor(S/4)) rounded up to a multiple of W). A chunk has Ct = B*chunk_size tokens (a multiple of W) of the
 *              flattened order n = b*S + s; the last one may have fewer.
 * Inputs       logits (B, S, Vl) of T, different on every rank; target (B, S) of i64, 0 to V-1, the same on every rank.
 * Output       logprob (B, S) of f32 (for every T), the same on every rank. For every token, with the row z of all V logits and
 *              the filter of problems/reinforcement_learning/filter.h:
 *                  logprob = z[target] - log(sum over kept v of exp(z[v])), or -infinity if the target is not kept.
 *              It does not depend on the chunks. Of a chunk's tokens rank r filters the r-th share; one all-to-all and one
 *              all-gather per chunk. A result may join chunks.
 * One rank     the same on the own rows.
 * Arithmetic   T in the filter, as filter.h says; f32 with the maximum subtracted after it.
 * Check        |l - lc| <= 1e-5 + 1e-6 |lc|; -infinity where the reference has it and nowhere else. Inputs leave no doubt what is
 *              kept (filter.h, vocabulary.h).
 * Inputs       problems/reinforcement_learning/vocabulary.h; the published targets are (19 n + 5 + trial) mod V.
 */
#include "problems/reinforcement_learning/vocabulary.h"

static const struct problem_param params[] = {
    VOCABULARY_PARAMS(24),
    {"chunk_size", 0, 16, true, "positions of a sequence per chunk; 0: a quarter of S, at least W"},
};

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    vocabulary_init(s, set, (struct vocabulary_targets){19, 5});
}

static void reference(const struct problem_call *c)
{
    int64_t tokens = vocabulary_tokens(c->setting), chunk = vocabulary_chunk_tokens(c->setting);
    for (int64_t first = 0; first < tokens; first += chunk)
        vocabulary_log_probabilities(c, first, tokens - first < chunk ? tokens - first : chunk);
}

const struct problem problem_83 = {
    .id = 83,
    .name = "83_vocab_parallel_log_prob_topk_chunked",
    .family = "reinforcement_learning",
    .origin = "NeMo-RL: chunked log-probabilities under top-k and top-p with tensor-parallel logits",
    .summary =
        "As 82, log-probabilities of targets under top-k and top-p from logits divided over the ranks, in chunks of tokens with "
        "one all-to-all and one all-gather each.",
    .source = "problems/reinforcement_learning/83_vocab_parallel_log_prob_topk_chunked.c",
    .worlds = "V % W == 0 and B*chunk_size % W == 0",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = vocabulary_supports_chunks,
    .inputs = vocabulary_inputs,
    .outputs = vocabulary_log_outputs,
    .init = init,
    .reference = reference,
    .check = vocabulary_log_check,
    .cost = vocabulary_log_cost,
};
