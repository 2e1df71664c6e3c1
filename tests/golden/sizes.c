/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of a golden case: the arrays have shapes, a problem has parameters. */
#include <string.h>

#include "tests/golden/case.h"

/* Sweeps over all parameters; each settles at least one size. */
#define SWEEPS 4

/* What a tensor without an array counts, and an array without a tensor. */
#define MISSING 32

/* Whether a tensor's values come from elsewhere: a scalar of its name, the number of rows of another tensor, an input that stays. */
static bool follows(const struct golden_case *c, const struct problem_tensor *t, int n, int k, int rank)
{
    return problem_counts_rows(t, n, k) || t[k].in_place || golden_scalar(c, t[k].name, rank);
}

/* How far some tensors are from the case's arrays on a rank. */
static int tensors_mismatch(const struct golden_case *c, const struct golden_arrays *arrays, const struct problem_tensor *t,
                            int n, int rank)
{
    int wrong = 0, used = 0;
    for (int k = 0; k < n; k++) {
        struct golden_source source;
        golden_source_find(arrays, t[k].name, &source);
        if (source.n == 0)
            wrong += follows(c, t, n, k, rank) ? 0 : MISSING;
        else
            wrong += golden_source_mismatch(&source, rank, &t[k]);
        used += source.n;
    }
    return wrong + (arrays->n > used ? (arrays->n - used) * MISSING : 0);
}

/* How far the setting's shapes are from the case's, on all ranks. */
static int mismatch(const struct golden_case *c, const struct problem_setting *s)
{
    struct problem_tensor t[PROBLEM_MAX_TENSORS];
    struct problem_setting on = *s;
    int wrong = 0;
    for (on.rank = 0; on.rank < s->world; on.rank++) {
        int n = s->problem->inputs(&on, t);
        wrong += tensors_mismatch(c, &c->in, t, n, on.rank);
        n = s->problem->outputs(&on, t);
        wrong += tensors_mismatch(c, &c->out, t, n, on.rank);
    }
    return wrong;
}

/* The largest size that a parameter may have: a shape's entry may be a rank's share of it. */
static int64_t largest_candidate(const struct golden_case *c)
{
    int64_t largest = 1;
    for (int i = 0; i < c->in.n; i++) {
        const struct golden_array *array = &c->in.list[i];
        for (int q = 0; q < c->setting.world; q++) {
            for (int d = 0; d < array->ndim[q]; d++)
                largest = array->shape[q][d] > largest ? array->shape[q][d] : largest;
        }
    }
    return largest * c->setting.world;
}

/* 0 is a size only where the problem says so. */
static bool may_be(const struct problem_setting *s, int64_t value)
{
    return value > 0 || (s->problem->supports && s->problem->supports(s, NULL) == 0);
}

/* Gives one parameter its best value; the present one stays unless another is better. */
static int improve(struct golden_case *c, int param, int best)
{
    struct problem_setting trial = c->setting;
    int64_t largest = largest_candidate(c);
    for (int64_t value = 0; value <= largest && best > 0; value++) {
        trial.params[param] = (double)value;
        int wrong = may_be(&trial, value) ? mismatch(c, &trial) : best;
        if (wrong < best) {
            best = wrong;
            c->setting.params[param] = (double)value;
        }
    }
    return best;
}

/* Words the first mismatch of some tensors. */
static int explain_tensors(const struct golden_case *c, const struct golden_arrays *arrays, const struct problem_tensor *t, int n,
                           int rank, const char *what, struct pkb_error *err)
{
    for (int k = 0; k < n; k++) {
        struct golden_source source;
        golden_source_find(arrays, t[k].name, &source);
        if (source.n == 0 && follows(c, t, n, k, rank))
            continue;
        if (golden_source_fits(&source, rank, &t[k], err) < 0)
            return pkb_error_prefix(err, "%s %s on rank %d", what, t[k].name, rank);
    }
    return 0;
}

static int explain(const struct golden_case *c, struct pkb_error *err)
{
    struct problem_tensor t[PROBLEM_MAX_TENSORS];
    struct problem_setting on = c->setting;
    int rc = 0;
    for (on.rank = 0; on.rank < on.world && rc == 0; on.rank++) {
        int n = on.problem->inputs(&on, t);
        rc = explain_tensors(c, &c->in, t, n, on.rank, "input", err);
        n = on.problem->outputs(&on, t);
        if (rc == 0)
            rc = explain_tensors(c, &c->out, t, n, on.rank, "output", err);
    }
    if (rc == 0)
        return pkb_error_set(err, "the case has arrays that are no tensors of the problem");
    return pkb_error_prefix(err, "no values of the problem's parameters give the shapes of the case");
}

int golden_infer_sizes(struct golden_case *c, const bool fixed[PROBLEM_MAX_PARAMS], struct pkb_error *err)
{
    const struct problem *p = c->problem;
    int wrong = mismatch(c, &c->setting);
    for (int sweep = 0; sweep < SWEEPS && wrong > 0; sweep++) {
        for (int i = 0; i < p->n_params && wrong > 0; i++) {
            if (p->params[i].integer && !fixed[i])
                wrong = improve(c, i, wrong);
        }
    }
    return wrong > 0 ? explain(c, err) : 0;
}
