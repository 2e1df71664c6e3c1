/* SPDX-License-Identifier: Apache-2.0 */
/* How far correct gradients may be apart (mlp_uncertainty). */
#include <math.h>

#include "problems/fsdp_zero/mlp.h"

/* |dZ| where Z is closer to 0 than its accumulation is exact, else 0. */
static pkb_tensor *at_kink(const struct problem_call *c, const struct mlp *n, const struct mlp_pass *p, const pkb_tensor *x,
                           const struct mlp_parts *w)
{
    pkb_tensor *error = rt_new(c->rt, PKB_F32, RT_SHAPE(n->rows, n->d_hid));
    rt_matmul(c->rt, error, kit_magnitude(c, x, 1), false, kit_magnitude(c, w->part[MLP_W1], 1), true);
    rt_binary(c->rt, RT_ADD, error, error, kit_magnitude(c, w->part[MLP_B1], 1));
    rt_binary_scalar(c->rt, RT_MUL, error, error, 4 * sqrt((double)n->d_in) * kit_accumulate_roundoff(c->setting));
    return mlp_where(c, RT_LE, kit_magnitude(c, p->z, 1), error, kit_magnitude(c, p->d_h, 1));
}

/* What ReLU may add to the own gradient, flat. */
static pkb_tensor *kinks(const struct problem_call *c, const struct mlp *n, const pkb_tensor *x, const pkb_tensor *y,
                         const pkb_tensor *flat)
{
    pkb_tensor *change = rt_new(c->rt, PKB_F32, RT_SHAPE(mlp_count(n)));
    struct mlp_parts w = mlp_split(c, n, flat), g = mlp_split(c, n, change);
    struct mlp_pass p = mlp_run(c, n, x, y, &w);
    pkb_tensor *d_z = at_kink(c, n, &p, x, &w);
    rt_fill(c->rt, change, 0);
    rt_matmul(c->rt, g.part[MLP_W1], d_z, true, kit_magnitude(c, x, 1), false);
    rt_reduce_axis(c->rt, RT_SUM, g.part[MLP_B1], d_z, 0);
    return change;
}

/* Adds factor * RMS of every part of `mean` to the part of `sum`. */
static void add_part_sizes(const struct problem_call *c, const struct mlp *n, pkb_tensor *sum, const pkb_tensor *mean,
                           double factor)
{
    struct mlp_parts to = mlp_split(c, n, sum), of = mlp_split(c, n, mean);
    for (int i = 0; i < MLP_PARTS; i++) {
        pkb_tensor form = mlp_form(n, (enum mlp_part)i, PKB_F32);
        pkb_tensor *squares = rt_new_like(c->rt, PKB_F32, &form), *size = rt_new(c->rt, PKB_F32, RT_SCALAR);
        rt_unary(c->rt, RT_SQUARE, squares, of.part[i]);
        rt_reduce_axis(c->rt, RT_SUM, size, squares, RT_ALL_AXES);
        rt_binary_scalar(c->rt, RT_DIV, size, size, (double)kit_numel(&form));
        rt_unary(c->rt, RT_SQRT, size, size);
        rt_binary_scalar(c->rt, RT_MUL, size, size, factor);
        rt_binary(c->rt, RT_ADD, to.part[i], to.part[i], size);
    }
}

/* K: the roundings to T of one evaluation against another's; where T is what sums are formed in, their order counts for more. */
static double rounding_factor(const struct problem_setting *s)
{
    double u = dtype_roundoff(s->dtype);
    return kit_is_narrow(s) ? 24 * u : 1e-4 * u / dtype_roundoff(PKB_F32);
}

pkb_tensor *mlp_uncertainty(const struct problem_call *c, const struct mlp *n, const pkb_tensor *x, const pkb_tensor *y,
                            const pkb_tensor *flat, const pkb_tensor *mean)
{
    const struct problem_setting *s = c->setting;
    pkb_tensor *sum = kit_magnitude(c, mlp_gradient(c, n, x, y, flat), (s->world + 1) * dtype_roundoff(s->dtype));
    rt_binary(c->rt, RT_ADD, sum, sum, kinks(c, n, x, y, flat));
    rt_all_reduce(c->rt, c->world, RT_SUM, sum, sum);
    rt_binary_scalar(c->rt, RT_DIV, sum, sum, s->world);
    add_part_sizes(c, n, sum, mean, rounding_factor(s));
    return sum;
}
