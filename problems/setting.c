/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: parameter values, their checks, and the random streams and comparisons that follow from them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problems/problem.h"
#include "util/suggest.h"

/* Far above any size, and small enough that its products with numbers of ranks do not overflow. */
#define LARGEST_INTEGER 1099511627776.0

void problem_setting_init(struct problem_setting *s, const struct problem *p, enum problem_shape shape, int dtype, int rank,
                          int world)
{
    memset(s, 0, sizeof(*s));
    s->problem = p;
    s->dtype = dtype;
    s->rank = rank;
    s->world = world;
    s->atol = 0.01;
    s->rtol = 0.01;
    for (int i = 0; i < p->n_params; i++)
        s->params[i] = shape == SHAPE_TINY ? p->params[i].tiny : p->params[i].paper;
}

static int find_param(const struct problem *p, const char *name)
{
    for (int i = 0; i < p->n_params; i++) {
        if (strcmp(p->params[i].name, name) == 0)
            return i;
    }
    return -1;
}

static int unknown_param(const struct problem *p, const char *name, struct pkb_error *err)
{
    const char *names[PROBLEM_MAX_PARAMS];
    char list[512] = "";
    for (int i = 0; i < p->n_params; i++) {
        names[i] = p->params[i].name;
        size_t used = strlen(list);
        (void)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", names[i]);
    }
    const char *near = pkb_suggest(name, names, (size_t)p->n_params);
    if (near)
        return pkb_error_set(err, "%s has no parameter '%s'; did you mean '%s'?", p->name, name, near);
    return pkb_error_set(err, "%s has no parameter '%s'; it has: %s", p->name, name, list);
}

/* An integer parameter is a size, a count or a rank: whole and not negative. */
static int check_param(const struct problem_param *param, double value, struct pkb_error *err)
{
    if (!isfinite(value))
        return pkb_error_set(err, "%s = %g is not a finite number", param->name, value);
    if (!param->integer)
        return 0;
    if (value != floor(value))
        return pkb_error_set(err, "%s = %g is not a whole number", param->name, value);
    if (value < 0)
        return pkb_error_set(err, "%s = %.0f is negative", param->name, value);
    if (value > LARGEST_INTEGER)
        return pkb_error_set(err, "%s = %g is too large", param->name, value);
    return 0;
}

int problem_setting_override(struct problem_setting *s, const char *name, double value, struct pkb_error *err)
{
    const struct problem *p = s->problem;
    int i = find_param(p, name);
    if (i < 0)
        return unknown_param(p, name, err);
    if (check_param(&p->params[i], value, err) < 0)
        return pkb_error_prefix(err, "%s", p->name);
    s->params[i] = value;
    return 0;
}

static int check_world(const struct problem_setting *s, struct pkb_error *err)
{
    if (s->world < 1 || s->world > PROBLEM_MAX_WORLD)
        return pkb_error_set(err, "%d ranks: must be 1 to %d", s->world, PROBLEM_MAX_WORLD);
    if (s->rank < 0 || s->rank >= s->world)
        return pkb_error_set(err, "rank %d is not one of the %d ranks", s->rank, s->world);
    return 0;
}

static int check_numbers(const struct problem_setting *s, struct pkb_error *err)
{
    const struct problem *p = s->problem;
    if (s->dtype != PKB_BF16 && s->dtype != PKB_F16 && s->dtype != PKB_F32 && s->dtype != PKB_F64)
        return pkb_error_set(err, "dtype %s: must be bf16, f16, f32 or f64", dtype_name(s->dtype));
    if (!(isfinite(s->atol) && s->atol >= 0 && isfinite(s->rtol) && s->rtol >= 0))
        return pkb_error_set(err, "tolerances %g, %g: must be finite and not negative", s->atol, s->rtol);
    for (int i = 0; i < p->n_params; i++) {
        if (check_param(&p->params[i], s->params[i], err) < 0)
            return -1;
    }
    return 0;
}

/* Every rank must have something to compute: a cell without elements would be correct whatever the candidate does. */
static int check_tensors(const struct problem_setting *s, struct pkb_error *err)
{
    struct problem_tensor in[PROBLEM_MAX_TENSORS], out[PROBLEM_MAX_TENSORS];
    size_t bytes;
    int n_in = s->problem->inputs(s, in), n_out = s->problem->outputs(s, out);
    for (int i = 0; i < n_in; i++) {
        if (tensor_bytes(&in[i].form, &bytes, err) < 0)
            return pkb_error_prefix(err, "input %s", in[i].name);
    }
    for (int i = 0; i < n_out; i++) {
        if (tensor_bytes(&out[i].form, &bytes, err) < 0)
            return pkb_error_prefix(err, "output %s", out[i].name);
        if (bytes == 0)
            return pkb_error_set(err, "output %s has no elements", out[i].name);
    }
    return problem_check_marks(in, n_in, out, n_out, err);
}

int problem_setting_check(const struct problem_setting *s, struct pkb_error *err)
{
    const struct problem *p = s->problem;
    int rc = check_world(s, err);
    if (rc == 0)
        rc = check_numbers(s, err);
    if (rc == 0 && p->supports)
        rc = p->supports(s, err);
    if (rc == 0)
        rc = check_tensors(s, err);
    return rc == 0 ? 0 : pkb_error_prefix(err, "%s", p->name);
}

static double param_value(const struct problem *p, const double *params, const char *name)
{
    int i = find_param(p, name);
    if (i < 0) {
        fprintf(stderr, "%s: there is no parameter '%s'\n", p->name, name);
        abort();
    }
    return params[i];
}

double problem_real(const struct problem_setting *s, const char *name)
{
    return param_value(s->problem, s->params, name);
}

int64_t problem_int(const struct problem_setting *s, const char *name)
{
    return (int64_t)problem_real(s, name);
}

double problem_call_real(const struct problem_call *c, const char *name)
{
    return param_value(c->setting->problem, c->params, name);
}

int64_t problem_call_int(const struct problem_call *c, const char *name)
{
    return (int64_t)problem_call_real(c, name);
}

struct rng problem_rng(const struct problem_setting *s, const struct problem_inputs *set, uint32_t tensor)
{
    return rng_make((uint32_t)s->problem->id, s->seed, set->trial, (uint32_t)s->rank, tensor);
}

struct rng problem_rng_shared(const struct problem_setting *s, const struct problem_inputs *set, uint32_t tensor)
{
    return rng_make((uint32_t)s->problem->id, s->seed, set->trial, RNG_ALL_RANKS, tensor);
}

void problem_check_for(const struct problem_setting *s, int output, struct problem_check *check)
{
    struct problem_tensor out[PROBLEM_MAX_TENSORS];
    if (problem_counts_rows(out, s->problem->outputs(s, out), output))
        *check = (struct problem_check){.kind = CHECK_EXACT};
    else if (s->tolerance == PROFILE_PKB)
        *check = (struct problem_check){.kind = CHECK_CLOSE, .atol = s->atol, .rtol = s->rtol};
    else
        s->problem->check(s, output, check);
}
