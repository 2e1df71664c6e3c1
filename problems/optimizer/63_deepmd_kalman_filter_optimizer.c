/* SPDX-License-Identifier: Apache-2.0 */
/* 63 deepmd_kalman_filter_optimizer: one step of a Kalman filter as optimizer, block by block.
 *
 * Parameters   nb: blocks of a rank. n: weights of a block. lambda: forgetting factor. nue: its schedule.
 * Inputs       H (nb, n, 1), derivatives; error, a scalar; weights (nb, n, 1); P (nb, n, n), covariances. All f64 whatever T
 *              is, all different on every rank, error too.
 * Outputs      weights_all (W*nb, n, 1), the new weights of all ranks in rank order, the same on every rank; P_new (nb, n, n),
 *              the own blocks'; lambda_next, a scalar. All f64. With k_i = P_i H_i:
 *                  t = sum over the ranks, over their blocks i, of ( lambda + H_i^T k_i ),   a = 1 / t
 *                  weights_i + (a * error) * k_i,   P_new_i = (1/lambda) * (P_i - a * k_i k_i^T)
 *                  lambda_next = nue * lambda + 1 - nue.
 *              The inputs stay as they are. All ranks have blocks of one size, so no sizes are exchanged.
 * One rank     the same without communication.
 * Arithmetic   f64 in any order.
 * Check        |difference| <= 1e-10 + 1e-12 * |ref|, far below what a step changes.
 * Inputs       H = 0.3 * N(0,1), weights N(0,1), error 0.5 to 2 with either sign; P is the identity plus a symmetric matrix of
 *              N(0,1) / (4 sqrt(n)), whose eigenvalues are within -1/2 .. 1/2; lambda in (0.9, 0.99), nue in (0.99, 0.999), new
 *              in every trial. The pkb profile has H = 0.01 * N(0,1), error N(0,1), P the identity and the parameters.
 */
#include <math.h>

#include "problems/kit.h"

static const struct problem_param params[] = {
    {"nb", 8, 3, true, "blocks of a rank"},
    {"n", 1024, 32, true, "weights of a block"},
    {"lambda", 0.98, 0.98, false, "forgetting factor; drawn anew in every trial but in the pkb profile"},
    {"nue", 0.9987, 0.9987, false, "schedule of the forgetting factor; drawn likewise"},
};

enum { PARAM_NB, PARAM_N, PARAM_LAMBDA, PARAM_NUE };
enum { H, ERROR, WEIGHTS, P };
enum { WEIGHTS_ALL, P_NEW, LAMBDA_NEXT };

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    double lambda = problem_real(s, "lambda");
    if (!(lambda > 0 && lambda <= 1))
        return pkb_error_set(err, "lambda = %g is not in (0, 1]", lambda);
    return kit_require_least(s, "n", 1, err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t blocks = problem_int(s, "nb"), n = problem_int(s, "n");
    kit_tensor(&t[H], "H", PKB_F64, RT_SHAPE(blocks, n, 1));
    kit_tensor(&t[ERROR], "error", PKB_F64, RT_SCALAR);
    kit_tensor(&t[WEIGHTS], "weights", PKB_F64, RT_SHAPE(blocks, n, 1));
    kit_tensor(&t[P], "P", PKB_F64, RT_SHAPE(blocks, n, n));
    return 4;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t blocks = problem_int(s, "nb"), n = problem_int(s, "n");
    kit_tensor(&t[WEIGHTS_ALL], "weights_all", PKB_F64, RT_SHAPE(s->world * blocks, n, 1));
    kit_tensor(&t[P_NEW], "P_new", PKB_F64, RT_SHAPE(blocks, n, n));
    kit_tensor(&t[LAMBDA_NEXT], "lambda_next", PKB_F64, RT_SCALAR);
    return 3;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

struct covariance {
    struct rng rng;
    size_t n;
    double scale; /* of what is added to the identity */
};

/* Both elements of a pair across the diagonal take the number of the upper one. */
static double covariance_value(const void *arg, size_t i)
{
    const struct covariance *v = arg;
    size_t block = i / (v->n * v->n), row = i / v->n % v->n, column = i % v->n;
    size_t upper = row < column ? row * v->n + column : column * v->n + row;
    double added = v->scale > 0 ? v->scale * rng_normal(&v->rng, block * v->n * v->n + upper) : 0;
    return (row == column) + added;
}

static void init_scalars(const struct problem_setting *s, struct problem_inputs *set)
{
    struct rng own = problem_rng(s, set, ERROR), shared = problem_rng_shared(s, set, KIT_STREAM);
    double sign = rng_integer(&own, 1, 0, 2) ? 1 : -1;
    if (s->inputs == PROFILE_PKB) {
        kit_fill_normal(s, set, ERROR);
        return;
    }
    kit_fill_constant(&set->in[ERROR], sign * (0.5 + 1.5 * rng_uniform(&own, 0)));
    set->params[PARAM_LAMBDA] = 0.9 + 0.09 * rng_uniform(&shared, 0);
    set->params[PARAM_NUE] = 0.99 + 0.009 * rng_uniform(&shared, 1);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    bool hardened = s->inputs == PROFILE_HARDENED;
    struct covariance v = {.rng = problem_rng(s, set, P), .n = (size_t)problem_int(s, "n")};
    v.scale = hardened ? 0.25 / sqrt((double)v.n) : 0;
    init_scalars(s, set);
    kit_fill_scaled_normal(s, set, H, hardened ? 0.3 : 0.01);
    kit_fill_normal(s, set, WEIGHTS);
    kit_fill_with(&set->in[P], covariance_value, &v);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* a = 1 / t from the blocks' k. */
static pkb_tensor *innovation(const struct problem_call *c, const pkb_tensor *k)
{
    pkb_tensor *products = rt_new_like(c->rt, PKB_F64, &c->in[H]);
    pkb_tensor *t = rt_new(c->rt, PKB_F64, RT_SCALAR), *a = rt_new(c->rt, PKB_F64, RT_SCALAR);
    rt_binary(c->rt, RT_MUL, products, &c->in[H], k);
    rt_reduce_axis(c->rt, RT_SUM, t, products, RT_ALL_AXES);
    rt_binary_scalar(c->rt, RT_ADD, t, t, (double)c->in[H].shape[0] * c->params[PARAM_LAMBDA]);
    rt_all_reduce(c->rt, c->world, RT_SUM, t, t);
    rt_fill(c->rt, a, 1);
    rt_binary(c->rt, RT_DIV, a, a, t);
    return a;
}

static void update_weights(const struct problem_call *c, const pkb_tensor *a, const pkb_tensor *k)
{
    pkb_tensor *rate = rt_new(c->rt, PKB_F64, RT_SCALAR), *updated = rt_new_like(c->rt, PKB_F64, &c->in[WEIGHTS]);
    rt_binary(c->rt, RT_MUL, rate, a, &c->in[ERROR]);
    rt_binary(c->rt, RT_MUL, updated, k, rate);
    rt_binary(c->rt, RT_ADD, updated, updated, &c->in[WEIGHTS]);
    rt_all_gather(c->rt, c->world, &c->out[WEIGHTS_ALL], updated);
}

static void update_covariances(const struct problem_call *c, const pkb_tensor *a, const pkb_tensor *k)
{
    pkb_tensor *change = rt_new_like(c->rt, PKB_F64, &c->in[P]), *updated = &c->out[P_NEW];
    rt_matmul(c->rt, change, k, false, k, true);
    rt_binary(c->rt, RT_MUL, change, change, a);
    rt_binary(c->rt, RT_SUB, updated, &c->in[P], change);
    rt_binary_scalar(c->rt, RT_MUL, updated, updated, 1 / c->params[PARAM_LAMBDA]);
}

static void reference(const struct problem_call *c)
{
    double lambda = c->params[PARAM_LAMBDA], nue = c->params[PARAM_NUE];
    pkb_tensor *k = rt_new_like(c->rt, PKB_F64, &c->in[H]);
    rt_matmul(c->rt, k, &c->in[P], false, &c->in[H], false);
    pkb_tensor *a = innovation(c, k);
    update_weights(c, a, k);
    update_covariances(c, a, k);
    rt_fill(c->rt, &c->out[LAMBDA_NEXT], nue * lambda + 1 - nue);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)s;
    (void)output;
    *check = (struct problem_check){.kind = CHECK_CLOSE, .atol = 1e-10, .rtol = 1e-12};
}

/* P stays on the chip between k = P H and its update. */
static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double blocks = problem_real(s, "nb"), n = problem_real(s, "n"), others = s->world - 1;
    cost->flops = blocks * (2 * n * n + 4 * n + 3 * n * n);
    cost->hbm_bytes = 8 * blocks * (2 * n * n + 2 * n) + 8 * s->world * blocks * n;
    cost->link_bytes = 8 * blocks * n * others + 8 * others;
}

const struct problem problem_63 = {
    .id = 63,
    .name = "63_deepmd_kalman_filter_optimizer",
    .family = "optimizer",
    .origin = "DeePMD-kit: layer-wise Kalman filter optimizer (LKF)",
    .summary = "One step of a block-diagonal Kalman filter in f64: all-reduce a scalar, update the own weights and covariances, "
               "and gather the "
               "weights.",
    .source = "problems/optimizer/63_deepmd_kalman_filter_optimizer.c",
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
