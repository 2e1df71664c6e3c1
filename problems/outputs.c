/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs as a whole: their marks, how many rows of each count, and the comparison of one with the reference's. */
#include <string.h>

#include "problems/problem.h"

static bool is_count(const pkb_tensor *form)
{
    return form->dtype == PKB_I64 && form->ndim == 0;
}

/* What counts the rows of tensor k: one of the n tensors, or for inputs something else. */
static int check_rows(const struct problem_tensor *t, int n, int k, bool input, struct pkb_error *err)
{
    if (t[k].rows_in == 0)
        return 0;
    if (t[k].form.ndim == 0)
        return pkb_error_set(err, "%s has no rows that could be counted", t[k].name);
    if (input && t[k].rows_in == ROWS_ELSEWHERE)
        return 0;
    if (t[k].rows_in < 1 || t[k].rows_in > n || !is_count(&t[t[k].rows_in - 1].form))
        return pkb_error_set(err, "the rows of %s are counted by no i64 scalar", t[k].name);
    return 0;
}

static int check_in_place(const struct problem_tensor *in, int n_in, const struct problem_tensor *out, struct pkb_error *err)
{
    if (out->in_place == 0)
        return 0;
    if (out->in_place < 1 || out->in_place > n_in || !tensor_same_form(&out->form, &in[out->in_place - 1].form))
        return pkb_error_set(err, "output %s is updated in place, but no input has its form", out->name);
    return 0;
}

int problem_check_marks(const struct problem_tensor *in, int n_in, const struct problem_tensor *out, int n_out,
                        struct pkb_error *err)
{
    for (int k = 0; k < n_in; k++) {
        if (in[k].in_place != 0)
            return pkb_error_set(err, "input %s cannot be an output updated in place", in[k].name);
        if (check_rows(in, n_in, k, true, err) < 0)
            return -1;
    }
    for (int k = 0; k < n_out; k++) {
        if (out[k].host)
            return pkb_error_set(err, "output %s cannot be an input that the host reads", out[k].name);
        if (check_rows(out, n_out, k, false, err) < 0 || check_in_place(in, n_in, &out[k], err) < 0)
            return -1;
    }
    return 0;
}

bool problem_counts_rows(const struct problem_tensor *out, int n_out, int k)
{
    for (int i = 0; i < n_out; i++) {
        if (out[i].rows_in == 1 + k)
            return true;
    }
    return false;
}

int problem_rows(const struct problem_tensor *out, const pkb_tensor *values, int k, int64_t *rows, struct pkb_error *err)
{
    int64_t most = out[k].form.ndim > 0 ? out[k].form.shape[0] : 1;
    *rows = most;
    if (out[k].rows_in == 0)
        return 0;
    const struct problem_tensor *count = &out[out[k].rows_in - 1];
    memcpy(rows, values[out[k].rows_in - 1].data, sizeof(*rows));
    if (*rows >= 0 && *rows <= most)
        return 0;
    return pkb_error_set(err, "%s counts %lld rows of %s, which has room for %lld", count->name, (long long)*rows, out[k].name,
                         (long long)most);
}

int problem_evidence_of(const struct problem_setting *s, struct problem_tensor *t)
{
    struct problem_tensor out[PROBLEM_MAX_TENSORS];
    struct problem_check check;
    int n = s->problem->evidence ? s->problem->outputs(s, out) : 0;
    for (int k = 0; k < n; k++) {
        problem_check_for(s, k, &check);
        if (check.kind == CHECK_OWN)
            return s->problem->evidence(s, t);
    }
    return 0;
}

/* An output as it is compared: the rows that count. */
static int counted(const struct problem_results *r, const pkb_tensor *values, int k, pkb_tensor *t, struct pkb_error *err)
{
    int64_t rows;
    if (problem_rows(r->out, r->expected, k, &rows, err) < 0)
        return -1;
    *t = values[k];
    if (r->out[k].rows_in != 0)
        t->shape[0] = rows;
    return 0;
}

static int verify(const struct problem_results *r, int k, struct problem_difference *d, struct pkb_error *err)
{
    pkb_tensor expected[PROBLEM_MAX_TENSORS], actual[PROBLEM_MAX_TENSORS];
    const struct problem_evidence e = {r->setting, expected, actual, r->evidence};
    for (int i = 0; i < r->n_out; i++) {
        if (counted(r, r->expected, i, &expected[i], err) < 0 || counted(r, r->actual, i, &actual[i], err) < 0)
            return -1;
    }
    memset(d, 0, sizeof(*d));
    d->first = d->first_row = -1;
    r->setting->problem->verify(&e, k, d);
    return 0;
}

int problem_judge(const struct problem_results *r, int k, struct problem_difference *d, struct pkb_error *err)
{
    struct problem_check check;
    pkb_tensor expected, actual;
    problem_check_for(r->setting, k, &check);
    if (check.kind == CHECK_OWN)
        return verify(r, k, d, err);
    if (counted(r, r->expected, k, &expected, err) < 0 || counted(r, r->actual, k, &actual, err) < 0)
        return -1;
    problem_compare(&check, r->setting->tolerance, &expected, &actual, r->tol[k], d);
    return 0;
}
