/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers on the device and the steps around one call, the same for the reference and for candidates. */
#include <stdlib.h>
#include <string.h>

#include "node_agent/runner.h"

#define POISON 0xff

/* Frames that rotate hold this many times what the device's cache holds, so that a call finds nothing of its own data there. */
#define CACHE_TIMES 3
#define MOST_FRAMES 1024

char *runner_at(const struct segment *seg, size_t stride, int index, size_t offset)
{
    return (char *)seg->data + stride * (size_t)index + offset;
}

const double *runner_params(const struct runner *r, int set)
{
    return (const double *)(const void *)runner_at(&r->inputs, r->layout.in_stride, set, 0);
}

/* ---- buffers ----------------------------------------------------------------------------------------------------------- */

static int keep(struct runner *r, const struct problem_tensor *wanted, int n, pkb_tensor *tensors)
{
    struct pkb_error err;
    for (int k = 0; k < n; k++) {
        tensors[k] = wanted[k].form;
        if ((wanted[k].host ? rt_keep_shared : rt_keep)(r->rt, &tensors[k], &err) < 0)
            return runner_fail(r, OUTCOME_INFRA_ERROR, "device memory for %s: %s", wanted[k].name, err.text);
    }
    return 0;
}

/* How many frames rotate: all sets, and more where a cache has to be outrun. */
static int pool_size(const struct runner *r, int timed_sets)
{
    const struct segment_layout *l = &r->layout;
    size_t bytes = 0, cache = rt_cache_bytes(r->rt);
    int least = timed_sets < 2 ? 2 : timed_sets;
    for (int k = 0; k < l->n_in; k++)
        bytes += l->in_bytes[k];
    for (int k = 0; k < l->n_out; k++)
        bytes += l->out_bytes[k];
    if (cache == 0)
        return least;
    size_t n = bytes > 0 ? CACHE_TIMES * cache / bytes + 2 : MOST_FRAMES;
    return n > MOST_FRAMES ? MOST_FRAMES : n < (size_t)least ? least : (int)n;
}

int runner_engine_open(struct runner *r)
{
    const struct segment_layout *l = &r->layout;
    int timed_sets = l->sets - l->trials, rc = 0;
    r->n_pool = pool_size(r, timed_sets);
    r->n_frames = r->n_pool + (r->role == &runner_candidate ? l->samples : 0);
    r->frames = calloc((size_t)r->n_frames, sizeof(*r->frames));
    r->sets = calloc((size_t)timed_sets, sizeof(*r->sets));
    if (!r->frames || !r->sets)
        return runner_fail(r, OUTCOME_INFRA_ERROR, "out of memory");
    for (int f = 0; rc == 0 && f < r->n_frames; f++)
        rc = keep(r, l->in, l->n_in, r->frames[f].in) < 0 ? -1 : keep(r, l->out, l->n_out, r->frames[f].out);
    for (int t = 0; rc == 0 && t < timed_sets; t++)
        rc = keep(r, l->in, l->n_in, r->sets[t].in);
    return rc;
}

void runner_engine_close(struct runner *r)
{
    free(r->frames);
    free(r->sets);
    r->frames = NULL;
    r->sets = NULL;
}

void runner_upload_set(struct runner *r, int set, pkb_tensor *in)
{
    const struct segment_layout *l = &r->layout;
    for (int k = 0; k < l->n_in; k++)
        rt_upload(r->rt, &in[k], runner_at(&r->inputs, l->in_stride, set, l->in_offset[k]));
}

/* ---- one call ---------------------------------------------------------------------------------------------------------- */

void runner_ready_outputs(struct runner *r, const struct runner_frame *frame)
{
    for (int k = 0; k < r->layout.n_out; k++) {
        int in_place = r->layout.out[k].in_place;
        pkb_tensor out = frame->out[k];
        if (in_place)
            rt_copy(r->rt, &out, &frame->in[in_place - 1]);
        else
            rt_fill_bytes(r->rt, &out, POISON);
    }
}

int runner_settle(struct runner *r)
{
    for (int k = 0; k < r->layout.n_in; k++)
        if (r->layout.in[k].host)
            return runner_sync(r, r->role->name);
    return 0;
}

void runner_prepare(struct runner *r, const struct runner_frame *frame, const double *params)
{
    struct runner_call *c = &r->call;
    c->frame = frame;
    memcpy(c->params, params, sizeof(c->params));
    memcpy(c->in, frame->in, sizeof(c->in));
    memcpy(c->out, frame->out, sizeof(c->out));
    r->role->prepare(r);
}

int runner_call(struct runner *r)
{
    uint32_t before = runner_enter(r, STAGE_SOLUTION);
    int rc = r->role->call(r);
    runner_enter(r, (enum runner_stage)before);
    return rc;
}

/* Words a failure of the solution: `why` may be empty. */
static int call_failed(struct runner *r, int rc, const char *function, bool memory, const char *why)
{
    uint32_t call = atomic_load_explicit(&r->status->call, memory_order_relaxed);
    bool timed = atomic_load_explicit(&r->status->timed, memory_order_relaxed);
    char where[64] = "", returned[32] = "";
    if (call != RUNNER_NO_CALL)
        (void)snprintf(where, sizeof(where), " in %s %u", timed ? "timed iteration" : "trial", call);
    if (rc != 0)
        (void)snprintf(returned, sizeof(returned), " returned %d", rc);
    const char *link = *why ? ": " : memory ? " after an allocation had been refused" : "";
    enum outcome outcome = memory ? OUTCOME_OUT_OF_MEMORY : rc != 0 ? OUTCOME_RUNTIME_ERROR : r->role->blame;
    return runner_fail(r, outcome, "%s%s%s%s%s", function, returned, where, link, why);
}

int runner_called(struct runner *r, int rc, const char *function)
{
    bool refused = atomic_load_explicit(&r->status->alloc_refused, memory_order_relaxed);
    struct pkb_error why = {""};
    enum rt_fault fault = r->role == &runner_candidate ? runner_candidate_fault(r, &why) : RT_FAULT_NONE;
    if (fault == RT_FAULT_NONE && rt_status(r->rt, &why) == 0) {
        if (rc == 0)
            return 0;
        why.text[0] = '\0';
    }
    return call_failed(r, rc, function, fault == RT_FAULT_MEMORY || (refused && rc != 0), why.text);
}

int runner_sync(struct runner *r, const char *doing)
{
    struct pkb_error err;
    uint32_t before = runner_enter(r, STAGE_WAIT);
    int rc = rt_sync(r->rt, &err);
    runner_enter(r, (enum runner_stage)before);
    if (rc == 0)
        return 0;
    return runner_fail(r, r->role->blame, "%s: %s", doing, err.text);
}

void runner_barrier(struct runner *r)
{
    uint32_t before = runner_enter(r, STAGE_BARRIER);
    rt_symm_barrier(r->rt);
    runner_enter(r, (enum runner_stage)before);
}

/* Forms as they were left: data is NULL, or not where the buffer was replaced. */
static void store_forms(struct runner *r, const struct runner_frame *frame, const pkb_tensor *forms, int slot)
{
    pkb_tensor left[PROBLEM_MAX_TENSORS];
    memcpy(left, forms, sizeof(left));
    for (int k = 0; k < PROBLEM_MAX_TENSORS; k++)
        if (left[k].data == frame->out[k].data)
            left[k].data = NULL;
    memcpy(runner_at(&r->results, r->layout.slot_stride, slot, 0), left, sizeof(left));
}

void runner_store(struct runner *r, const struct runner_frame *frame, const pkb_tensor *forms, int slot)
{
    const struct segment_layout *l = &r->layout;
    store_forms(r, frame, forms, slot);
    uint32_t before = runner_enter(r, STAGE_WAIT); /* copies to the host may wait for what comes before them */
    for (int k = 0; k < l->n_out; k++)
        rt_download(r->rt, runner_at(&r->results, l->slot_stride, slot, l->out_offset[k]), &frame->out[k]);
    for (int k = 0; k < l->n_in; k++)
        rt_download(r->rt, runner_at(&r->results, l->slot_stride, slot, l->after_offset[k]), &frame->in[k]);
    runner_enter(r, (enum runner_stage)before);
}
