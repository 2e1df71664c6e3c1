/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/fsdp_zero/zero.h"

/* Numbers of the first parameters of network and optimizer. */
enum { PARAM_MLP, PARAM_ADAM = 4 };

enum { X, Y, WEIGHTS, M = WEIGHTS + MLP_PARTS, V, INPUTS };
enum { NEW_WEIGHTS, NEW_M = NEW_WEIGHTS + MLP_PARTS, NEW_V, OUTPUTS };

static int64_t part_of(const struct problem_setting *s)
{
    struct mlp n = mlp_divisible(s, PARAM_MLP);
    return mlp_count(&n) / s->world;
}

int zero_supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (mlp_supports(s, PARAM_MLP, true, err) < 0)
        return -1;
    return adam_supports(s, PARAM_ADAM, err);
}

int zero_inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    static const char *const names[MLP_PARTS] = {"W1", "b1", "W2", "b2"};
    struct mlp n = mlp_divisible(s, PARAM_MLP);
    kit_tensor(&t[X], "X", s->dtype, RT_SHAPE(n.rows, n.d_in));
    kit_tensor(&t[Y], "y", s->dtype, RT_SHAPE(n.rows, n.d_out));
    mlp_describe(&t[WEIGHTS], &n, names, s->dtype);
    kit_tensor(&t[M], "m", s->dtype, RT_SHAPE(part_of(s)));
    kit_tensor(&t[V], "v", s->dtype, RT_SHAPE(part_of(s)));
    return INPUTS;
}

int zero_outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    static const char *const names[MLP_PARTS] = {"W1_new", "b1_new", "W2_new", "b2_new"};
    struct mlp n = mlp_divisible(s, PARAM_MLP);
    mlp_describe(&t[NEW_WEIGHTS], &n, names, s->dtype);
    kit_tensor(&t[NEW_M], "m_new", s->dtype, RT_SHAPE(part_of(s)));
    kit_tensor(&t[NEW_V], "v_new", s->dtype, RT_SHAPE(part_of(s)));
    return OUTPUTS;
}

void zero_init(const struct problem_setting *s, struct problem_inputs *set)
{
    struct mlp n = mlp_divisible(s, PARAM_MLP);
    adam_init(s, set, PARAM_ADAM);
    adam_init_moments(s, set, M, V);
    mlp_fill_batch(s, set, X, &n);
    for (int i = WEIGHTS; i < M; i++) {
        if (s->inputs == PROFILE_PKB && s->rank > 0)
            kit_fill_constant(&set->in[i], 0);
        else
            kit_fill_normal(s, set, i);
    }
}

pkb_tensor *zero_broadcast_parameters(const struct problem_call *c)
{
    struct mlp n = mlp_divisible(c->setting, PARAM_MLP);
    pkb_tensor *flat = mlp_join(c, &n, &c->in[WEIGHTS]);
    rt_broadcast(c->rt, c->world, flat, 0);
    return flat;
}

pkb_tensor *zero_gradient(const struct problem_call *c, const pkb_tensor *flat)
{
    struct mlp n = mlp_divisible(c->setting, PARAM_MLP);
    return mlp_gradient(c, &n, &c->in[X], &c->in[Y], flat);
}

pkb_tensor *zero_own_part(const struct problem_call *c, const pkb_tensor *flat)
{
    int64_t part = c->in[M].shape[0];
    return rt_rows(c->rt, flat, c->world->rank * part, part);
}

static struct adam_state own_state(const struct problem_call *c, const pkb_tensor *part, const pkb_tensor *gradient)
{
    return (struct adam_state){.p = part, .m = &c->in[M], .v = &c->in[V], .g = gradient};
}

pkb_tensor *zero_update(const struct problem_call *c, const pkb_tensor *part, const pkb_tensor *gradient)
{
    struct adam a = adam_of(c, PARAM_ADAM);
    struct adam_state old = own_state(c, part, gradient);
    pkb_tensor *m = &c->out[NEW_M], *v = &c->out[NEW_V], *updated = rt_new_like(c->rt, c->setting->dtype, m);
    adam_moments(c, &a, &old, m, v);
    adam_update(c, &a, part, adam_direction(c, &a, m, v), updated);
    return updated;
}

/* The parts of all ranks, split into four tensors. */
static void gather(const struct problem_call *c, const pkb_tensor *part, int dtype, pkb_tensor *const *to)
{
    struct mlp n = mlp_divisible(c->setting, PARAM_MLP);
    pkb_tensor *flat = rt_new(c->rt, dtype, RT_SHAPE(mlp_count(&n)));
    rt_all_gather(c->rt, c->world, flat, part);
    mlp_unjoin(c, &n, flat, to);
}

void zero_gather_parameters(const struct problem_call *c, const pkb_tensor *part)
{
    pkb_tensor *const to[MLP_PARTS] = {&c->out[MLP_W1], &c->out[MLP_B1], &c->out[MLP_W2], &c->out[MLP_B2]};
    gather(c, part, c->setting->dtype, to);
}

void zero_bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    struct adam a = adam_of(c, PARAM_ADAM);
    struct mlp n = mlp_divisible(c->setting, PARAM_MLP);
    pkb_tensor *flat = zero_broadcast_parameters(c);
    pkb_tensor *mean = mlp_mean_gradient(c, &n, &c->in[X], &c->in[Y], flat);
    pkb_tensor *change = mlp_uncertainty(c, &n, &c->in[X], &c->in[Y], flat, mean);
    struct adam_state old = own_state(c, zero_own_part(c, flat), zero_own_part(c, mean));
    struct adam_tensors b = adam_bound(c, &a, &old, zero_own_part(c, change));
    gather(c, b.p, PKB_F32, tol);
    rt_copy(c->rt, tol[NEW_M], b.m);
    rt_copy(c->rt, tol[NEW_V], b.v);
}

/* The parameters come down a chain of ranks, whose last one passes nothing on; gradients and parameters travel by parts. */
void zero_cost(const struct problem_setting *s, struct problem_cost *cost)
{
    struct mlp n = mlp_divisible(s, PARAM_MLP);
    double all = (double)mlp_count(&n), part = all / s->world, rows = (double)n.rows, size = kit_element(s);
    double batch = rows * (double)(n.d_in + n.d_out), kept = rows * (double)n.d_hid;
    cost->flops = mlp_flops(&n) + 14 * part;
    cost->hbm_bytes = size * (batch + all + 2 * part) + size * (all + 2 * part) + 2 * size * (all + kept);
    cost->link_bytes = (s->rank < s->world - 1 ? size * all : 0) + 2 * size * part * (s->world - 1);
}
