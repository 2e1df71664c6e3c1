/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/evaluate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/support/world.h"

/* Seconds that a list of evaluations may take. */
#define TIME_LIMIT 60

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

static void lay_out_rank(struct evaluation_rank *r, struct layout *l)
{
    struct problem_tensor t[PROBLEM_MAX_TENSORS];
    const struct problem *p = r->setting.problem;
    r->n_in = p->inputs(&r->setting, t);
    for (int i = 0; i < r->n_in; i++) {
        r->set.in[i] = t[i].form;
        r->set.in[i].data = reserve(l, evaluation_bytes(&t[i].form));
    }
    r->n_out = p->outputs(&r->setting, t);
    for (int k = 0; k < r->n_out; k++) {
        r->out[k] = t[k].form;
        r->out[k].data = reserve(l, evaluation_bytes(&t[k].form));
        t[k].form.dtype = PKB_F32;
        r->tol[k] = needs_bound(&r->setting, k) ? reserve(l, evaluation_bytes(&t[k].form)) : NULL;
    }
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
    pkb_tensor *tol[PROBLEM_MAX_TENSORS];
    bool any_bound;
};

static int keep_tensors(struct rt *rt, const struct evaluation_rank *r, struct device *d, struct pkb_error *err)
{
    for (int i = 0; i < r->n_in; i++) {
        d->in[i] = r->set.in[i];
        if (rt_keep(rt, &d->in[i], err) < 0)
            return -1;
        rt_upload(rt, &d->in[i], r->set.in[i].data);
    }
    for (int k = 0; k < r->n_out; k++) {
        d->out[k] = r->out[k];
        if (rt_keep(rt, &d->out[k], err) < 0)
            return -1;
        rt_fill_bytes(rt, &d->out[k], 0xff);
        d->tol[k] = r->tol[k] ? rt_new_like(rt, PKB_F32, &d->out[k]) : NULL;
        d->any_bound = d->any_bound || r->tol[k];
    }
    return 0;
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
    if (d->any_bound)
        p->bound(&call, d->tol);
}

static void download(struct rt *rt, const struct evaluation_rank *r, const struct device *d)
{
    for (int k = 0; k < r->n_out; k++) {
        rt_download(rt, r->out[k].data, &d->out[k]);
        if (d->tol[k])
            rt_download(rt, r->tol[k], d->tol[k]);
    }
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
    int rc = keep_tensors(rt, r, &d, err);
    if (rc == 0) {
        call_reference(rt, r, &d);
        download(rt, r, &d);
        rc = rt_sync(rt, err);
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
    return world_run(list[0]->world, TIME_LIMIT, run_rank, &work, err);
}

void evaluation_compare(const struct evaluation *e, int r, int k, const void *actual, struct problem_difference *d)
{
    const struct evaluation_rank *rank = &e->ranks[r];
    pkb_tensor other = rank->out[k];
    struct problem_check check;
    memcpy(&other.data, &actual, sizeof(actual));
    problem_check_for(&rank->setting, k, &check);
    problem_compare(&check, rank->setting.tolerance, &rank->out[k], &other, rank->tol[k], d);
}
