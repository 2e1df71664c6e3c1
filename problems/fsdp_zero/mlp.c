/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/fsdp_zero/mlp.h"

#include <math.h>

/* Numbers of hidden features that are tried. */
#define CANDIDATES 1024

/* Places in the row of parameters. */
enum { ROWS, D_IN, D_HID, D_OUT };

/* ---- sizes --------------------------------------------------------------------------------------------------------- */

struct mlp mlp_of(const struct problem_setting *s, int first)
{
    int64_t rows = (int64_t)s->params[first + ROWS];
    return (struct mlp){
        .rows = rows / s->world + (rows % s->world != 0),
        .d_in = (int64_t)s->params[first + D_IN],
        .d_hid = (int64_t)s->params[first + D_HID],
        .d_out = (int64_t)s->params[first + D_OUT],
    };
}

struct mlp mlp_divisible(const struct problem_setting *s, int first)
{
    struct mlp n = mlp_of(s, first);
    int64_t last = n.d_hid + CANDIDATES;
    for (; n.d_hid < last; n.d_hid++) {
        if (mlp_count(&n) % s->world == 0)
            return n;
    }
    n.d_hid = 0;
    return n;
}

int mlp_supports(const struct problem_setting *s, int first, bool divisible, struct pkb_error *err)
{
    for (int i = first; i <= first + D_OUT; i++) {
        if (kit_require_least(s, s->problem->params[i].name, 1, err) < 0)
            return -1;
        if (s->params[i] > 1048576)
            return pkb_error_set(err, "%s = %.0f is more than 1048576", s->problem->params[i].name, s->params[i]);
    }
    if (divisible && mlp_divisible(s, first).d_hid == 0)
        return pkb_error_set(err, "%s = %.0f to %.0f: the number of parameters is never divisible by %d ranks",
                             s->problem->params[first + D_HID].name, s->params[first + D_HID],
                             s->params[first + D_HID] + CANDIDATES - 1, s->world);
    return 0;
}

void mlp_fill_batch(const struct problem_setting *s, struct problem_inputs *set, int x, const struct mlp *n)
{
    double size = sqrt((double)n->d_hid * ((double)n->d_in + 1) / 2);
    kit_fill_normal(s, set, x);
    kit_fill_scaled_normal(s, set, x + 1, s->inputs == PROFILE_PKB ? 1 : size);
}

int64_t mlp_count(const struct mlp *n)
{
    return n->d_hid * n->d_in + n->d_hid + n->d_out * n->d_hid + n->d_out;
}

double mlp_flops(const struct mlp *n)
{
    double hidden = (double)n->d_hid;
    return 2.0 * (double)n->rows * (2 * hidden * (double)n->d_in + 3 * hidden * (double)n->d_out);
}

/* ---- flat vectors -------------------------------------------------------------------------------------------------- */

pkb_tensor mlp_form(const struct mlp *n, enum mlp_part part, int dtype)
{
    bool first = part == MLP_W1 || part == MLP_B1;
    pkb_tensor form = {.dtype = dtype, .ndim = 1};
    form.shape[0] = first ? n->d_hid : n->d_out;
    if (part == MLP_W1 || part == MLP_W2) {
        form.ndim = 2;
        form.shape[1] = first ? n->d_in : n->d_hid;
    }
    return form;
}

void mlp_describe(struct problem_tensor *t, const struct mlp *n, const char *const names[MLP_PARTS], int dtype)
{
    for (int i = 0; i < MLP_PARTS; i++) {
        pkb_tensor form = mlp_form(n, (enum mlp_part)i, dtype);
        kit_tensor(&t[i], names[i], dtype, form.ndim, form.shape);
    }
}

struct mlp_parts mlp_split(const struct problem_call *c, const struct mlp *n, const pkb_tensor *flat)
{
    struct mlp_parts parts;
    int64_t at = 0;
    for (int i = 0; i < MLP_PARTS; i++) {
        pkb_tensor form = mlp_form(n, (enum mlp_part)i, PKB_F32);
        int64_t count = (int64_t)kit_numel(&form);
        parts.part[i] = rt_view(c->rt, rt_rows(c->rt, flat, at, count), form.ndim, form.shape);
        at += count;
    }
    return parts;
}

pkb_tensor *mlp_join(const struct problem_call *c, const struct mlp *n, const pkb_tensor *parts)
{
    pkb_tensor *flat = rt_new(c->rt, c->setting->dtype, RT_SHAPE(mlp_count(n)));
    struct mlp_parts views = mlp_split(c, n, flat);
    for (int i = 0; i < MLP_PARTS; i++)
        rt_copy(c->rt, views.part[i], &parts[i]);
    return flat;
}

void mlp_unjoin(const struct problem_call *c, const struct mlp *n, const pkb_tensor *flat, pkb_tensor *const *parts)
{
    struct mlp_parts views = mlp_split(c, n, flat);
    for (int i = 0; i < MLP_PARTS; i++)
        rt_copy(c->rt, parts[i], views.part[i]);
}

/* ---- forward and backward ------------------------------------------------------------------------------------------ */

static pkb_tensor *matrix(const struct problem_call *c, int dtype, int64_t rows, int64_t columns)
{
    return rt_new(c->rt, dtype, RT_SHAPE(rows, columns));
}

/* rnd( x weight^T + bias ) */
static pkb_tensor *linear(const struct problem_call *c, const struct mlp *n, const pkb_tensor *x, const pkb_tensor *weight,
                          const pkb_tensor *bias, int64_t columns)
{
    pkb_tensor *product = matrix(c, kit_accumulate_dtype(c->setting), n->rows, columns);
    pkb_tensor *result = matrix(c, c->setting->dtype, n->rows, columns);
    rt_matmul(c->rt, product, x, false, weight, true);
    rt_binary(c->rt, RT_ADD, result, product, bias);
    return result;
}

struct mlp_pass mlp_run(const struct problem_call *c, const struct mlp *n, const pkb_tensor *x, const pkb_tensor *y,
                        const struct mlp_parts *w)
{
    int dtype = c->setting->dtype;
    double scale = kit_rounded(dtype, 2 / ((double)n->rows * (double)n->d_out));
    struct mlp_pass p = {.h = matrix(c, dtype, n->rows, n->d_hid), .d_h = matrix(c, dtype, n->rows, n->d_hid)};
    p.z = linear(c, n, x, w->part[MLP_W1], w->part[MLP_B1], n->d_hid);
    rt_binary_scalar(c->rt, RT_MAX, p.h, p.z, 0);
    p.d_o = linear(c, n, p.h, w->part[MLP_W2], w->part[MLP_B2], n->d_out);
    rt_binary(c->rt, RT_SUB, p.d_o, p.d_o, y);
    rt_binary_scalar(c->rt, RT_MUL, p.d_o, p.d_o, scale);
    rt_matmul(c->rt, p.d_h, p.d_o, false, w->part[MLP_W2], false);
    return p;
}

pkb_tensor *mlp_where(const struct problem_call *c, enum rt_binary relation, const pkb_tensor *a, const pkb_tensor *b,
                      const pkb_tensor *d)
{
    int dtype = d ? d->dtype : PKB_F32; /* none after a failure, when all this is skipped */
    pkb_tensor *condition = rt_new_like(c->rt, PKB_BOOL, d), *zero = rt_new(c->rt, dtype, RT_SCALAR);
    pkb_tensor *kept = rt_new_like(c->rt, dtype, d);
    rt_fill(c->rt, zero, 0);
    rt_binary(c->rt, relation, condition, a, b);
    rt_where(c->rt, kept, condition, d, zero);
    return kept;
}

pkb_tensor *mlp_gradient(const struct problem_call *c, const struct mlp *n, const pkb_tensor *x, const pkb_tensor *y,
                         const pkb_tensor *flat)
{
    pkb_tensor *gradient = rt_new(c->rt, c->setting->dtype, RT_SHAPE(mlp_count(n)));
    pkb_tensor *zero = rt_new(c->rt, c->setting->dtype, RT_SCALAR);
    struct mlp_parts w = mlp_split(c, n, flat), g = mlp_split(c, n, gradient);
    struct mlp_pass p = mlp_run(c, n, x, y, &w);
    rt_fill(c->rt, zero, 0);
    pkb_tensor *d_z = mlp_where(c, RT_GT, p.z, zero, p.d_h);
    rt_matmul(c->rt, g.part[MLP_W2], p.d_o, true, p.h, false);
    rt_reduce_axis(c->rt, RT_SUM, g.part[MLP_B2], p.d_o, 0);
    rt_matmul(c->rt, g.part[MLP_W1], d_z, true, x, false);
    rt_reduce_axis(c->rt, RT_SUM, g.part[MLP_B1], d_z, 0);
    return gradient;
}

pkb_tensor *mlp_mean_gradient(const struct problem_call *c, const struct mlp *n, const pkb_tensor *x, const pkb_tensor *y,
                              const pkb_tensor *flat)
{
    pkb_tensor *mean = mlp_gradient(c, n, x, y, flat);
    rt_all_reduce(c->rt, c->world, RT_SUM, mean, mean);
    rt_binary_scalar(c->rt, RT_DIV, mean, mean, c->world->size);
    return mean;
}
