/* SPDX-License-Identifier: Apache-2.0 */
/* 40 ddp: one data-parallel training step, from the broadcast of rank 0's state to Adam on every rank.
 *
 * Parameters   Bt: rows of the whole batch; din, hid, dout: features (problems/fsdp_zero/mlp.h); lr, b1, b2, eps, step:
 *              problems/fsdp_zero/adam.h.
 * Inputs       X (rows, din) and y (rows, dout), this rank's part of the batch; W1 (hid, din), b1v (hid), W2 (dout, hid), b2v
 *              (dout); first moments m_W1, m_b1, m_W2, m_b2 and second moments v_W1, v_b1, v_W2, v_b2 of the same shapes. All
 *              of T. What ranks other than 0 hold of parameters and moments is to be ignored.
 * Outputs      parameters, first and second moments after the step under the same names, the same on every rank:
 *     1. rank 0's parameters, first moments and second moments, each as one flat vector, go to all ranks;
 *     2. every rank computes the gradient on its rows (problems/fsdp_zero/mlp.h);
 *     3. the gradients are summed over the ranks and divided by W, rounded both times;
 *     4. Adam (problems/fsdp_zero/adam.h) updates everything.
 * One rank     the same without communication.
 * Arithmetic   sums over the ranks are in T, accumulated in f32 in rank order here; a result may round after every addition.
 * Check        problems/fsdp_zero/adam.h, with dg of problems/fsdp_zero/mlp.h. f16 is refused: second moments underflow.
 * Inputs       X, y N(0,1). On rank 0 W1 is N(0,1) / sqrt(din), W2 N(0,1) / sqrt(hid), biases are 0.1 * N(0,1); with the size
 *              of a gradient, gs = 2 / (sqrt(Bt) * dout), first moments are 0.1 * gs * N(0,1) and second ones 0.001 * gs^2 *
 *              U(0.5, 2): old state and gradient count alike. Other ranks hold N(0,1), as second moments |N(0,1)|. lr = 0.05
 *              shows in T. The pkb profile: lr = 0.001, N(0,1) on rank 0 and 0 elsewhere for the parameters, moments 0.
 */
#include <math.h>

#include "problems/fsdp_zero/adam.h"
#include "problems/fsdp_zero/mlp.h"

static const struct problem_param params[] = {
    MLP_PARAMS("Bt", 64, "din", 32, "hid", 40, "dout", 16),
    ADAM_PARAMS(0.05, "b1", "b2"),
};

enum { PARAM_MLP, PARAM_ADAM = 4 };

/* Inputs; outputs begin with what WEIGHTS is here. */
enum { X, Y, WEIGHTS, FIRST = WEIGHTS + MLP_PARTS, SECOND = FIRST + MLP_PARTS, INPUTS = SECOND + MLP_PARTS };
enum { OUTPUTS = 3 * MLP_PARTS };

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (s->dtype == PKB_F16)
        return pkb_error_set(err, "dtype f16: second moments underflow");
    if (mlp_supports(s, PARAM_MLP, false, err) < 0)
        return -1;
    return adam_supports(s, PARAM_ADAM, err);
}

/* Parameters and both moments. */
static void describe_state(const struct problem_setting *s, struct problem_tensor *t)
{
    static const char *const names[][MLP_PARTS] = {
        {"W1", "b1v", "W2", "b2v"}, {"m_W1", "m_b1", "m_W2", "m_b2"}, {"v_W1", "v_b1", "v_W2", "v_b2"}};
    struct mlp n = mlp_of(s, PARAM_MLP);
    for (int i = 0; i < KIT_COUNT(names); i++)
        mlp_describe(&t[i * MLP_PARTS], &n, names[i], s->dtype);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    struct mlp n = mlp_of(s, PARAM_MLP);
    kit_tensor(&t[X], "X", s->dtype, RT_SHAPE(n.rows, n.d_in));
    kit_tensor(&t[Y], "y", s->dtype, RT_SHAPE(n.rows, n.d_out));
    describe_state(s, &t[WEIGHTS]);
    return INPUTS;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    describe_state(s, t);
    return OUTPUTS;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

static void init_published(const struct problem_setting *s, struct problem_inputs *set)
{
    for (int i = WEIGHTS; i < INPUTS; i++) {
        if (s->rank == 0 && i < FIRST)
            kit_fill_normal(s, set, i);
        else
            kit_fill_constant(&set->in[i], 0);
    }
}

/* What rank 0 holds. */
static void init_state(const struct problem_setting *s, struct problem_inputs *set)
{
    struct mlp n = mlp_of(s, PARAM_MLP);
    double size = 2 / (sqrt((double)n.rows * s->world) * (double)n.d_out);
    const double scales[MLP_PARTS] = {
        [MLP_W1] = 1 / sqrt((double)n.d_in), [MLP_B1] = 0.1, [MLP_W2] = 1 / sqrt((double)n.d_hid), [MLP_B2] = 0.1};
    for (int i = 0; i < MLP_PARTS; i++) {
        kit_fill_scaled_normal(s, set, WEIGHTS + i, scales[i]);
        kit_fill_scaled_normal(s, set, FIRST + i, 0.1 * size);
        kit_fill_uniform(s, set, SECOND + i, 0.0005 * size * size, 0.002 * size * size);
    }
}

static double magnitude_value(const void *arg, size_t i)
{
    return fabs(rng_normal(arg, i));
}

/* What the others hold. */
static void init_ignored(const struct problem_setting *s, struct problem_inputs *set)
{
    for (int i = WEIGHTS; i < SECOND; i++)
        kit_fill_normal(s, set, i);
    for (int i = SECOND; i < INPUTS; i++) {
        struct rng r = problem_rng(s, set, (uint32_t)i);
        kit_fill_with(&set->in[i], magnitude_value, &r);
    }
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    adam_init(s, set, PARAM_ADAM);
    kit_fill_normal(s, set, X);
    kit_fill_normal(s, set, Y);
    if (s->inputs == PROFILE_PKB)
        init_published(s, set);
    else if (s->rank == 0)
        init_state(s, set);
    else
        init_ignored(s, set);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* Four tensors of rank 0 as one flat vector on every rank. */
static pkb_tensor *broadcast_state(const struct problem_call *c, const struct mlp *n, int first)
{
    pkb_tensor *flat = mlp_join(c, n, &c->in[first]);
    rt_broadcast(c->rt, c->world, flat, 0);
    return flat;
}

static struct adam_state broadcast_all(const struct problem_call *c, const struct mlp *n)
{
    pkb_tensor *p = broadcast_state(c, n, WEIGHTS);
    pkb_tensor *m = broadcast_state(c, n, FIRST);
    pkb_tensor *v = broadcast_state(c, n, SECOND);
    return (struct adam_state){.p = p, .m = m, .v = v};
}

/* From flat vectors into one tensor per output. */
static void unjoin_all(const struct problem_call *c, const struct mlp *n, const struct adam_tensors *from, pkb_tensor *const *to)
{
    mlp_unjoin(c, n, from->p, &to[0]);
    mlp_unjoin(c, n, from->m, &to[MLP_PARTS]);
    mlp_unjoin(c, n, from->v, &to[2 * MLP_PARTS]);
}

static void reference(const struct problem_call *c)
{
    struct mlp n = mlp_of(c->setting, PARAM_MLP);
    struct adam a = adam_of(c, PARAM_ADAM);
    struct adam_state old = broadcast_all(c, &n);
    old.g = mlp_mean_gradient(c, &n, &c->in[X], &c->in[Y], old.p);

    int dtype = c->setting->dtype;
    struct adam_tensors now = {rt_new_like(c->rt, dtype, old.p), rt_new_like(c->rt, dtype, old.p),
                               rt_new_like(c->rt, dtype, old.p)};
    adam_moments(c, &a, &old, now.m, now.v);
    adam_update(c, &a, old.p, adam_direction(c, &a, now.m, now.v), now.p);

    pkb_tensor *to[OUTPUTS];
    for (int k = 0; k < OUTPUTS; k++)
        to[k] = &c->out[k];
    unjoin_all(c, &n, &now, to);
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    struct mlp n = mlp_of(c->setting, PARAM_MLP);
    struct adam a = adam_of(c, PARAM_ADAM);
    struct adam_state old = broadcast_all(c, &n);
    old.g = mlp_mean_gradient(c, &n, &c->in[X], &c->in[Y], old.p);
    struct adam_tensors b = adam_bound(c, &a, &old, mlp_uncertainty(c, &n, &c->in[X], &c->in[Y], old.p, old.g));
    unjoin_all(c, &n, &b, tol);
}

/* Rank 0 reads the state, the others receive it; the last one of the chain of ranks passes nothing on. */
static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    struct mlp n = mlp_of(s, PARAM_MLP);
    double all = (double)mlp_count(&n), rows = (double)n.rows, size = kit_element(s);
    double state = 3 * all * size;
    cost->flops = mlp_flops(&n) + 12 * all;
    cost->hbm_bytes = rows * (double)(n.d_in + n.d_out) * size + (s->rank == 0 ? state : 0) + state + 2 * all * size;
    cost->link_bytes = (s->rank < s->world - 1 ? state : 0) + 2 * all * size * (s->world - 1) / s->world;
}

const struct problem problem_40 = {
    .id = 40,
    .name = "40_ddp",
    .family = "data_parallel",
    .origin = "PyTorch DistributedDataParallel with one bucket of gradients, and Adam",
    .summary =
        "One data-parallel training step of a two-layer network: broadcast parameters and moments from rank 0, forward and "
        "backward, average the gradients over all ranks, Adam.",
    .source = "problems/data_parallel/40_ddp.c",
    .worlds = "any; the batch is rounded up to a multiple of W",
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
