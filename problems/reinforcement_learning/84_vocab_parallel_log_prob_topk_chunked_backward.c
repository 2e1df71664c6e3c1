/* SPDX-License-Identifier: Apache-2.0 */
/* 84 vocab_parallel_log_prob_topk_chunked_backward: the gradient of 83 with respect to the logits.
 *
 * Parameters   B, S: sequences and their tokens (S is rounded up to a multiple of W), Nt = B*S. V: vocabulary, divided over the
 *              ranks; rank r has the entries r*Vl to (r+1)*Vl - 1, Vl = V / W. top_k: entries of a row that are kept, 0 for all.
 *              top_p: mass that is kept, 1 or more for all. chunk_size: positions of a sequence per chunk; 0 for min(S, max(W,
 *              floor(S/4)) rounded up to a multiple of W). A chunk has B*chunk_size tokens (a multiple of W) of the flattened
 *              order n = b*S + s; the last one may have fewer.
 * Inputs       logits (B, S, Vl) of T, different on every rank; target (B, S) of i64, 0 to V-1, and grad_out (B, S) of bf16 (for
 *              every T), the same on every rank.
 * Output       grad_logits (B, S, Vl) of f32 (for every T), the rank's part of the vocabulary for all tokens. With p the softmax
 *              over the kept entries of the row (filter.h),
 *                  grad_logits[n, v] = ((v is the target) - p[v]) * grad_out[n] for kept v, 0 for others.
 *              A target that is not kept has gradient 0, and the kept entries have -p * grad_out. Per chunk of tokens, an
 *              all-to-all brings whole rows to the ranks, another one their gradients back. It does not depend on the chunks.
 * One rank     the same on the own rows.
 * Arithmetic   T in the filter, f32 after it.
 * Check        |g - gc| <= 1e-5. Inputs leave no doubt what is kept.
 * Inputs       problems/reinforcement_learning/vocabulary.h; grad_out is N(0,1). In the pkb profile targets are (19 n + 5 + trial)
 *              mod V and grad_out[n] = -1 + 2 n/(Nt-1).
 */
#include "problems/axes.h"
#include "problems/reinforcement_learning/vocabulary.h"

static const struct problem_param params[] = {
    VOCABULARY_PARAMS(24),
    {"chunk_size", 0, 16, true, "positions of a sequence per chunk; 0: a quarter of S, at least W"},
};

enum { GRAD_OUT = VOCABULARY_INPUTS };

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int n = vocabulary_inputs(s, t);
    kit_tensor(&t[GRAD_OUT], "grad_out", PKB_BF16, RT_SHAPE(problem_int(s, "B"), vocabulary_sequence(s)));
    return n + 1;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "grad_logits", PKB_F32, RT_SHAPE(problem_int(s, "B"), vocabulary_sequence(s), vocabulary_width(s)));
    return 1;
}

static double ramp(const void *arg, size_t n)
{
    double tokens = *(const double *)arg;
    return tokens > 1 ? -1 + 2 * (double)n / (tokens - 1) : -1;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    struct problem_setting shared = kit_as_rank(s, 0);
    double tokens = (double)vocabulary_tokens(s);
    vocabulary_init(s, set, (struct vocabulary_targets){19, 5});
    if (s->inputs == PROFILE_PKB)
        kit_fill_with(&set->in[GRAD_OUT], ramp, &tokens);
    else
        kit_fill_normal(&shared, set, GRAD_OUT);
}

/* 1 where the entry of the row is the target, else 0. */
static pkb_tensor *is_target(const struct problem_call *c, const pkb_tensor *rows, const pkb_tensor *target)
{
    pkb_tensor *flags = rt_new_like(c->rt, PKB_F32, rows);
    pkb_tensor *entry = rt_new(c->rt, PKB_I64, RT_SHAPE(1, problem_call_int(c, "V")));
    rt_iota(c->rt, entry, 0, 1);
    rt_binary(c->rt, RT_EQ, flags, entry, target);
    return flags;
}

static void chunk_gradients(const struct problem_call *c, int64_t first, int64_t count)
{
    int64_t tokens = vocabulary_tokens(c->setting), width = vocabulary_width(c->setting);
    pkb_tensor *all = rt_view(c->rt, &c->out[0], RT_SHAPE(tokens, width));
    pkb_tensor *rows = vocabulary_rows(c, first, count);
    pkb_tensor *keep = filter_rows(c, rows);
    pkb_tensor *p = vocabulary_filtered(c, rows, keep);
    pkb_tensor *gradient = is_target(c, rows, vocabulary_own(c, &c->in[VOCABULARY_TARGET], first, count));
    rt_softmax(c->rt, p, p);
    rt_binary(c->rt, RT_SUB, gradient, gradient, p);
    rt_binary(c->rt, RT_MUL, gradient, gradient, vocabulary_own(c, &c->in[GRAD_OUT], first, count));
    rt_binary(c->rt, RT_MUL, gradient, gradient, keep);
    axes_exchange(c->rt, c->world, rt_rows(c->rt, all, first, count), gradient, 1, 0);
}

static void reference(const struct problem_call *c)
{
    int64_t tokens = vocabulary_tokens(c->setting), chunk = vocabulary_chunk_tokens(c->setting);
    for (int64_t first = 0; first < tokens; first += chunk)
        chunk_gradients(c, first, tokens - first < chunk ? tokens - first : chunk);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)s;
    (void)output;
    *check = (struct problem_check){.kind = CHECK_CLOSE, .atol = 1e-5};
}

/* Candidates go to the token's rank; a threshold, ties, maximum and sum come back, and each rank forms its own gradient. */
static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double tokens = (double)vocabulary_tokens(s), width = (double)vocabulary_width(s), size = kit_element(s);
    double others = (s->world - 1.0) / s->world;
    cost->flops = 8 * tokens * width;
    cost->hbm_bytes = size * tokens * width + 4 * tokens * width + 10 * tokens;
    cost->link_bytes = (size * vocabulary_candidates(s) + 16) * tokens * others;
}

const struct problem problem_84 = {
    .id = 84,
    .name = "84_vocab_parallel_log_prob_topk_chunked_backward",
    .family = "reinforcement_learning",
    .origin = "NeMo-RL: backward pass of chunked log-probabilities under top-k and top-p with tensor-parallel logits",
    .summary =
        "Gradient of the targets' log-probabilities under top-k and top-p with respect to logits divided over the ranks: in "
        "chunks of tokens, all-to-all to whole rows, filter and softmax, all-to-all back.",
    .source = "problems/reinforcement_learning/84_vocab_parallel_log_prob_topk_chunked_backward.c",
    .worlds = "V % W == 0 and B*chunk_size % W == 0",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = vocabulary_supports_chunks,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .check = check,
    .cost = cost,
};
