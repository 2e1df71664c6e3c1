/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/evaluate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/support/world.h"

/* Seconds that a list of evaluations may take, and that each of them adds. */
#define TIME_LIMIT 240
#define TIME_LIMIT_EACH 1

#define ALIGN 64

size_t evaluation_bytes(const pkb_tensor *t)
{
    size_t bytes = 0;
    (void)tensor_bytes(t, &bytes, NULL);
    return bytes;
}

/* ---- memory -------------------------------------------------------------------------------------------------------- */

/* Hands out the memory; with base NULL it only counts. */
struct layout {
    char *base;
    size_t used;
};

static void *reserve(struct layout *l, size_t bytes)
{
    void *at = l->base ? l->base + l->used : NULL;
    l->used += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

static bool needs_bound(const struct problem_setting *s, int output)
{
    struct problem_check check;
    problem_check_for(s, output, &check);
    return check.kind == CHECK_BOUND;
}

static pkb_tensor place(const struct problem_tensor *t, struct layout *l)
{
    pkb_tensor tensor = t->form;
    tensor.data = reserve(l, evaluation_bytes(&t->form));
    return tensor;
}

static void lay_out_rank(struct evaluation_rank *r, struct layout *l)
{
    struct problem_tensor evidence[PROBLEM_MAX_TENSORS];
    const struct problem *p = r->setting.problem;
    r->n_in = p->inputs(&r->setting, r->inputs);
    for (int i = 0; i < r->n_in; i++)
        r->set.in[i] = place(&r->inputs[i], l);
    r->n_out = p->outputs(&r->setting, r->outputs);
    for (int k = 0; k < r->n_out; k++) {
        struct problem_tensor tol = r->outputs[k];
        r->out[k] = place(&r->outputs[k], l);
        tol.form.dtype = PKB_F32;
        r->tol[k] = needs_bound(&r->setting, k) ? place(&tol, l).data : NULL;
    }
    r->n_evidence = problem_evidence_of(&r->setting, evidence);
    for (int j = 0; j < r->n_evidence; j++)
        r->evidence[j] = place(&evidence[j], l);
}

static void lay_out(struct evaluation *e, struct layout *l)
{
    for (int q = 0; q < e->world; q++)
        lay_out_rank(&e->ranks[q], l);
}

static int check_settings(const struct evaluation *e, struct pkb_error *err)
{
    for (int q = 0; q < e->world; q++) {
        if (problem_setting_check(&e->ranks[q].setting, err) < 0)
            return -1;
    }
    return 0;
}

static int allocate(struct evaluation *e, const struct problem_setting *setting, struct pkb_error *err)
{
    struct layout l = {NULL, ALIGN};
    e->ranks = calloc((size_t)e->world, sizeof(*e->ranks));
    if (!e->ranks)
        return pkb_error_errno(err, "evaluation");
    for (int q = 0; q < e->world; q++) {
        e->ranks[q].setting = *setting;
        e->ranks[q].setting.rank = q;
        memcpy(e->ranks[q].set.params, setting->params, sizeof(setting->params));
    }
    if (check_settings(e, err) < 0)
        return -1;
    lay_out(e, &l);
    void *memory = mmap(NULL, l.used, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return pkb_error_errno(err, "evaluation: %zu bytes", l.used);
    e->memory = memory;
    e->memory_size = l.used;
    l = (struct layout){memory, ALIGN};
    lay_out(e, &l);
    return 0;
}

struct evaluation *evaluation_create(const struct problem_setting *setting, struct pkb_error *err)
{
    struct evaluation *e = calloc(1, sizeof(*e));
    if (!e) {
        pkb_error_errno(err, "evaluation");
        return NULL;
    }
    e->world = setting->world;
    if (allocate(e, setting, err) < 0) {
        evaluation_destroy(e);
        return NULL;
    }
    return e;
}

void evaluation_destroy(struct evaluation *e)
{
    if (!e)
        return;
    if (e->memory)
        (void)munmap(e->memory, e->memory_size);
    free(e->ranks);
    free(e);
}

void evaluation_init(struct evaluation *e, uint32_t trial)
{
    for (int q = 0; q < e->world; q++) {
        struct evaluation_rank *r = &e->ranks[q];
        r->set.trial = trial;
        memcpy(r->set.params, r->setting.params, sizeof(r->set.params));
        r->setting.problem->init(&r->setting, &r->set);
    }
}

/* ---- one rank ------------------------------------------------------------------------------------------------------ */

/* Device copies of a rank's tensors. */
struct device {
    pkb_tensor in[PROBLEM_MAX_TENSORS], out[PROBLEM_MAX_TENSORS];
    pkb_tensor *tol[PROBLEM_MAX_TENSORS]; /* bounds, then evidence */
    bool any_bound;
};

static int keep_inputs(struct rt *rt, const struct evaluation_rank *r, struct device *d, struct pkb_error *err)
{
    for (int i = 0; i < r->n_in; i++) {
        d->in[i] = r->inputs[i].form;
        if ((r->inputs[i].host ? rt_keep_shared : rt_keep)(rt, &d->in[i], err) < 0)
            return -1;
        rt_upload(rt, &d->in[i], r->set.in[i].data);
    }
    return 0;
}

/* An output that is updated in place starts as its input, others as poison. */
static int keep_outputs(struct rt *rt, const struct evaluation_rank *r, struct device *d, struct pkb_error *err)
{
    for (int k = 0; k < r->n_out; k++) {
        int in_place = r->outputs[k].in_place;
        d->out[k] = r->outputs[k].form;
        if (rt_keep(rt, &d->out[k], err) < 0)
            return -1;
        if (in_place)
            rt_copy(rt, &d->out[k], &d->in[in_place - 1]);
        else
            rt_fill_bytes(rt, &d->out[k], 0xff);
        d->tol[k] = r->tol[k] ? rt_new_like(rt, PKB_F32, &d->out[k]) : NULL;
        d->any_bound = d->any_bound || r->tol[k];
    }
    for (int j = 0; j < r->n_evidence; j++)
        d->tol[r->n_out + j] = rt_new_like(rt, r->evidence[j].dtype, &r->evidence[j]);
    d->any_bound = d->any_bound || r->n_evidence > 0;
    return rt_sync(rt, err);
}

static void call_reference(struct rt *rt, const struct evaluation_rank *r, struct device *d)
{
    const struct problem *p = r->setting.problem;
    struct problem_call call = {
        .rt = rt,
        .world = rt_world(rt),
        .setting = &r->setting,
        .params = r->set.params,
        .in = d->in,
        .out = d->out,
    };
    p->reference(&call);
    for (int k = 0; k < r->n_out + r->n_evidence; k++) {
        if (d->tol[k])
            rt_fill_bytes(rt, d->tol[k], 0);
    }
    if (d->any_bound)
        p->bound(&call, d->tol);
}

static int download(struct rt *rt, const struct evaluation_rank *r, const struct device *d, struct pkb_error *err)
{
    int64_t rows;
    for (int k = 0; k < r->n_out; k++) {
        rt_download(rt, r->out[k].data, &d->out[k]);
        if (d->tol[k])
            rt_download(rt, (void *)(uintptr_t)r->tol[k], d->tol[k]);
    }
    for (int j = 0; j < r->n_evidence; j++)
        rt_download(rt, r->evidence[j].data, d->tol[r->n_out + j]);
    int rc = rt_sync(rt, err);
    for (int k = 0; k < r->n_out && rc == 0; k++)
        rc = problem_rows(r->outputs, r->out, k, &rows, err);
    return rc;
}

static int inputs_unchanged(struct rt *rt, const struct evaluation_rank *r, const struct device *d, struct pkb_error *err)
{
    for (int i = 0; i < r->n_in; i++) {
        size_t bytes = evaluation_bytes(&r->set.in[i]);
        void *now = malloc(bytes + 1);
        if (!now)
            return pkb_error_errno(err, "input %d", i);
        rt_download(rt, now, &d->in[i]);
        int rc = rt_sync(rt, err);
        if (rc == 0 && memcmp(now, r->set.in[i].data, bytes) != 0)
            rc = pkb_error_set(err, "the reference changed input %d", i);
        free(now);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int evaluate(struct rt *rt, const struct evaluation_rank *r, struct pkb_error *err)
{
    struct device d = {.any_bound = false};
    int rc = keep_inputs(rt, r, &d, err);
    if (rc == 0)
        rc = keep_outputs(rt, r, &d, err);
    if (rc == 0) {
        call_reference(rt, r, &d);
        rc = download(rt, r, &d, err);
    }
    if (rc == 0)
        rc = inputs_unchanged(rt, r, &d, err);
    rt_release_all(rt);
    return rc == 0 ? 0 : pkb_error_prefix(err, "%s", r->setting.problem->name);
}

/* ---- all ranks ----------------------------------------------------------------------------------------------------- */

struct work {
    struct evaluation *const *list;
    int n;
};

/* Ranks connect before the first evaluation and leave together: closing a runtime does not wait for peers. */
static int run_rank(struct rt *rt, void *arg, struct pkb_error *err)
{
    const struct work *work = arg;
    if (rt_connect(rt, err) < 0)
        return -1;
    for (int i = 0; i < work->n; i++) {
        if (evaluate(rt, &work->list[i]->ranks[rt_rank(rt)], err) < 0)
            return -1;
    }
    rt_barrier(rt, rt_world(rt));
    return rt_sync(rt, err);
}

int evaluation_run(struct evaluation *const *list, int n, struct pkb_error *err)
{
    struct work work = {list, n};
    if (n == 0)
        return 0;
    return world_run(list[0]->world, TIME_LIMIT + n * TIME_LIMIT_EACH, run_rank, &work, err);
}

void evaluation_compare(const struct evaluation *e, int r, const pkb_tensor *actual, int k, struct problem_difference *d)
{
    const struct evaluation_rank *rank = &e->ranks[r];
    const struct problem_results results = {
        .setting = &rank->setting,
        .n_out = rank->n_out,
        .out = rank->outputs,
        .expected = rank->out,
        .actual = actual,
        .tol = rank->tol,
        .evidence = rank->evidence,
    };
    (void)problem_judge(&results, k, d, NULL); /* what evaluation_run has returned makes sense */
}
