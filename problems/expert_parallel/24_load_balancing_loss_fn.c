/* SPDX-License-Identifier: Apache-2.0 */
/* 24 load_balancing_loss_fn: the auxiliary loss that keeps a router's experts equally busy, averaged over the ranks.
 *
 * Parameters   M: rows of logits per rank (tokens, of all layers). E: experts. k: experts per token. layers: layers of a model
 *              whose rows follow each other. batch: 0, or with a mask the number of sequences, of S = M / (layers * batch)
 *              tokens.
 * Inputs       gate_logits (M, E) of T, different on every rank; where batch > 0 also attention_mask (batch, S) of f32, 1 for a
 *              token and 0 for padding, different on every rank; it holds for every layer.
 * Output       loss, one number of f32 (f64 for T = f64), the same on every rank. R is rounding to T, m[t] the mask of row t (1
 *              without one), n = sum over t of m[t]:
 *                  P[t, e] = R(softmax over e of gate_logits[t])
 *                  F[e] = (sum over the rows t that select e of m[t]) / n, in f32
 *                  Q[e] = R((sum over t of m[t] * P[t, e]) / n)
 *                  L = E * sum over e of F[e] * Q[e],   loss = (sum over the ranks of L) / W.
 *              A row selects the k experts with the largest P, the smaller index first where they are equal. The ranks' losses
 *              are averaged, not their F and Q.
 * One rank     loss = L.
 * Arithmetic   f32 inside (f64 for T = f64 but for F).
 * Check        relative error 1e-2 for bf16, 1e-3 for f16, 1e-5 for f32, 1e-6 for f64 (F is f32): results that do not round P or
 *              Q are accepted.
 * Inputs       gate_logits[t, e] = N(0,1) + c * b[e], b of N(0,1) drawn per rank, c in [0.5, 3), larger from set to set and then
 *              small again, so that losses differ (without preference they are 2 for k = 2, whatever the program); rows whose
 *              choice is not clear (choice.h) are drawn again. Sequences have at least one token, then padding. pkb profile:
 *              N(0,1).
 */
#include "problems/expert_parallel/choice.h"
#include "problems/expert_parallel/routing.h"

static const struct problem_param params[] = {
    {"M", 1024, 64, true, "rows of logits per rank"},
    {"E", 8, 8, true, "experts"},
    {"k", 2, 2, true, "experts per token"},
    {"layers", 1, 1, true, "layers that the rows come from"},
    {"batch", 0, 0, true, "sequences of a layer, with an attention mask; 0: no mask"},
};

enum { LOGITS, MASK };

/* Streams of random numbers. */
enum { STREAM_PREFERENCE = KIT_STREAM, STREAM_STRENGTH, STREAM_LENGTH };

/* Sets until c is small again. */
#define STRENGTHS 5

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    int64_t m = problem_int(s, "M"), experts = problem_int(s, "E"), k = problem_int(s, "k");
    int64_t layers = problem_int(s, "layers"), batch = problem_int(s, "batch"), sequences;
    if (kit_require_least(s, "M", 1, err) < 0 || kit_require_least(s, "layers", 1, err) < 0)
        return -1;
    if (experts < 1 || experts > MOE_MAX_EXPERTS)
        return pkb_error_set(err, "%lld experts: must be 1 to %d", (long long)experts, MOE_MAX_EXPERTS);
    if (k < 1 || k > experts)
        return pkb_error_set(err, "%lld of %lld experts cannot be selected", (long long)k, (long long)experts);
    if (__builtin_mul_overflow(layers, batch > 1 ? batch : 1, &sequences) || m % sequences != 0)
        return pkb_error_set(err, "M = %lld is not divisible by layers * batch", (long long)m);
    return 0;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t m = problem_int(s, "M"), batch = problem_int(s, "batch");
    kit_tensor(&t[LOGITS], "gate_logits", s->dtype, RT_SHAPE(m, problem_int(s, "E")));
    if (batch == 0)
        return 1;
    kit_tensor(&t[MASK], "attention_mask", PKB_F32, RT_SHAPE(batch, m / (problem_int(s, "layers") * batch)));
    return 2;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "loss", kit_accumulate_dtype(s), RT_SCALAR);
    return 1;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

struct logits {
    struct rng noise, preference;
    double strength;
    size_t experts;
};

static double logit_value(const void *arg, size_t i)
{
    const struct logits *l = arg;
    return rng_normal(&l->noise, i) + l->strength * rng_normal(&l->preference, i % l->experts);
}

/* The logits are the scores. */
static void score_row(const void *arg, const pkb_tensor *row, double *scores)
{
    (void)arg;
    dtype_to_f64(row->dtype, scores, row->data, kit_numel(row));
}

static double strength_of_set(const struct problem_setting *s, const struct problem_inputs *set)
{
    struct rng shared = problem_rng_shared(s, set, STREAM_STRENGTH);
    return 0.5 + 2.5 * (set->trial % STRENGTHS + rng_uniform(&shared, 0)) / STRENGTHS;
}

struct mask {
    struct rng rng;
    size_t length;
};

static double mask_value(const void *arg, size_t i)
{
    const struct mask *m = arg;
    int64_t tokens = rng_integer(&m->rng, i / m->length, 1, (int64_t)m->length + 1);
    return (int64_t)(i % m->length) < tokens;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    struct logits logits = {
        .noise = problem_rng(s, set, LOGITS),
        .preference = problem_rng(s, set, STREAM_PREFERENCE),
        .strength = strength_of_set(s, set),
        .experts = (size_t)problem_int(s, "E"),
    };
    struct moe_choice choice = {problem_int(s, "E"), problem_int(s, "k"), score_row, NULL};
    if (s->inputs == PROFILE_PKB)
        kit_fill_normal(s, set, LOGITS);
    else
        moe_fill_clear(&set->in[LOGITS], logit_value, &logits, &choice);
    if (problem_int(s, "batch") > 0) {
        struct mask mask = {problem_rng(s, set, STREAM_LENGTH), (size_t)set->in[MASK].shape[1]};
        kit_fill_with(&set->in[MASK], mask_value, &mask);
    }
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* m (M) of f32: the mask for every layer, or ones. */
static pkb_tensor *row_mask(const struct problem_call *c)
{
    int64_t layers = problem_call_int(c, "layers"), rows = c->in[LOGITS].shape[0];
    pkb_tensor *mask = rt_new(c->rt, PKB_F32, RT_SHAPE(layers, rows / layers));
    rt_fill(c->rt, mask, 1);
    if (problem_call_int(c, "batch") > 0)
        rt_binary(c->rt, RT_MUL, mask, mask, rt_view(c->rt, &c->in[MASK], RT_SHAPE(rows / layers)));
    return rt_view(c->rt, mask, RT_SHAPE(rows));
}

/* F (E) of f32. */
static pkb_tensor *selected_share(const struct problem_call *c, const pkb_tensor *p, const pkb_tensor *mask, const pkb_tensor *n)
{
    int64_t rows = c->in[LOGITS].shape[0], experts = c->in[LOGITS].shape[1], k = problem_call_int(c, "k");
    pkb_tensor *sel = moe_top_k(c, p, rows, experts, k);
    pkb_tensor *counted = rt_new(c->rt, PKB_F32, RT_SHAPE(rows, k));
    pkb_tensor *share = rt_new(c->rt, PKB_F32, RT_SHAPE(experts));
    rt_fill(c->rt, counted, 1);
    rt_binary(c->rt, RT_MUL, counted, counted, rt_view(c->rt, mask, RT_SHAPE(rows, 1)));
    rt_fill(c->rt, share, 0);
    rt_add_rows(c->rt, share, rt_view(c->rt, counted, RT_SHAPE(rows * k)), rt_view(c->rt, sel, RT_SHAPE(rows * k)));
    rt_binary(c->rt, RT_DIV, share, share, n);
    return share;
}

/* Q (E) of T. */
static pkb_tensor *mean_probability(const struct problem_call *c, const pkb_tensor *p, const pkb_tensor *mask,
                                    const pkb_tensor *n)
{
    int64_t rows = c->in[LOGITS].shape[0], experts = c->in[LOGITS].shape[1];
    pkb_tensor *counted = rt_new_like(c->rt, c->setting->dtype, &c->in[LOGITS]);
    pkb_tensor *sum = rt_new(c->rt, kit_accumulate_dtype(c->setting), RT_SHAPE(experts));
    pkb_tensor *mean = rt_new(c->rt, c->setting->dtype, RT_SHAPE(experts));
    rt_binary(c->rt, RT_MUL, counted, p, rt_view(c->rt, mask, RT_SHAPE(rows, 1)));
    rt_reduce_axis(c->rt, RT_SUM, sum, counted, 0);
    rt_binary(c->rt, RT_DIV, mean, sum, n);
    return mean;
}

static void reference(const struct problem_call *c)
{
    const pkb_tensor *logits = &c->in[LOGITS];
    pkb_tensor *p = rt_new_like(c->rt, c->setting->dtype, logits);
    pkb_tensor *n = rt_new(c->rt, PKB_F32, RT_SHAPE(1));
    pkb_tensor *terms = rt_new(c->rt, kit_accumulate_dtype(c->setting), RT_SHAPE(logits->shape[1]));
    pkb_tensor *mask = row_mask(c), *loss = &c->out[0];
    rt_softmax(c->rt, p, logits);
    rt_reduce_axis(c->rt, RT_SUM, n, mask, 0);
    rt_binary(c->rt, RT_MUL, terms, selected_share(c, p, mask, n), mean_probability(c, p, mask, n));
    rt_reduce_axis(c->rt, RT_SUM, loss, terms, 0);
    rt_binary_scalar(c->rt, RT_MUL, loss, loss, (double)logits->shape[1]);
    rt_all_reduce(c->rt, c->world, RT_SUM, loss, loss);
    rt_binary_scalar(c->rt, RT_DIV, loss, loss, c->world->size);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    *check = (struct problem_check){.kind = CHECK_CLOSE, .rtol = s->dtype == PKB_F64 ? 1e-6 : 1e-5};
    if (kit_is_narrow(s))
        check->rtol = s->dtype == PKB_BF16 ? 1e-2 : 1e-3;
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double elements = problem_real(s, "M") * problem_real(s, "E");
    double masked = problem_int(s, "batch") > 0 ? problem_real(s, "M") / problem_real(s, "layers") : 0;
    cost->flops = 8 * elements;
    cost->hbm_bytes = elements * kit_element(s) + 4 * masked + 4;
    cost->link_bytes = 4 * (s->world - 1.0);
}

const struct problem problem_24 = {
    .id = 24,
    .name = "24_load_balancing_loss_fn",
    .family = "expert_parallel",
    .origin =
        "the load balancing loss of Switch Transformer as in Hugging Face Transformers (Mixtral), with VeOmni's average over "
        "data-parallel ranks",
    .summary =
        "Router softmax, counts of the top-2 experts and mean probabilities give each rank an auxiliary loss, which is averaged "
        "over the ranks.",
    .source = "problems/expert_parallel/24_load_balancing_loss_fn.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .check = check,
    .cost = cost,
};
