/* SPDX-License-Identifier: Apache-2.0 */
/* 25 importance_sampling_loss: log-probabilities of the labels under a rank's own output layer, importance ratios against old
 * ones, and a policy-gradient loss with diagnostics, normalised over the tokens of all ranks.
 *
 * Parameters   M: tokens per rank. N: hidden size. V: vocabulary.
 * Inputs       h (M, N), Wt (V, N) of T, labels (M) of i64 (0 to V-1, or -100: the token does not count), old_logp (M), adv (M)
 *              of T. All differ on every rank: the output layer is not shared.
 * Outputs      loss: F, one number, the same on every rank up to one rounding. token_logp (M), token_loss (M) of T, the rank's
 *              own. metrics (5) of F, the same on every rank: ratio_mean, ratio_min, ratio_max, k3_mean, ce_mean. F is f32 (f64
 *              for T = f64). With R rounding to T, and 0 in place of every value of a token that does not count:
 *                  z[t, v] = R(sum over n of h[t, n] * Wt[v, n])
 *                  token_logp[t] = R(z[t, label] - log sum over v of exp(z[t, v])),  ce = -token_logp
 *                  d[t] = R(token_logp - old_logp), limited to -20 to 20;  ratio[t] = R(exp(d))
 *                  token_loss[t] = -R(ratio * adv);  k3[t] = R(R(ratio - d) - 1)
 *              A mean is: R(sum over the rank's tokens), summed over the ranks in T, divided by the number of tokens of all ranks
 *              that count (1 if none does) in F. Means of token_loss, ratio, k3, ce give pg, ratio_mean, k3_mean, ce_mean.
 *              Minimum and maximum of ratio are taken over the tokens that count (infinity and -infinity if none does).
 *                  surr = R(sum over t of R(R(ratio * adv) * ce)) / number, of the rank alone;  loss = (pg + surr) - surr
 *              in F, which is pg: surr carries gradients in the published program.
 * One rank     the same without the reductions.
 * Arithmetic   f32 accumulation (f64 for T = f64; true f32 for T = f32) and one rounding at each R. A result may leave out
 *              roundings.
 * Check        How far a rounding of z, token_logp and d to T, or none, moves a result, with u the unit roundoff of T:
 *                  token_logp[t]                    eps_t = 5 u + 2 u |token_logp|
 *                  ratio, token_loss                eta = 40 u relative (bf16: 0.16; token_logp, d and ratio are each a unit off)
 *                  k3[t]                            eta (1 + ratio) + 4 u |d|
 *              (and four times the smallest number of T: in f16 exp(-20) is 0).
 *              For f32 and f64, where the order of additions is what differs, eps_t = 168 u (1 + |token_logp|), eta = 1700 u (in
 *              f32 1e-5 and 1e-4). Means of independent errors: root of the sum of squares of these over all tokens plus (W + 2)
 *              u sum |x|, over the number of tokens.
 * Inputs       h is N(0,1), Wt N(0, 1/N): logits are N(0,1). old_logp = -(ln V + 1/2) + N(0, 1/4), adv = N(0,1) + 0.3, so that
 *              ratios are about 0.05 to 20 and the loss does not vanish. 15 % of the labels are -100, in every third trial all of
 *              one rank's (with more than one rank). In every second trial one token's old_logp is 25 higher, so that d reaches
 *              -20. The pkb profile has N(0,1) everywhere and no -100; its ratios are all exp(-20). Sizes for which sums of ce
 *              are infinite in f16 are refused.
 */
#include <math.h>

#include "problems/kit.h"

#define NOT_COUNTED (-100)
#define LARGEST_D 20.0
#define LARGEST_F16 65504.0

static const struct problem_param params[] = {
    {"M", 1024, 24, true, "tokens per rank"},
    {"N", 1024, 32, true, "hidden size"},
    {"V", 32000, 160, true, "vocabulary"},
};

enum { HIDDEN, WEIGHT, LABELS, OLD_LOGP, ADV };
enum { LOSS, TOKEN_LOGP, TOKEN_LOSS, METRICS };
enum { RATIO_MEAN, RATIO_MIN, RATIO_MAX, K3_MEAN, CE_MEAN, METRIC_COUNT };

/* Streams of random numbers apart from the tensors'. */
enum { STREAM_COUNTED = KIT_STREAM };

/* About the sum of ce over the tokens of all ranks. */
static double expected_loss(const struct problem_setting *s)
{
    double of_logits = s->inputs == PROFILE_PKB ? problem_real(s, "N") : 1; /* their variance */
    double ce = of_logits > 1 ? sqrt(2 * of_logits * log(problem_real(s, "V"))) : log(problem_real(s, "V")) + 0.5;
    return problem_real(s, "M") * s->world * ce;
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (kit_require_least(s, "N", 1, err) < 0 || kit_require_least(s, "V", 1, err) < 0)
        return -1;
    if (s->dtype == PKB_F16 && expected_loss(s) > LARGEST_F16)
        return pkb_error_set(err, "the sum of all tokens' losses, about %.3g, is infinite in f16", expected_loss(s));
    return 0;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t m = problem_int(s, "M"), n = problem_int(s, "N");
    kit_tensor(&t[HIDDEN], "h", s->dtype, RT_SHAPE(m, n));
    kit_tensor(&t[WEIGHT], "Wt", s->dtype, RT_SHAPE(problem_int(s, "V"), n));
    kit_tensor(&t[LABELS], "labels", PKB_I64, RT_SHAPE(m));
    kit_tensor(&t[OLD_LOGP], "old_logp", s->dtype, RT_SHAPE(m));
    kit_tensor(&t[ADV], "adv", s->dtype, RT_SHAPE(m));
    return 5;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t m = problem_int(s, "M");
    kit_tensor(&t[LOSS], "loss", kit_accumulate_dtype(s), RT_SCALAR);
    kit_tensor(&t[TOKEN_LOGP], "token_logp", s->dtype, RT_SHAPE(m));
    kit_tensor(&t[TOKEN_LOSS], "token_loss", s->dtype, RT_SHAPE(m));
    kit_tensor(&t[METRICS], "metrics", kit_accumulate_dtype(s), RT_SHAPE(METRIC_COUNT));
    return 4;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

/* mean + deviation * N(0,1), one token further up by `raise`. */
struct shifted {
    struct rng rng;
    double mean, deviation, raise;
    size_t raised;
};

static double shifted_value(const void *arg, size_t i)
{
    const struct shifted *v = arg;
    return v->mean + v->deviation * rng_normal(&v->rng, i) + (i == v->raised ? v->raise : 0);
}

struct labels {
    struct rng label, counted;
    int64_t vocabulary;
    bool none;
};

static double label_value(const void *arg, size_t i)
{
    const struct labels *l = arg;
    bool counted = !l->none && rng_uniform(&l->counted, i) >= 0.15;
    return counted ? (double)rng_integer(&l->label, i, 0, l->vocabulary) : NOT_COUNTED;
}

static void init_hardened(const struct problem_setting *s, struct problem_inputs *set)
{
    int chosen = (int)(set->trial % (uint32_t)s->world);
    double width = problem_real(s, "N"), vocabulary = problem_real(s, "V");
    struct labels labels = {
        .label = problem_rng(s, set, LABELS),
        .counted = problem_rng(s, set, STREAM_COUNTED),
        .vocabulary = (int64_t)vocabulary,
        .none = s->world > 1 && s->rank == chosen && set->trial % 3 == 1,
    };
    struct shifted old = {
        .rng = problem_rng(s, set, OLD_LOGP),
        .mean = -(log(vocabulary) + 0.5),
        .deviation = 0.5,
        .raise = s->rank == chosen && set->trial % 2 == 0 ? 25 : 0,
        .raised = (size_t)(set->trial % problem_int(s, "M")),
    };
    struct shifted adv = {.rng = problem_rng(s, set, ADV), .mean = 0.3, .deviation = 1};
    kit_fill_normal(s, set, HIDDEN);
    kit_fill_scaled_normal(s, set, WEIGHT, 1 / sqrt(width));
    kit_fill_with(&set->in[LABELS], label_value, &labels);
    kit_fill_with(&set->in[OLD_LOGP], shifted_value, &old);
    kit_fill_with(&set->in[ADV], shifted_value, &adv);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    if (s->inputs == PROFILE_HARDENED) {
        init_hardened(s, set);
        return;
    }
    kit_fill_normal(s, set, HIDDEN);
    kit_fill_normal(s, set, WEIGHT);
    kit_fill_integers(s, set, LABELS, 0, problem_int(s, "V") - 1);
    kit_fill_normal(s, set, OLD_LOGP);
    kit_fill_normal(s, set, ADV);
}

/* ---- tokens -------------------------------------------------------------------------------------------------------- */

/* What is known of every token, (M) of T; 0 where the token does not count. */
struct tokens {
    pkb_tensor *counted; /* 1 or 0 */
    pkb_tensor *logp, *d, *ratio, *weighted, *k3;
};

static pkb_tensor *per_token(const struct problem_call *c)
{
    return rt_new(c->rt, c->setting->dtype, RT_SHAPE(c->in[LABELS].shape[0]));
}

/* log sum over v of exp(z[t, v]), (M, 1). */
static pkb_tensor *log_sum_exp(const struct problem_call *c, const pkb_tensor *z)
{
    int wide = kit_accumulate_dtype(c->setting);
    int64_t m = c->in[LABELS].shape[0];
    pkb_tensor *shifted = rt_new_like(c->rt, wide, z);
    pkb_tensor *largest = rt_new(c->rt, wide, RT_SHAPE(m, 1));
    pkb_tensor *sum = rt_new(c->rt, wide, RT_SHAPE(m, 1));
    rt_reduce_axis(c->rt, RT_AMAX, largest, z, 1);
    rt_binary(c->rt, RT_SUB, shifted, z, largest);
    rt_unary(c->rt, RT_EXP, shifted, shifted);
    rt_reduce_axis(c->rt, RT_SUM, sum, shifted, 1);
    rt_unary(c->rt, RT_LOG, sum, sum);
    rt_binary(c->rt, RT_ADD, sum, sum, largest);
    return sum;
}

/* Log-probabilities of the labels; those of tokens that do not count are of label 0. */
static pkb_tensor *label_logp(const struct problem_call *c)
{
    int64_t m = c->in[LABELS].shape[0];
    pkb_tensor *z = rt_new(c->rt, c->setting->dtype, RT_SHAPE(m, c->in[WEIGHT].shape[0]));
    pkb_tensor *label = rt_new(c->rt, PKB_I64, RT_SHAPE(m, 1));
    pkb_tensor *chosen = rt_new(c->rt, c->setting->dtype, RT_SHAPE(m, 1));
    pkb_tensor *logp = per_token(c);
    rt_matmul(c->rt, z, &c->in[HIDDEN], false, &c->in[WEIGHT], true);
    rt_binary_scalar(c->rt, RT_MAX, label, rt_view(c->rt, &c->in[LABELS], RT_SHAPE(m, 1)), 0);
    rt_take_along(c->rt, chosen, z, label);
    rt_binary(c->rt, RT_SUB, rt_view(c->rt, logp, RT_SHAPE(m, 1)), chosen, log_sum_exp(c, z));
    return logp;
}

static struct tokens score_tokens(const struct problem_call *c)
{
    struct tokens t = {per_token(c), label_logp(c), per_token(c), per_token(c), per_token(c), per_token(c)};
    rt_binary_scalar(c->rt, RT_NE, t.counted, &c->in[LABELS], NOT_COUNTED);
    rt_binary(c->rt, RT_MUL, t.logp, t.logp, t.counted);
    rt_binary(c->rt, RT_SUB, t.d, t.logp, &c->in[OLD_LOGP]);
    rt_binary(c->rt, RT_MUL, t.d, t.d, t.counted);
    rt_binary_scalar(c->rt, RT_MAX, t.d, t.d, -LARGEST_D);
    rt_binary_scalar(c->rt, RT_MIN, t.d, t.d, LARGEST_D);
    rt_unary(c->rt, RT_EXP, t.ratio, t.d);
    rt_binary(c->rt, RT_SUB, t.k3, t.ratio, t.d);
    rt_binary_scalar(c->rt, RT_SUB, t.k3, t.k3, 1);
    rt_binary(c->rt, RT_MUL, t.k3, t.k3, t.counted);
    rt_binary(c->rt, RT_MUL, t.ratio, t.ratio, t.counted);
    rt_binary(c->rt, RT_MUL, t.weighted, t.ratio, &c->in[ADV]);
    return t;
}

/* ---- means over all ranks ------------------------------------------------------------------------------------------ */

static pkb_tensor *number(const struct problem_call *c, int dtype)
{
    return rt_new(c->rt, dtype, RT_SHAPE(1));
}

/* How many tokens of all ranks count, at least 1; in F. */
static pkb_tensor *count_tokens(const struct problem_call *c, const struct tokens *t)
{
    pkb_tensor *n = number(c, kit_accumulate_dtype(c->setting));
    rt_reduce_axis(c->rt, RT_SUM, n, rt_view(c->rt, t->counted, RT_SHAPE(1, c->in[LABELS].shape[0])), 1);
    rt_all_reduce(c->rt, c->world, RT_SUM, n, n);
    rt_binary_scalar(c->rt, RT_MAX, n, n, 1);
    return n;
}

/* The rank's sum of values per token, in the given type. */
static pkb_tensor *local_sum(const struct problem_call *c, const pkb_tensor *values, int dtype)
{
    pkb_tensor *sum = number(c, dtype);
    rt_reduce_axis(c->rt, RT_SUM, sum, rt_view(c->rt, values, RT_SHAPE(1, c->in[LABELS].shape[0])), 1);
    return sum;
}

/* sign * mean over the tokens of all ranks into dst, of F. */
static void mean(const struct problem_call *c, pkb_tensor *dst, const pkb_tensor *values, double sign, const pkb_tensor *n)
{
    pkb_tensor *sum = local_sum(c, values, c->setting->dtype);
    rt_binary_scalar(c->rt, RT_MUL, sum, sum, sign);
    rt_all_reduce(c->rt, c->world, RT_SUM, sum, sum);
    rt_binary(c->rt, RT_DIV, dst, sum, n);
}

/* Minimum or maximum of the ratios that count; `none` where there is none. */
static void extreme(const struct problem_call *c, pkb_tensor *dst, enum rt_reduction op, const struct tokens *t, double none)
{
    pkb_tensor *ratio = per_token(c), *absent = per_token(c);
    pkb_tensor *result = number(c, c->setting->dtype);
    rt_fill(c->rt, absent, none);
    rt_where(c->rt, ratio, t->counted, t->ratio, absent);
    rt_reduce_axis(c->rt, op, result, rt_view(c->rt, ratio, RT_SHAPE(1, c->in[LABELS].shape[0])), 1);
    rt_all_reduce(c->rt, c->world, op, result, result);
    rt_copy(c->rt, dst, result);
}

/* (pg + surr) - surr, from pg in *loss. */
static void pass_through_surrogate(const struct problem_call *c, pkb_tensor *loss, const struct tokens *t, const pkb_tensor *n)
{
    pkb_tensor *terms = per_token(c), *ce = per_token(c);
    pkb_tensor *surrogate = number(c, kit_accumulate_dtype(c->setting));
    rt_unary(c->rt, RT_NEG, ce, t->logp);
    rt_binary(c->rt, RT_MUL, terms, t->weighted, ce);
    rt_binary(c->rt, RT_DIV, surrogate, local_sum(c, terms, c->setting->dtype), n);
    rt_binary(c->rt, RT_ADD, loss, loss, surrogate);
    rt_binary(c->rt, RT_SUB, loss, loss, surrogate);
}

static pkb_tensor *metric(const struct problem_call *c, pkb_tensor *metrics, int which)
{
    return rt_rows(c->rt, metrics, which, 1);
}

static void reference(const struct problem_call *c)
{
    pkb_tensor *loss = rt_view(c->rt, &c->out[LOSS], RT_SHAPE(1)), *metrics = &c->out[METRICS];
    struct tokens t = score_tokens(c);
    pkb_tensor *n = count_tokens(c, &t);
    rt_copy(c->rt, &c->out[TOKEN_LOGP], t.logp);
    rt_unary(c->rt, RT_NEG, &c->out[TOKEN_LOSS], t.weighted);
    mean(c, loss, t.weighted, -1, n);
    pass_through_surrogate(c, loss, &t, n);
    mean(c, metric(c, metrics, RATIO_MEAN), t.ratio, 1, n);
    extreme(c, metric(c, metrics, RATIO_MIN), RT_AMIN, &t, INFINITY);
    extreme(c, metric(c, metrics, RATIO_MAX), RT_AMAX, &t, -INFINITY);
    mean(c, metric(c, metrics, K3_MEAN), t.k3, 1, n);
    mean(c, metric(c, metrics, CE_MEAN), t.logp, -1, n);
}

/* ---- check --------------------------------------------------------------------------------------------------------- */

/* Tolerances as above: eps = least + relative * |token_logp|; eta; unit roundoff; the step where that is not relative. */
struct tolerances {
    double least, relative, eta, roundoff, step;
};

static struct tolerances tolerances_of(const struct problem_setting *s)
{
    double u = dtype_roundoff(s->dtype), step = 4 * kit_least_step(s);
    if (kit_is_narrow(s))
        return (struct tolerances){5 * u, 2 * u, 40 * u, u, step};
    return (struct tolerances){168 * u, 168 * u, 1700 * u, u, step};
}

/* a |x| + b, f32. */
static pkb_tensor *magnitude(const struct problem_call *c, const pkb_tensor *x, double a, double b)
{
    pkb_tensor *y = rt_new_like(c->rt, PKB_F32, x);
    rt_unary(c->rt, RT_ABS, y, x);
    rt_binary_scalar(c->rt, RT_MUL, y, y, a);
    rt_binary_scalar(c->rt, RT_ADD, y, y, b);
    return y;
}

/* Tolerance of a mean of values, those of the single values in `each`, which is used up. */
static void mean_tolerance(const struct problem_call *c, pkb_tensor *dst, const struct tokens *t, const pkb_tensor *values,
                           pkb_tensor *each)
{
    double roundings = (c->world->size + 2) * dtype_roundoff(c->setting->dtype);
    rt_binary(c->rt, RT_MUL, each, each, t->counted);
    rt_unary(c->rt, RT_SQUARE, each, each);
    pkb_tensor *squares = local_sum(c, each, PKB_F32);
    pkb_tensor *sum = local_sum(c, magnitude(c, values, roundings, 0), PKB_F32);
    rt_all_reduce(c->rt, c->world, RT_SUM, squares, squares);
    rt_all_reduce(c->rt, c->world, RT_SUM, sum, sum);
    rt_unary(c->rt, RT_SQRT, squares, squares);
    rt_binary(c->rt, RT_ADD, sum, sum, squares);
    rt_binary(c->rt, RT_DIV, dst, sum, count_tokens(c, t));
}

static void bound_metrics(const struct problem_call *c, pkb_tensor *tol, const struct tokens *t, const struct tolerances *e)
{
    pkb_tensor *of_k3 = magnitude(c, t->ratio, e->eta, e->eta);
    rt_binary(c->rt, RT_ADD, of_k3, of_k3, magnitude(c, t->d, 4 * e->roundoff, 0));
    rt_copy(c->rt, tol, magnitude(c, &c->out[METRICS], e->eta, e->step));
    mean_tolerance(c, metric(c, tol, RATIO_MEAN), t, t->ratio, magnitude(c, t->ratio, e->eta, 0));
    mean_tolerance(c, metric(c, tol, K3_MEAN), t, t->k3, of_k3);
    mean_tolerance(c, metric(c, tol, CE_MEAN), t, t->logp, magnitude(c, t->logp, e->relative, e->least));
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    struct tolerances e = tolerances_of(c->setting);
    struct tokens t = score_tokens(c);
    mean_tolerance(c, rt_view(c->rt, tol[LOSS], RT_SHAPE(1)), &t, t.weighted, magnitude(c, t.weighted, e.eta, 0));
    bound_metrics(c, tol[METRICS], &t, &e);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    struct tolerances e = tolerances_of(s);
    *check = (struct problem_check){.kind = CHECK_BOUND};
    if (output == TOKEN_LOGP)
        *check = (struct problem_check){.kind = CHECK_CLOSE, .atol = e.least, .rtol = e.relative};
    if (output == TOKEN_LOSS)
        *check = (struct problem_check){.kind = CHECK_CLOSE, .atol = e.step, .rtol = e.eta};
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double m = problem_real(s, "M"), n = problem_real(s, "N"), v = problem_real(s, "V"), size = kit_element(s);
    cost->flops = 2 * m * n * v + 5 * m * v;
    cost->hbm_bytes = (m * n + v * n) * size + m * (8 + 2 * size) + 2 * m * size + 24;
    cost->link_bytes = 28 * (s->world - 1.0);
}

const struct problem problem_25 = {
    .id = 25,
    .name = "25_importance_sampling_loss",
    .family = "reinforcement_learning",
    .origin = "importance-sampling policy gradient of xorl (Together), in the manner of Tinker, on VeOmni",
    .summary =
        "Log-probabilities of labels under the local output layer, importance ratios against old ones, and a policy-gradient "
        "loss with diagnostics normalised over the tokens of all ranks by seven scalar all-reduces.",
    .source = "problems/reinforcement_learning/25_importance_sampling_loss.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .bound = bound,
    .check = check,
    .cost = cost,
};
