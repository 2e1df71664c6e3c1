/* SPDX-License-Identifier: Apache-2.0 */
/* The role "reference": trusted code that makes the inputs of all sets and computes what is expected of each. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "node_agent/runner.h"

static int reference_open(struct runner *r, const char *path)
{
    (void)r;
    (void)path;
    return 0;
}

static void reference_close(struct runner *r)
{
    (void)r;
}

static void reference_prepare(struct runner *r)
{
    struct runner_call *c = &r->call;
    c->reference = (struct problem_call){
        .rt = r->rt,
        .world = rt_world(r->rt),
        .setting = &r->setting,
        .params = c->params,
        .in = c->in,
        .out = c->out,
    };
}

static int reference_call(struct runner *r)
{
    r->setting.problem->reference(&r->call.reference);
    return 0;
}

/* Makes the inputs of one set in the shared memory. */
static void make_inputs(struct runner *r, const struct segment *inputs, int set)
{
    const struct segment_layout *l = &r->layout;
    struct problem_inputs made = {.trial = (uint32_t)set};
    memcpy(made.params, r->setting.params, sizeof(made.params));
    for (int k = 0; k < l->n_in; k++) {
        made.in[k] = l->in[k].form;
        made.in[k].data = runner_at(inputs, l->in_stride, set, l->in_offset[k]);
    }
    r->setting.problem->init(&r->setting, &made);
    memcpy(runner_at(inputs, l->in_stride, set, 0), made.params, sizeof(made.params));
}

/* Computes the tolerances and the evidence that go with the outputs of the last call and enqueues their download. */
static int store_tolerances(struct runner *r, int set)
{
    const struct segment_layout *l = &r->layout;
    pkb_tensor *tol[PROBLEM_MAX_TENSORS] = {NULL};
    int n = l->n_evidence;
    for (int k = 0; k < l->n_out; k++) {
        if (l->check[k].kind != CHECK_BOUND)
            continue;
        tol[k] = rt_new_like(r->rt, PKB_F32, &l->out[k].form);
        n++;
    }
    for (int k = 0; k < l->n_evidence; k++)
        tol[l->n_out + k] = rt_new_like(r->rt, l->evidence[k].form.dtype, &l->evidence[k].form);
    if (n == 0)
        return 0;
    if (!r->setting.problem->bound)
        return runner_fail(r, OUTCOME_INFRA_ERROR, "%s has no bound", r->setting.problem->name);
    for (int k = 0; k < l->n_out + l->n_evidence; k++)
        if (tol[k])
            rt_fill_bytes(r->rt, tol[k], 0); /* what of them has no meaning is the same in every run */
    r->setting.problem->bound(&r->call.reference, tol);
    for (int k = 0; k < l->n_out; k++)
        if (tol[k])
            rt_download(r->rt, runner_at(&r->results, l->expected_stride, set, l->tolerance_offset[k]), tol[k]);
    for (int k = 0; k < l->n_evidence; k++)
        rt_download(r->rt, runner_at(&r->results, l->expected_stride, set, l->evidence_offset[k]), tol[l->n_out + k]);
    return 0;
}

/* The numbers of rows in a set's outputs, which the agent relies on. */
static int check_counts(struct runner *r, int set)
{
    const struct segment_layout *l = &r->layout;
    pkb_tensor out[PROBLEM_MAX_TENSORS];
    struct pkb_error err;
    int64_t rows;
    for (int k = 0; k < l->n_out; k++) {
        out[k] = l->out[k].form;
        out[k].data = runner_at(&r->results, l->expected_stride, set, l->expected_offset[k]);
    }
    for (int k = 0; k < l->n_out; k++)
        if (problem_rows(l->out, out, k, &rows, &err) < 0)
            return runner_fail(r, OUTCOME_INFRA_ERROR, "the reference: %s", err.text);
    return 0;
}

static int compute_set(struct runner *r, int set)
{
    const struct segment_layout *l = &r->layout;
    struct runner_frame *frame = &r->frames[set % r->n_pool];
    runner_number(r, (uint32_t)set, false);
    runner_upload_set(r, set, frame->in);
    runner_ready_outputs(r, frame);
    if (runner_settle(r) < 0)
        return -1;
    runner_prepare(r, frame, runner_params(r, set));
    if (runner_called(r, runner_call(r), r->role->name) < 0)
        return -1;
    for (int k = 0; k < l->n_out; k++)
        rt_download(r->rt, runner_at(&r->results, l->expected_stride, set, l->expected_offset[k]), &frame->out[k]);
    if (store_tolerances(r, set) < 0 || runner_sync(r, "reference") < 0 || check_counts(r, set) < 0)
        return -1;
    rt_release_all(r->rt);
    return 0;
}

static int compute_all(struct runner *r, const struct segment *inputs)
{
    for (int set = 0; set < r->layout.sets; set++) {
        make_inputs(r, inputs, set);
        if (compute_set(r, set) < 0)
            return -1;
    }
    return 0;
}

static int reference_trials(struct runner *r)
{
    struct segment inputs = SEGMENT_NONE;
    struct pkb_error err;
    int fd = fcntl(PROTOCOL_INPUTS, F_DUPFD_CLOEXEC, 0);
    if (r->results.data)
        return runner_fail(r, OUTCOME_INFRA_ERROR, "trials: already done");
    if (fd < 0)
        return runner_fail(r, OUTCOME_INFRA_ERROR, "inputs: cannot duplicate the descriptor");
    if (segment_map(fd, r->layout.inputs_size, 1, &inputs, &err) < 0) {
        (void)close(fd);
        return runner_fail(r, OUTCOME_INFRA_ERROR, "inputs: %s", err.text);
    }
    int rc = segment_map(PROTOCOL_RESULTS, r->layout.expected_size, 1, &r->results, &err);
    rc = rc < 0 ? runner_fail(r, OUTCOME_INFRA_ERROR, "results: %s", err.text) : compute_all(r, &inputs);
    segment_destroy(&inputs);
    return rc;
}

const struct runner_role runner_reference = {
    .name = "the reference",
    .blame = OUTCOME_INFRA_ERROR,
    .open = reference_open,
    .prepare = reference_prepare,
    .call = reference_call,
    .trials = reference_trials,
    .close = reference_close,
};
