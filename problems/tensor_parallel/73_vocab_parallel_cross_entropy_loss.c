/* SPDX-License-Identifier: Apache-2.0 */
/* 73 vocab_parallel_cross_entropy_loss: cross entropy of every token with the vocabulary divided over the ranks.
 *
 * Parameters   batch, seq: tokens. V: vocabulary, divided over the ranks; rank r has the ids r*Vp to (r+1)*Vp - 1, Vp = V / W.
 * Inputs       logits (batch, seq, Vp) of T, different on every rank; target (batch, seq) of i64, the same on every rank.
 * Output       loss (batch, seq) of T, the same on every rank. For every token, over the whole vocabulary,
 *                  loss = log(sum over v of exp(logit[v])) - logit[target],
 *              as m = max over v of logit[v], x = logit - m, loss = log(sum over v of exp(x[v])) - x[target]: all-reduces of m
 *              (max), of x[target] (0 on ranks that do not have it) and of the sum. The logits must not be changed.
 * One rank     the usual cross entropy.
 * Arithmetic   f32 (f64 for T = f64), one rounding to T at the end. A result may round x, exp(x) and the sums to T, as the
 *              published program does.
 * Check        with u the unit roundoff of T: bf16, f16 |l - lc| <= 16 * u + 2.56 * u * |lc| (in bf16 about 0.06 + 0.01 |lc|),
 *              which is what roundings to T at every step amount to; f32, f64 |l - lc| <= 168 * u + 4 * u * |lc|
 *              (in f32 1e-5 + ...).
 * Inputs       logits N(0, 3^2) plus an offset per token and rank in (-5, 5), so that other ranks dominate maximum and sum of
 *              other tokens; for a sixth of the pairs of token and rank the offset is -200: a maximum that is not that of all
 *              ranks overflows or vanishes. Targets uniform. The pkb profile has N(0,1) and (13i + 7 + trial) mod V for token i.
 */
#include "problems/kit.h"

static const struct problem_param params[] = {
    {"batch", 8, 2, true, "sequences"},
    {"seq", 1024, 12, true, "tokens of a sequence"},
    {"V", 512, 64, true, "vocabulary over all ranks"},
};

enum { LOGITS, TARGET };

/* Streams of random numbers apart from the tensors'. */
enum { STREAM_OFFSET = KIT_STREAM };

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (kit_require_least(s, "V", 1, err) < 0)
        return -1;
    return kit_require_divisible(s, "V", err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t batch = problem_int(s, "batch"), seq = problem_int(s, "seq");
    kit_tensor(&t[LOGITS], "logits", s->dtype, RT_SHAPE(batch, seq, problem_int(s, "V") / s->world));
    kit_tensor(&t[TARGET], "target", PKB_I64, RT_SHAPE(batch, seq));
    return 2;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "loss", s->dtype, RT_SHAPE(problem_int(s, "batch"), problem_int(s, "seq")));
    return 1;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

struct logits {
    struct rng own, offset;
    size_t width;
};

static double logit_value(const void *arg, size_t i)
{
    const struct logits *l = arg;
    size_t token = i / l->width;
    bool far = rng_integer(&l->offset, 2 * token, 0, 6) == 0;
    return 3 * rng_normal(&l->own, i) + (far ? -200 : 10 * rng_uniform(&l->offset, 2 * token + 1) - 5);
}

struct published_targets {
    size_t first, vocabulary;
};

static double published_target(const void *arg, size_t i)
{
    const struct published_targets *t = arg;
    return (double)((13 * i + t->first) % t->vocabulary);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    int64_t vocabulary = problem_int(s, "V");
    struct problem_setting shared = kit_as_rank(s, 0);
    if (s->inputs == PROFILE_PKB) {
        struct published_targets t = {7 + (size_t)set->trial, (size_t)vocabulary};
        kit_fill_normal(s, set, LOGITS);
        kit_fill_with(&set->in[TARGET], published_target, &t);
        return;
    }
    struct logits l = {problem_rng(s, set, LOGITS), problem_rng(s, set, STREAM_OFFSET), (size_t)vocabulary / (size_t)s->world};
    kit_fill_with(&set->in[LOGITS], logit_value, &l);
    kit_fill_integers(&shared, set, TARGET, 0, vocabulary - 1);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* The logits of a token minus their maximum over all ranks, (tokens, Vp). */
static pkb_tensor *shifted_logits(const struct problem_call *c, int64_t tokens, int64_t width)
{
    int dtype = kit_accumulate_dtype(c->setting);
    pkb_tensor *x = rt_new(c->rt, dtype, RT_SHAPE(tokens, width));
    pkb_tensor *largest = rt_new(c->rt, dtype, RT_SHAPE(tokens, 1));
    rt_copy(c->rt, x, &c->in[LOGITS]);
    rt_reduce_axis(c->rt, RT_AMAX, largest, x, 1);
    rt_all_reduce(c->rt, c->world, RT_AMAX, largest, largest);
    rt_binary(c->rt, RT_SUB, x, x, largest);
    return x;
}

/* x[target], from the rank that has it, (tokens, 1). */
static pkb_tensor *target_entries(const struct problem_call *c, const pkb_tensor *x, int64_t tokens, int64_t width)
{
    pkb_tensor *local = rt_new(c->rt, PKB_I64, RT_SHAPE(tokens, 1));
    pkb_tensor *nearest = rt_new(c->rt, PKB_I64, RT_SHAPE(tokens, 1));
    pkb_tensor *is_here = rt_new(c->rt, PKB_I64, RT_SHAPE(tokens, 1));
    pkb_tensor *entry = rt_new(c->rt, kit_accumulate_dtype(c->setting), RT_SHAPE(tokens, 1));
    rt_binary_scalar(c->rt, RT_SUB, local, rt_view(c->rt, &c->in[TARGET], RT_SHAPE(tokens, 1)), (double)(c->world->rank * width));
    rt_binary_scalar(c->rt, RT_MAX, nearest, local, 0);
    rt_binary_scalar(c->rt, RT_MIN, nearest, nearest, (double)(width - 1));
    rt_binary(c->rt, RT_EQ, is_here, nearest, local);
    rt_take_along(c->rt, entry, x, nearest);
    rt_binary(c->rt, RT_MUL, entry, entry, is_here);
    rt_all_reduce(c->rt, c->world, RT_SUM, entry, entry);
    return entry;
}

/* log of the sum over all ranks of exp(x), (tokens, 1). */
static pkb_tensor *log_sum_exp(const struct problem_call *c, pkb_tensor *x, int64_t tokens)
{
    pkb_tensor *sum = rt_new(c->rt, kit_accumulate_dtype(c->setting), RT_SHAPE(tokens, 1));
    rt_unary(c->rt, RT_EXP, x, x);
    rt_reduce_axis(c->rt, RT_SUM, sum, x, 1);
    rt_all_reduce(c->rt, c->world, RT_SUM, sum, sum);
    rt_unary(c->rt, RT_LOG, sum, sum);
    return sum;
}

static void reference(const struct problem_call *c)
{
    const pkb_tensor *logits = &c->in[LOGITS];
    int64_t tokens = logits->shape[0] * logits->shape[1], width = logits->shape[2];
    pkb_tensor *x = shifted_logits(c, tokens, width);
    pkb_tensor *entry = target_entries(c, x, tokens, width);
    pkb_tensor *loss = rt_view(c->rt, &c->out[0], RT_SHAPE(tokens, 1));
    rt_binary(c->rt, RT_SUB, loss, log_sum_exp(c, x, tokens), entry);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    double u = dtype_roundoff(s->dtype);
    if (kit_is_narrow(s))
        *check = (struct problem_check){.kind = CHECK_CLOSE, .atol = 16 * u, .rtol = 2.56 * u};
    else
        *check = (struct problem_check){.kind = CHECK_CLOSE, .atol = 168 * u, .rtol = 4 * u};
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double tokens = problem_real(s, "batch") * problem_real(s, "seq"), width = problem_real(s, "V") / s->world;
    double size = kit_element(s);
    cost->flops = 4 * tokens * width;
    cost->hbm_bytes = tokens * width * size + 8 * tokens + tokens * size;
    cost->link_bytes = (12 + size) * tokens * (s->world - 1.0) / s->world;
}

const struct problem problem_73 = {
    .id = 73,
    .name = "73_vocab_parallel_cross_entropy_loss",
    .family = "tensor_parallel",
    .origin = "vocabulary-parallel cross entropy of Megatron-LM, forward",
    .summary =
        "Cross entropy per token of logits whose vocabulary is divided over the ranks, by all-reduces of the maximum, of the "
        "target's logit and of the sum of exponentials.",
    .source = "problems/tensor_parallel/73_vocab_parallel_cross_entropy_loss.c",
    .worlds = "V % W == 0",
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
