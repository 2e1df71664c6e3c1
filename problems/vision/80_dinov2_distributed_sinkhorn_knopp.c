/* SPDX-License-Identifier: Apache-2.0 */
/* 80 dinov2_distributed_sinkhorn_knopp: Sinkhorn-Knopp normalisation of a matrix of samples and prototypes whose samples are
 * spread over the ranks.
 *
 * Parameters   B: samples per rank. K: prototypes. temp: temperature. n_iterations: iterations.
 * Inputs       x (B, K) of f32, different on every rank; n_masked (1) of i64, the rank's number of samples.
 * Output       y (B, K) of f32, different on every rank. With sums over samples taken over all ranks:
 *                  q = exp(x / temp),  N = sum over the ranks of n_masked,  q = q / sum of q;
 *                  n_iterations times:  q[b, k] = q[b, k] / sum over b of q[b, k],  q = q / K,
 *                                       q[b, k] = q[b, k] / sum over k of q[b, k],  q = q / N;
 *                  y = q * N.
 *              Rows of y sum to 1. The first normalisation, K and N change nothing but roundings.
 * One rank     the same without all-reduces.
 * Arithmetic   f32 whatever T is.
 * Check        relative error 1e-4; no absolute tolerance, as all of y is about 1/K.
 * Inputs       x = 0.1 N(0,1) + 0.05 u[k] + 0.05 w[k], u common to all ranks and w the rank's own: y spans orders of magnitude,
 *              and sums over one rank's samples are not those over all. n_masked is B, B - 1 or B - 2 (at least 1), by rank and
 *              trial. The pkb profile has 0.01 N(0,1) and B.
 */
#include "problems/kit.h"

static const struct problem_param params[] = {
    {"B", 1024, 24, true, "samples per rank"},
    {"K", 16384, 64, true, "prototypes"},
    {"temp", 0.07, 0.07, false, "temperature"},
    {"n_iterations", 3, 3, true, "iterations"},
};

enum { X, N_MASKED };

/* Streams of random numbers apart from the tensors'. */
enum { STREAM_COMMON = KIT_STREAM, STREAM_OWN };

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    double temp = problem_real(s, "temp");
    if (!(temp >= 0.01 && temp <= 100))
        return pkb_error_set(err, "temp = %g is not between 0.01 and 100", temp);
    return 0;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[X], "x", PKB_F32, RT_SHAPE(problem_int(s, "B"), problem_int(s, "K")));
    kit_tensor(&t[N_MASKED], "n_masked", PKB_I64, RT_SHAPE(1));
    return 2;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "y", PKB_F32, RT_SHAPE(problem_int(s, "B"), problem_int(s, "K")));
    return 1;
}

struct samples {
    struct rng x, common, own; /* streams of noise and of the prototypes' offsets */
    size_t prototypes;
};

static double sample_value(const void *arg, size_t i)
{
    const struct samples *v = arg;
    size_t k = i % v->prototypes;
    return 0.1 * rng_normal(&v->x, i) + 0.05 * rng_normal(&v->common, k) + 0.05 * rng_normal(&v->own, k);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    int64_t rows = problem_int(s, "B"), missing = (s->rank + (int64_t)set->trial) % 3;
    if (s->inputs == PROFILE_PKB) {
        kit_fill_scaled_normal(s, set, X, 0.01);
        kit_fill_constant(&set->in[N_MASKED], (double)rows);
        return;
    }
    struct samples v = {
        .x = problem_rng(s, set, X),
        .common = problem_rng_shared(s, set, STREAM_COMMON),
        .own = problem_rng(s, set, STREAM_OWN),
        .prototypes = (size_t)problem_int(s, "K"),
    };
    kit_fill_with(&set->in[X], sample_value, &v);
    kit_fill_constant(&set->in[N_MASKED], (double)(rows > missing ? rows - missing : 1));
}

/* Number of samples that the ranks say they have, (1, 1). */
static pkb_tensor *count_samples(const struct problem_call *c)
{
    pkb_tensor *n = rt_new(c->rt, PKB_F32, RT_SHAPE(1, 1));
    rt_copy(c->rt, n, &c->in[N_MASKED]);
    rt_all_reduce(c->rt, c->world, RT_SUM, n, n);
    return n;
}

/* exp(x / temp), divided by its sum over all ranks. */
static void start(const struct problem_call *c, pkb_tensor *q)
{
    pkb_tensor *total = rt_new(c->rt, PKB_F32, RT_SCALAR);
    rt_binary_scalar(c->rt, RT_DIV, q, &c->in[X], problem_call_real(c, "temp"));
    rt_unary(c->rt, RT_EXP, q, q);
    rt_reduce_axis(c->rt, RT_SUM, total, q, RT_ALL_AXES);
    rt_all_reduce(c->rt, c->world, RT_SUM, total, total);
    rt_binary(c->rt, RT_DIV, q, q, total);
}

/* Every prototype gets the same mass over the samples of all ranks. */
static void normalise_prototypes(const struct problem_call *c, pkb_tensor *q)
{
    int64_t prototypes = c->in[X].shape[1];
    pkb_tensor *sums = rt_new(c->rt, PKB_F32, RT_SHAPE(1, prototypes));
    rt_reduce_axis(c->rt, RT_SUM, sums, q, 0);
    rt_all_reduce(c->rt, c->world, RT_SUM, sums, sums);
    rt_binary(c->rt, RT_DIV, q, q, sums);
    rt_binary_scalar(c->rt, RT_DIV, q, q, (double)prototypes);
}

/* Every sample gets the same mass over the prototypes. */
static void normalise_samples(const struct problem_call *c, pkb_tensor *q, const pkb_tensor *n)
{
    pkb_tensor *sums = rt_new(c->rt, PKB_F32, RT_SHAPE(c->in[X].shape[0], 1));
    rt_reduce_axis(c->rt, RT_SUM, sums, q, 1);
    rt_binary(c->rt, RT_DIV, q, q, sums);
    rt_binary(c->rt, RT_DIV, q, q, n);
}

static void reference(const struct problem_call *c)
{
    int64_t iterations = problem_call_int(c, "n_iterations");
    pkb_tensor *q = &c->out[0];
    pkb_tensor *n = count_samples(c);
    start(c, q);
    for (int64_t i = 0; i < iterations; i++) {
        normalise_prototypes(c, q);
        normalise_samples(c, q, n);
    }
    rt_binary(c->rt, RT_MUL, q, q, n);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)s;
    (void)output;
    *check = (struct problem_check){.kind = CHECK_CLOSE, .rtol = 1e-4};
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double k = problem_real(s, "K"), elements = problem_real(s, "B") * k, n = problem_real(s, "n_iterations");
    cost->flops = elements * (2 + 4 * n);
    cost->hbm_bytes = 4 * elements * (n + 2);
    cost->link_bytes = n * 2 * 4 * k * (s->world - 1.0) / s->world;
}

const struct problem problem_80 = {
    .id = 80,
    .name = "80_dinov2_distributed_sinkhorn_knopp",
    .family = "vision",
    .origin = "DINOv2 training: centring of the teacher's output for the loss of image patches",
    .summary = "Normalise a matrix of samples and prototypes in turn over its columns, with all-reduces over the ranks that the "
               "samples are spread over, and over its rows.",
    .source = "problems/vision/80_dinov2_distributed_sinkhorn_knopp.c",
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
