/* SPDX-License-Identifier: Apache-2.0 */
/* The timed loop. Every iteration gets inputs that its buffers did not hold before, and poisoned outputs; which iterations
 * are checked afterwards shows in nothing that the solution can see beforehand.
 *
 * A frame is filled as soon as its last use is over, so that a whole rotation lies between filling and use: what a device
 * caches of it is gone by then (runner_engine.c says how many frames that takes). Nothing in the loop waits for the device, unless
 * the host may read some inputs: then every call starts on an idle one. */
#include <stdlib.h>
#include <string.h>

#include "node_agent/runner.h"
#include "util/clock.h"

struct loop {
    const struct runner_timing *timing;
    int *slot;         /* per iteration: sample slot, -1: not sampled */
    pkb_tensor *forms; /* per sample: PROBLEM_MAX_TENSORS forms as they were left */
};

static void loop_close(struct loop *l)
{
    free(l->slot);
    free(l->forms);
}

static int loop_open(struct runner *r, const struct runner_timing *t, struct loop *l)
{
    size_t n = (size_t)t->iterations, samples = (size_t)t->n_samples;
    *l = (struct loop){.timing = t};
    l->slot = calloc(n + 1, sizeof(*l->slot));
    l->forms = calloc(samples * PROBLEM_MAX_TENSORS + 1, sizeof(*l->forms));
    if (!l->slot || !l->forms)
        return runner_fail(r, OUTCOME_INFRA_ERROR, "out of memory for %d iterations", t->iterations);
    for (int i = 0; i < t->iterations; i++)
        l->slot[i] = -1;
    for (int s = 0; s < t->n_samples; s++)
        l->slot[t->samples[s]] = s;
    return 0;
}

static int load_sets(struct runner *r)
{
    int n = r->layout.sets - r->layout.trials;
    for (int t = 0; !r->sets_loaded && t < n; t++)
        runner_upload_set(r, r->layout.trials + t, r->sets[t].in);
    r->sets_loaded = true;
    return runner_sync(r, "uploading inputs");
}

static struct runner_frame *frame_of(const struct runner *r, int iteration)
{
    return &r->frames[iteration % r->n_pool];
}

static int set_of(const struct runner *r, int iteration)
{
    return iteration % (r->layout.sets - r->layout.trials);
}

static void copy_tensors(struct runner *r, const pkb_tensor *to, const pkb_tensor *from, int n)
{
    for (int k = 0; k < n; k++) {
        pkb_tensor dst = to[k];
        rt_copy(r->rt, &dst, &from[k]);
    }
}

/* Makes an iteration's frame ready. */
static void fill(struct runner *r, int iteration)
{
    const struct runner_frame *frame = frame_of(r, iteration);
    copy_tensors(r, frame->in, r->sets[set_of(r, iteration)].in, r->layout.n_in);
    runner_ready_outputs(r, frame);
}

/* As many as rotate. */
static void fill_first(struct runner *r, int iterations)
{
    for (int i = 0; i < iterations && i < r->n_pool; i++)
        fill(r, i);
}

/* What comes before a call and is not timed. */
static int before_call(struct runner *r, int iteration)
{
    runner_number(r, (uint32_t)iteration, true);
    if (runner_settle(r) < 0)
        return -1;
    runner_prepare(r, frame_of(r, iteration), runner_params(r, r->layout.trials + set_of(r, iteration)));
    runner_barrier(r);
    return 0;
}

static void after_call(struct runner *r, int iteration, int iterations)
{
    if (r->role == &runner_reference)
        rt_release_all(r->rt);
    if (iteration + r->n_pool < iterations)
        fill(r, iteration + r->n_pool);
}

static int warm_up(struct runner *r, struct loop *l)
{
    int n = l->timing->warmup;
    fill_first(r, n);
    for (int i = 0; i < n; i++) {
        if (before_call(r, i) < 0 || runner_called(r, runner_call(r), r->role->name) < 0)
            return -1;
        after_call(r, i, n);
    }
    return 0;
}

/* A copy of what a sampled iteration has left, in the order of the stream: what comes later does not count. */
static void keep_sample(struct runner *r, struct loop *l, int iteration)
{
    int s = l->slot[iteration];
    if (s < 0)
        return;
    const struct runner_frame *from = frame_of(r, iteration), *to = &r->frames[r->n_pool + s];
    copy_tensors(r, to->in, from->in, r->layout.n_in);
    copy_tensors(r, to->out, from->out, r->layout.n_out);
    pkb_tensor *forms = &l->forms[s * PROBLEM_MAX_TENSORS];
    memcpy(forms, r->call.out, sizeof(r->call.out));
    for (int k = 0; k < PROBLEM_MAX_TENSORS; k++)
        if (forms[k].data == from->out[k].data)
            forms[k].data = to->out[k].data;
}

static int timed(struct runner *r, struct loop *l)
{
    int n = l->timing->iterations;
    fill_first(r, n);
    for (int i = 0; i < n; i++) {
        if (before_call(r, i) < 0)
            return -1;
        rt_event_record(r->rt, 2 * i);
        int rc = runner_call(r);
        rt_event_record(r->rt, 2 * i + 1);
        if (runner_called(r, rc, r->role->name) < 0)
            return -1;
        keep_sample(r, l, i);
        after_call(r, i, n);
    }
    return 0;
}

static int store_samples(struct runner *r, struct loop *l)
{
    for (int s = 0; s < l->timing->n_samples; s++)
        runner_store(r, &r->frames[r->n_pool + s], &l->forms[s * PROBLEM_MAX_TENSORS], r->layout.trials + s);
    return runner_sync(r, "storing outputs");
}

static double *elapsed(struct runner *r, int iterations)
{
    double *ns = calloc((size_t)iterations + 1, sizeof(*ns));
    if (!ns) {
        runner_fail(r, OUTCOME_INFRA_ERROR, "out of memory for %d iterations", iterations);
        return NULL;
    }
    for (int i = 0; i < iterations; i++)
        ns[i] = rt_event_elapsed_ns(r->rt, 2 * i, 2 * i + 1);
    return ns;
}

static int run_loop(struct runner *r, struct loop *l, double **ns, int64_t *total_ns)
{
    struct pkb_error err;
    if (rt_events(r->rt, 2 * l->timing->iterations, &err) < 0)
        return runner_fail(r, OUTCOME_INFRA_ERROR, "%s", err.text);
    if (load_sets(r) < 0 || warm_up(r, l) < 0 || runner_sync(r, "warm-up") < 0)
        return -1;
    int64_t start = pkb_now_ns();
    if (timed(r, l) < 0 || runner_sync(r, "timed loop") < 0)
        return -1;
    *total_ns = pkb_now_ns() - start;
    runner_number(r, RUNNER_NO_CALL, true);
    if (store_samples(r, l) < 0)
        return -1;
    *ns = elapsed(r, l->timing->iterations);
    return *ns ? 0 : -1;
}

int runner_time(struct runner *r, const struct runner_timing *t, double **ns, int64_t *total_ns)
{
    struct loop l;
    *ns = NULL;
    int rc = loop_open(r, t, &l);
    if (rc == 0)
        rc = run_loop(r, &l, ns, total_ns);
    loop_close(&l);
    return rc;
}
