/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing what a candidate left in shared memory with what it should be. */
#include "node_agent/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *at(const void *base, size_t stride, int index, size_t offset)
{
    return (const char *)base + stride * (size_t)index + offset;
}

static pkb_tensor tensor_at(const struct problem_tensor *t, const char *data)
{
    pkb_tensor tensor = t->form;
    tensor.data = (void *)(uintptr_t)data;
    return tensor;
}

/* A form as the candidate left it may be nonsense: dimensions are shown only where there can be some. */
static void describe_form(const pkb_tensor *form, char *text, size_t size)
{
    if (form->ndim < 0 || form->ndim > PKB_MAX_DIMS || dtype_size(form->dtype) == 0)
        (void)snprintf(text, size, "dtype %d with %d dimensions", form->dtype, form->ndim);
    else
        tensor_describe(form, text, size);
}

static int check_form(const struct problem_tensor *want, const pkb_tensor *got, int tensor, struct judge_verdict *v)
{
    char expected[128], actual[128];
    bool same = tensor_same_form(&want->form, got);
    if (same && !got->data)
        return 0;
    v->outcome = OUTCOME_SHAPE_MISMATCH;
    v->tensor = tensor;
    tensor_describe(&want->form, expected, sizeof(expected));
    describe_form(got, actual, sizeof(actual));
    if (same)
        (void)snprintf(v->detail, sizeof(v->detail),
                       "output %s: its data pointer was replaced; results must be written to the buffer that is given",
                       want->name);
    else
        (void)snprintf(v->detail, sizeof(v->detail), "output %s: expected %s, got %s", want->name, expected, actual);
    return -1;
}

static int check_forms(const struct judge_view *view, int slot, struct judge_verdict *v)
{
    const struct segment_layout *l = view->layout;
    pkb_tensor forms[PROBLEM_MAX_TENSORS];
    memcpy(forms, at(view->slots, l->slot_stride, slot, 0), sizeof(forms));
    for (int i = 0; i < l->n_out; i++)
        if (check_form(&l->out[i], &forms[i], i, v) < 0)
            return -1;
    return 0;
}

/* The larger one, where NaN is larger than all. */
static double larger(double a, double b)
{
    return a != a || a > b ? a : b;
}

/* Everything that outputs are compared with, and the outputs. */
struct results {
    pkb_tensor expected[PROBLEM_MAX_TENSORS], actual[PROBLEM_MAX_TENSORS], evidence[PROBLEM_MAX_TENSORS];
    const float *tol[PROBLEM_MAX_TENSORS];
    void *copy[PROBLEM_MAX_TENSORS]; /* of the actual ones, where an own check looks at them; else NULL */
};

static void find_results(const struct judge_view *view, int set, int slot, struct results *r)
{
    const struct segment_layout *l = view->layout;
    *r = (struct results){.copy = {NULL}};
    for (int k = 0; k < l->n_out; k++) {
        r->expected[k] = tensor_at(&l->out[k], at(view->expected, l->expected_stride, set, l->expected_offset[k]));
        r->actual[k] = tensor_at(&l->out[k], at(view->slots, l->slot_stride, slot, l->out_offset[k]));
        if (l->check[k].kind == CHECK_BOUND)
            r->tol[k] = (const float *)(const void *)at(view->expected, l->expected_stride, set, l->tolerance_offset[k]);
    }
    for (int k = 0; k < l->n_evidence; k++)
        r->evidence[k] = tensor_at(&l->evidence[k], at(view->expected, l->expected_stride, set, l->evidence_offset[k]));
}

static int infra(struct judge_verdict *v, const char *why)
{
    v->outcome = OUTCOME_INFRA_ERROR;
    (void)snprintf(v->detail, sizeof(v->detail), "%.500s", why);
    return -1;
}

/* Own checks take what they read for granted once they have looked at it, so they get a copy that stays as it is. */
static int copy_actual(const struct segment_layout *l, struct results *r, struct judge_verdict *v)
{
    bool own = false;
    for (int k = 0; k < l->n_out; k++)
        own = own || l->check[k].kind == CHECK_OWN;
    for (int k = 0; own && k < l->n_out; k++) {
        r->copy[k] = malloc(l->out_bytes[k] + 1);
        if (!r->copy[k])
            return infra(v, "out of memory for the outputs");
        memcpy(r->copy[k], r->actual[k].data, l->out_bytes[k]);
        r->actual[k].data = r->copy[k];
    }
    return 0;
}

static void free_copies(struct results *r)
{
    for (int k = 0; k < PROBLEM_MAX_TENSORS; k++)
        free(r->copy[k]);
}

/* Says what a wrong number of rows means. */
static void describe_count(const struct segment_layout *l, int k, struct judge_verdict *v)
{
    for (int i = 0; i < l->n_out; i++) {
        if (l->out[i].rows_in != 1 + k)
            continue;
        (void)snprintf(v->detail, sizeof(v->detail), "output %s: %s has %.0f rows, not %.0f", l->out[k].name, l->out[i].name,
                       v->difference.expected, v->difference.actual);
        return;
    }
}

static int check_output(const struct judge_view *view, const struct results *r, int k, struct judge_verdict *v)
{
    const struct segment_layout *l = view->layout;
    const struct problem_results all = {view->setting, l->n_out, l->out, r->expected, r->actual, r->tol, r->evidence};
    struct pkb_error err;
    char text[400];
    if (problem_judge(&all, k, &v->difference, &err) < 0)
        return infra(v, err.text);
    v->max_abs = larger(v->difference.max_abs, v->max_abs);
    v->max_rel = larger(v->difference.max_rel, v->max_rel);
    if (v->difference.ok)
        return 0;
    v->outcome = OUTCOME_VALUE_MISMATCH;
    v->tensor = k;
    problem_difference_describe(&v->difference, l->out[k].form.ndim, text, sizeof(text));
    (void)snprintf(v->detail, sizeof(v->detail), "output %s: %s", l->out[k].name, text);
    if (problem_counts_rows(l->out, l->n_out, k))
        describe_count(l, k, v);
    return -1;
}

/* The reference's runner looks at them too, but it is another process. */
static int check_counts(const struct segment_layout *l, const struct results *r, struct judge_verdict *v)
{
    struct pkb_error err;
    int64_t rows;
    for (int k = 0; k < l->n_out; k++)
        if (problem_rows(l->out, r->expected, k, &rows, &err) < 0)
            return infra(v, err.text);
    return 0;
}

/* Numbers of rows first: they explain what else is wrong. */
static int check_outputs(const struct judge_view *view, int set, int slot, struct judge_verdict *v)
{
    const struct segment_layout *l = view->layout;
    struct results r;
    find_results(view, set, slot, &r);
    int rc = check_counts(l, &r, v);
    if (rc == 0)
        rc = copy_actual(l, &r, v);
    for (int counts = 1; counts >= 0; counts--)
        for (int k = 0; k < l->n_out && rc == 0; k++)
            if (problem_counts_rows(l->out, l->n_out, k) == (counts == 1))
                rc = check_output(view, &r, k, v);
    free_copies(&r);
    return rc;
}

static int check_input(const struct judge_view *view, int set, int slot, int k, struct judge_verdict *v)
{
    const struct segment_layout *l = view->layout;
    const char *given = at(view->inputs, l->in_stride, set, l->in_offset[k]);
    const char *after = at(view->slots, l->slot_stride, slot, l->after_offset[k]);
    if (memcmp(given, after, l->in_bytes[k]) == 0)
        return 0;
    v->outcome = OUTCOME_VALUE_MISMATCH;
    v->tensor = k;
    v->input = true;
    (void)snprintf(v->detail, sizeof(v->detail), "input %s was modified; inputs must not be written", l->in[k].name);
    return -1;
}

static int check_all(const struct judge_view *view, int set, int slot, struct judge_verdict *v)
{
    const struct segment_layout *l = view->layout;
    if (check_forms(view, slot, v) < 0)
        return -1;
    if (check_outputs(view, set, slot, v) < 0)
        return -1;
    for (int k = 0; k < l->n_in; k++)
        if (check_input(view, set, slot, k, v) < 0)
            return -1;
    return 0;
}

static void judge_slot(const struct judge_view *view, int set, int slot, const char *what, int number, struct judge_verdict *v)
{
    char detail[sizeof(v->detail)];
    memset(v, 0, sizeof(*v));
    v->outcome = OUTCOME_CORRECT;
    v->tensor = -1;
    v->difference.first = -1;
    if (check_all(view, set, slot, v) == 0)
        return;
    memcpy(detail, v->detail, sizeof(detail));
    (void)snprintf(v->detail, sizeof(v->detail), "%s %d: %.450s", what, number, detail);
}

void judge_trial(const struct judge_view *view, int trial, struct judge_verdict *verdict)
{
    judge_slot(view, trial, trial, "trial", trial, verdict);
}

void judge_sample(const struct judge_view *view, int sample, int iteration, struct judge_verdict *verdict)
{
    judge_slot(view, judge_set_of_iteration(view->layout, iteration), view->layout->trials + sample, "timed iteration", iteration,
               verdict);
}

int judge_set_of_iteration(const struct segment_layout *l, int iteration)
{
    return l->trials + iteration % (l->sets - l->trials);
}
