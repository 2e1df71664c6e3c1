/* SPDX-License-Identifier: Apache-2.0 */
/* 83 vocab_parallel_log_prob_topk_chunked: as 82, in chunks of tokens, which bounds the memory that whole rows take.
 *
 * Parameters   as 82, and chunk_size: positions of a sequence per chunk; 0 for min(S, max(W, floor(S/4)) rounded up to a multiple
 *              of W). A chunk has Ct = B*chunk_size tokens (a multiple of W) of the flattened order n = b*S + s; the last one may
 *              have fewer.
 * Inputs       as 82.
 * Output       logprob (B, S) of f32, as 82: it does not depend on the chunks. Of a chunk's tokens rank r filters the r-th share;
 *              one all-to-all and one all-gather per chunk. A result may join chunks.
 * One rank     the same on the own rows.
 * Arithmetic, check and inputs as 82; the published targets are (19 n + 5 + trial) mod V.
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
