/* SPDX-License-Identifier: Apache-2.0 */
/* 47 fsdp_step_e2e: one training step with parameters, gradients and optimizer state sharded over the ranks, AdamW.
 *
 * Parameters   n_total, d_in, d_hid, d_out: problems/fsdp_zero/mlp.h, with the least d_hid for which W divides the number P of
 *              network parameters; lr, beta1, beta2, eps, step: problems/fsdp_zero/adam.h; wd: weight decay. part = P / W.
 * Inputs       X (rows, d_in) and y (rows, d_out), this rank's part of the batch; theta (part), elements r*part to (r+1)*part -
 *              1 of the flat network parameters, a range that may begin and end inside a matrix; m and v (part), their moments.
 *              All of T.
 * Outputs      theta_new, m_new, v_new (part) of T, the own shard's. The step:
 *     1. all ranks gather the flat parameters;
 *     2. every rank computes the gradient on its rows (problems/fsdp_zero/mlp.h);
 *     3. the gradients are summed over the ranks, the own part on every rank, and divided by W, rounded both times;
 *     4. AdamW (problems/fsdp_zero/adam.h) updates the own shard, with the old theta in the decay. It stays sharded.
 * One rank     the same without communication; part = P.
 * Arithmetic   sums over the ranks are in T, accumulated in f32 in rank order here; a result may round after every addition.
 * Check        problems/fsdp_zero/adam.h, with dg of problems/fsdp_zero/mlp.h.
 * Inputs       X, theta N(0,1), so that gradients are of order 1 to 10, y as large as the outputs (mlp.h); moments as
 *              in problems/fsdp_zero/adam.h; wd = 1, without which lr * wd would be lost in T. The pkb profile has wd = 0.01, and
 *              theta = 0 on all ranks but the first, as published: there most of the network is 0 and has no gradient.
 */
#include "problems/fsdp_zero/adam.h"
#include "problems/fsdp_zero/mlp.h"

static const struct problem_param params[] = {
    MLP_PARAMS("n_total", 32, "d_in", 16, "d_hid", 32, "d_out", 8),
    ADAM_PARAMS(0.1, "beta1", "beta2"),
    {"wd", 1, 1, false, "weight decay; a hundredth of it in the pkb profile, by default the published 0.01"},
};

enum { PARAM_MLP, PARAM_ADAM = 4, PARAM_WD = 9 };
enum { X, Y, THETA, M, V };
enum { NEW_THETA, NEW_M, NEW_V };

static struct mlp network(const struct problem_setting *s)
{
    return mlp_divisible(s, PARAM_MLP);
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (mlp_supports(s, PARAM_MLP, true, err) < 0)
        return -1;
    return adam_supports(s, PARAM_ADAM, err);
}

static void describe_shards(const struct problem_setting *s, struct problem_tensor *t, const char *const names[3])
{
    struct mlp n = network(s);
    for (int i = 0; i < 3; i++)
        kit_tensor(&t[i], names[i], s->dtype, RT_SHAPE(mlp_count(&n) / s->world));
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    struct mlp n = network(s);
    kit_tensor(&t[X], "X", s->dtype, RT_SHAPE(n.rows, n.d_in));
    kit_tensor(&t[Y], "y", s->dtype, RT_SHAPE(n.rows, n.d_out));
    describe_shards(s, &t[THETA], (const char *const[]){"theta", "m", "v"});
    return 5;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    describe_shards(s, &t[NEW_THETA], (const char *const[]){"theta_new", "m_new", "v_new"});
    return 3;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    struct mlp n = network(s);
    adam_init(s, set, PARAM_ADAM);
    set->params[PARAM_WD] = adam_rate(s, PARAM_WD, 0.01);
    adam_init_moments(s, set, M, V);
    mlp_fill_batch(s, set, X, &n);
    if (s->inputs == PROFILE_PKB && s->rank > 0)
        kit_fill_constant(&set->in[THETA], 0);
    else
        kit_fill_normal(s, set, THETA);
}

static pkb_tensor *gather_parameters(const struct problem_call *c, const struct mlp *n)
{
    pkb_tensor *flat = rt_new(c->rt, c->setting->dtype, RT_SHAPE(mlp_count(n)));
    rt_all_gather(c->rt, c->world, flat, &c->in[THETA]);
    return flat;
}

static struct adam optimizer(const struct problem_call *c)
{
    struct adam a = adam_of(c, PARAM_ADAM);
    a.weight_decay = c->params[PARAM_WD];
    return a;
}

static void reference(const struct problem_call *c)
{
    struct mlp n = network(c->setting);
    struct adam a = optimizer(c);
    pkb_tensor *flat = gather_parameters(c, &n);
    pkb_tensor *mean = rt_new_like(c->rt, c->setting->dtype, &c->in[THETA]);
    rt_reduce_scatter(c->rt, c->world, RT_SUM, mean, mlp_gradient(c, &n, &c->in[X], &c->in[Y], flat));
    rt_binary_scalar(c->rt, RT_DIV, mean, mean, c->world->size);

    struct adam_state old = {.p = &c->in[THETA], .m = &c->in[M], .v = &c->in[V], .g = mean};
    pkb_tensor *m = &c->out[NEW_M], *v = &c->out[NEW_V];
    adam_moments(c, &a, &old, m, v);
    adam_update_decayed(c, &a, old.p, adam_direction(c, &a, m, v), &c->out[NEW_THETA]);
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    struct mlp n = network(c->setting);
    struct adam a = optimizer(c);
    int64_t part = c->in[THETA].shape[0], first = c->world->rank * part;
    pkb_tensor *flat = gather_parameters(c, &n);
    pkb_tensor *mean = mlp_mean_gradient(c, &n, &c->in[X], &c->in[Y], flat);
    pkb_tensor *change = mlp_uncertainty(c, &n, &c->in[X], &c->in[Y], flat, mean);
    struct adam_state old = {.p = &c->in[THETA], .m = &c->in[M], .v = &c->in[V], .g = rt_rows(c->rt, mean, first, part)};
    struct adam_tensors b = adam_bound(c, &a, &old, rt_rows(c->rt, change, first, part));
    rt_copy(c->rt, tol[NEW_THETA], b.p);
    rt_copy(c->rt, tol[NEW_M], b.m);
    rt_copy(c->rt, tol[NEW_V], b.v);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    struct mlp n = network(s);
    double all = (double)mlp_count(&n), part = all / s->world, rows = (double)n.rows, size = kit_element(s);
    double batch = rows * (double)(n.d_in + n.d_out), kept = rows * (double)n.d_hid;
    cost->flops = mlp_flops(&n) + 18 * part;
    cost->hbm_bytes = size * (batch + 3 * part) + size * 3 * part + 2 * size * (2 * all + kept);
    cost->link_bytes = 2 * size * part * (s->world - 1);
}

const struct problem problem_47 = {
    .id = 47,
    .name = "47_fsdp_step_e2e",
    .family = "fsdp_zero",
    .origin = "training step of PyTorch FSDP with decoupled weight decay",
    .summary = "One training step of a two-layer network whose parameters, gradients and Adam state are all sharded: all-gather "
               "parameters, "
               "forward and backward, reduce-scatter gradients, update the own shard.",
    .source = "problems/fsdp_zero/47_fsdp_step_e2e.c",
    .worlds = "W divides the number of parameters; d_hid grows until it does",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .bound = bound,
    .check = kit_check_bound,
    .cost = cost,
};
