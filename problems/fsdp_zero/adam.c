/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/fsdp_zero/adam.h"

#include <math.h>

/* Steps of different trials: as many, then from the first one on again. */
#define STEPS 7

/* Places in the row of parameters. */
enum { LR, BETA1, BETA2, EPS, STEP };

/* ---- parameters and inputs ----------------------------------------------------------------------------------------- */

struct adam adam_of(const struct problem_call *c, int first)
{
    const double *params = c->params + first;
    return (struct adam){
        .lr = params[LR],
        .beta1 = params[BETA1],
        .beta2 = params[BETA2],
        .eps = params[EPS],
        .bc1 = 1 - pow(params[BETA1], params[STEP]),
        .bc2 = 1 - pow(params[BETA2], params[STEP]),
    };
}

static int require_decay(const struct problem_setting *s, int param, struct pkb_error *err)
{
    double beta = s->params[param];
    if (!(beta >= 0 && beta < 1))
        return pkb_error_set(err, "%s = %g is not in [0, 1)", s->problem->params[param].name, beta);
    return 0;
}

int adam_supports(const struct problem_setting *s, int first, struct pkb_error *err)
{
    if (require_decay(s, first + BETA1, err) < 0 || require_decay(s, first + BETA2, err) < 0)
        return -1;
    if (!(s->params[first + EPS] > 0))
        return pkb_error_set(err, "eps = %g is not positive", s->params[first + EPS]);
    if (s->dtype == PKB_F16 && s->inputs == PROFILE_PKB)
        return pkb_error_set(err, "the second moments of the pkb inputs are 0 in f16");
    return kit_require_least(s, "step", 1, err);
}

double adam_rate(const struct problem_setting *s, int param, double published)
{
    double rate = s->params[param];
    return s->inputs == PROFILE_PKB ? rate * (published / s->problem->params[param].paper) : rate;
}

void adam_init(const struct problem_setting *s, struct problem_inputs *set, int first)
{
    set->params[first + LR] = adam_rate(s, first + LR, 0.001);
    set->params[first + STEP] = s->params[first + STEP] + set->trial % STEPS;
}

void adam_init_moments(const struct problem_setting *s, struct problem_inputs *set, int m, int v)
{
    if (s->inputs == PROFILE_PKB) {
        kit_fill_constant(&set->in[m], 0);
        kit_fill_constant(&set->in[v], 0);
        return;
    }
    kit_fill_scaled_normal(s, set, m, 0.5);
    kit_fill_uniform(s, set, v, 0.01, 0.05);
}

/* ---- the step ------------------------------------------------------------------------------------------------------ */

/* A temporary of T, and one of the type that T accumulates in. */
static pkb_tensor *stored(const struct problem_call *c, const pkb_tensor *form)
{
    return rt_new_like(c->rt, c->setting->dtype, form);
}

static pkb_tensor *unrounded(const struct problem_call *c, const pkb_tensor *form)
{
    return rt_new_like(c->rt, kit_accumulate_dtype(c->setting), form);
}

/* dst = rnd( rnd(beta * old) + added ) */
static void decay_and_add(const struct problem_call *c, pkb_tensor *dst, const pkb_tensor *old, double beta,
                          const pkb_tensor *added)
{
    pkb_tensor *kept = stored(c, old);
    rt_binary_scalar(c->rt, RT_MUL, kept, old, beta);
    rt_binary(c->rt, RT_ADD, dst, kept, added);
}

void adam_moments(const struct problem_call *c, const struct adam *a, const struct adam_state *old, pkb_tensor *m, pkb_tensor *v)
{
    pkb_tensor *added = unrounded(c, old->g);
    rt_binary_scalar(c->rt, RT_MUL, added, old->g, 1 - a->beta1);
    decay_and_add(c, m, old->m, a->beta1, added);
    rt_unary(c->rt, RT_SQUARE, added, old->g);
    rt_binary_scalar(c->rt, RT_MUL, added, added, 1 - a->beta2);
    decay_and_add(c, v, old->v, a->beta2, added);
}

pkb_tensor *adam_direction(const struct problem_call *c, const struct adam *a, const pkb_tensor *m, const pkb_tensor *v)
{
    pkb_tensor *direction = stored(c, m), *denominator = stored(c, v);
    rt_binary_scalar(c->rt, RT_DIV, denominator, v, a->bc2);
    rt_unary(c->rt, RT_SQRT, denominator, denominator);
    rt_binary_scalar(c->rt, RT_ADD, denominator, denominator, a->eps);
    rt_binary_scalar(c->rt, RT_DIV, direction, m, a->bc1);
    rt_binary(c->rt, RT_DIV, direction, direction, denominator);
    return direction;
}

void adam_update(const struct problem_call *c, const struct adam *a, const pkb_tensor *p, const pkb_tensor *direction,
                 pkb_tensor *updated)
{
    pkb_tensor *change = stored(c, p);
    rt_binary_scalar(c->rt, RT_MUL, change, direction, -a->lr);
    rt_binary(c->rt, RT_ADD, updated, p, change);
}

void adam_update_decayed(const struct problem_call *c, const struct adam *a, const pkb_tensor *p, const pkb_tensor *direction,
                         pkb_tensor *updated)
{
    pkb_tensor *change = unrounded(c, p), *moved = stored(c, p);
    rt_binary_scalar(c->rt, RT_MUL, change, direction, a->lr);
    rt_binary(c->rt, RT_SUB, moved, p, change);
    rt_binary_scalar(c->rt, RT_MUL, change, p, a->lr * a->weight_decay);
    rt_binary(c->rt, RT_SUB, updated, moved, change);
}

/* ---- bounds -------------------------------------------------------------------------------------------------------- */

static void accumulate(const struct problem_call *c, pkb_tensor *sum, const pkb_tensor *term)
{
    rt_binary(c->rt, RT_ADD, sum, sum, term);
}

static pkb_tensor *bound_first_moment(const struct problem_call *c, const struct adam *a, const struct adam_state *old,
                                      const pkb_tensor *dg)
{
    double u = dtype_roundoff(c->setting->dtype);
    pkb_tensor *dm = kit_magnitude(c, old->m, 3 * u * a->beta1);
    accumulate(c, dm, kit_magnitude(c, old->g, 3 * u * (1 - a->beta1)));
    accumulate(c, dm, kit_magnitude(c, dg, 1 - a->beta1));
    rt_binary_scalar(c->rt, RT_ADD, dm, dm, 2 * kit_least_step(c->setting));
    return dm;
}

static pkb_tensor *bound_second_moment(const struct problem_call *c, const struct adam *a, const struct adam_state *old,
                                       const pkb_tensor *v, const pkb_tensor *dg)
{
    pkb_tensor *dv = kit_magnitude(c, v, 3 * dtype_roundoff(c->setting->dtype)), *change = kit_magnitude(c, old->g, 2);
    accumulate(c, change, dg);
    rt_binary(c->rt, RT_MUL, change, change, dg);
    accumulate(c, dv, kit_magnitude(c, change, 1 - a->beta2));
    rt_binary_scalar(c->rt, RT_ADD, dv, dv, 2 * kit_least_step(c->setting));
    return dv;
}

/* |direction| * (dv / (2 * v') + 8 * u), with v' not below the smallest normal number of f32. */
static pkb_tensor *bound_turn(const struct problem_call *c, const pkb_tensor *direction, const pkb_tensor *v,
                              const pkb_tensor *dv)
{
    pkb_tensor *relative = kit_magnitude(c, v, 2), *turn = kit_magnitude(c, direction, 1);
    rt_binary_scalar(c->rt, RT_MAX, relative, relative, ldexp(1, -126));
    rt_binary(c->rt, RT_DIV, relative, dv, relative);
    rt_binary_scalar(c->rt, RT_ADD, relative, relative, 8 * dtype_roundoff(c->setting->dtype));
    rt_binary(c->rt, RT_MUL, turn, turn, relative);
    return turn;
}

/* dm / bc1 / (sqrt(v' / bc2) + eps) */
static pkb_tensor *bound_length(const struct problem_call *c, const struct adam *a, const pkb_tensor *v, const pkb_tensor *dm)
{
    pkb_tensor *denominator = kit_magnitude(c, v, 1 / a->bc2), *length = kit_magnitude(c, dm, 1 / a->bc1);
    rt_unary(c->rt, RT_SQRT, denominator, denominator);
    rt_binary_scalar(c->rt, RT_ADD, denominator, denominator, a->eps);
    rt_binary(c->rt, RT_DIV, length, length, denominator);
    return length;
}

static pkb_tensor *bound_parameters(const struct problem_call *c, const struct adam *a, const struct adam_state *old,
                                    const struct adam_state *now, const struct adam_tensors *b)
{
    double u = dtype_roundoff(c->setting->dtype);
    pkb_tensor *direction = adam_direction(c, a, now->m, now->v), *updated = stored(c, old->p);
    pkb_tensor *dp = bound_turn(c, direction, now->v, b->v);
    accumulate(c, dp, bound_length(c, a, now->v, b->m));
    rt_binary_scalar(c->rt, RT_MUL, dp, dp, a->lr);
    adam_update_decayed(c, a, old->p, direction, updated);
    accumulate(c, dp, kit_magnitude(c, updated, (a->weight_decay > 0 ? 3 : 2) * u));
    accumulate(c, dp, kit_magnitude(c, old->p, 3 * u * a->lr * a->weight_decay));
    rt_binary_scalar(c->rt, RT_ADD, dp, dp, 2 * kit_least_step(c->setting));
    return dp;
}

struct adam_tensors adam_bound(const struct problem_call *c, const struct adam *a, const struct adam_state *old,
                               const pkb_tensor *dg)
{
    pkb_tensor *m = stored(c, old->m), *v = stored(c, old->v);
    struct adam_state now = {.m = m, .v = v};
    struct adam_tensors b;
    adam_moments(c, a, old, m, v);
    b.m = bound_first_moment(c, a, old, dg);
    b.v = bound_second_moment(c, a, old, v, dg);
    b.p = bound_parameters(c, a, old, &now, &b);
    return b;
}
