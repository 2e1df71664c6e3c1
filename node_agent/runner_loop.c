/* SPDX-License-Identifier: Apache-2.0 */
/* The timed loop. Every iteration gets inputs that its buffers did not hold before, and poisoned outputs; which iterations
 * are checked afterwards shows in nothing that the solution can see beforehand. */
#include <stdlib.h>
#include <string.h>

#include "node_agent/runner.h"
#include "util/clock.h"

struct loop {
    const struct runner_timing *timing;
    int *slot;                        /* per iteration: sample slot, -1: not sampled */
    int *pool;                        /* frames that rotate */
    int next_spare;                   /* frame that takes the place of the next one that is kept */
    const struct runner_frame **kept; /* per sample */
    pkb_tensor *forms;                /* per sample: PROBLEM_MAX_TENSORS forms as they were left */
};

static void loop_close(struct loop *l)
{
    free(l->slot);
    free(l->pool);
    free(l->kept);
    free(l->forms);
}

static int loop_open(struct runner *r, const struct runner_timing *t, struct loop *l)
{
    size_t n = (size_t)t->iterations, samples = (size_t)t->n_samples;
    *l = (struct loop){.timing = t, .next_spare = r->n_pool};
    l->slot = calloc(n + 1, sizeof(*l->slot));
    l->pool = calloc((size_t)r->n_pool, sizeof(*l->pool));
    l->kept = calloc(samples + 1, sizeof(*l->kept));
    l->forms = calloc(samples * PROBLEM_MAX_TENSORS + 1, sizeof(*l->forms));
    if (!l->slot || !l->pool || !l->kept || !l->forms)
        return runner_fail(r, OUTCOME_INFRA_ERROR, "out of memory for %d iterations", t->iterations);
    for (int i = 0; i < t->iterations; i++)
        l->slot[i] = -1;
    for (int s = 0; s < t->n_samples; s++)
        l->slot[t->samples[s]] = s;
    for (int f = 0; f < r->n_pool; f++)
        l->pool[f] = f;
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

/* What comes before a call and is not timed. */
static void before_call(struct runner *r, const struct runner_frame *frame, int iteration)
{
    int set = iteration % (r->layout.sets - r->layout.trials);
    pkb_tensor in[PROBLEM_MAX_TENSORS];
    memcpy(in, frame->in, sizeof(in));
    for (int k = 0; k < r->layout.n_in; k++)
        rt_copy(r->rt, &in[k], &r->sets[set].in[k]);
    runner_prepare(r, frame, runner_params(r, r->layout.trials + set));
    runner_barrier(r);
}

static void after_call(struct runner *r)
{
    if (r->role == &runner_reference)
        rt_release_all(r->rt);
}

static int warm_up(struct runner *r, struct loop *l)
{
    for (int i = 0; i < l->timing->warmup; i++) {
        runner_number(r, (uint32_t)i, true);
        before_call(r, &r->frames[l->pool[i % r->n_pool]], i);
        if (runner_called(r, runner_call(r), r->role->name) < 0)
            return -1;
        after_call(r);
    }
    return 0;
}

/* Keeps a sampled iteration's frame out of the rotation. */
static void keep_sample(struct runner *r, struct loop *l, int iteration, int *place)
{
    int s = l->slot[iteration];
    if (s < 0)
        return;
    l->kept[s] = &r->frames[*place];
    memcpy(&l->forms[s * PROBLEM_MAX_TENSORS], r->call.out, sizeof(r->call.out));
    *place = l->next_spare++;
}

static int timed(struct runner *r, struct loop *l)
{
    for (int i = 0; i < l->timing->iterations; i++) {
        int *place = &l->pool[i % r->n_pool];
        runner_number(r, (uint32_t)i, true);
        before_call(r, &r->frames[*place], i);
        rt_event_record(r->rt, 2 * i);
        int rc = runner_call(r);
        rt_event_record(r->rt, 2 * i + 1);
        if (runner_called(r, rc, r->role->name) < 0)
            return -1;
        after_call(r);
        keep_sample(r, l, i, place);
    }
    return 0;
}

static int store_samples(struct runner *r, struct loop *l)
{
    for (int s = 0; s < l->timing->n_samples; s++)
        runner_store(r, l->kept[s], &l->forms[s * PROBLEM_MAX_TENSORS], r->layout.trials + s);
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
