/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/bare_loop.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define PKB_NO_EXPORTS
#include <pkb/candidate.h>

#include "runtime/runtime.h"

/* As node_agent/runner_engine.c and command.c have it. */
#define CACHE_TIMES 3
#define SETS 3
#define SAMPLES 3
#define POISON 0xff

struct frame {
    pkb_tensor t[BARE_MOST_TENSORS];
};

struct loop {
    const struct bare_tensors *tensors;
    const struct bare_conditions *conditions;
    struct rt *rt;
    cudaStream_t stream;
    int n_pool;           /* frames that rotate */
    struct frame *frames; /* those, frames that the engine keeps samples in, sets that inputs come from */
    pkb_context context;
    int (*setup)(const pkb_context *, const pkb_tensor *, const pkb_tensor *);
    int (*solution)(const pkb_context *, const pkb_tensor *, pkb_tensor *);
    cudaEvent_t *events; /* two per timed call */
    struct pkb_error *err;
};

static int check(const struct loop *l, cudaError_t status, const char *what)
{
    return status == cudaSuccess ? 0 : pkb_error_set(l->err, "%s: %s", what, cudaGetErrorString(status));
}

/* ---- the candidate --------------------------------------------------------------------------------------------------- */

static struct rt *services; /* contexts come back from foreign code: they are not looked at */

static int service_barrier(const pkb_context *context)
{
    (void)context;
    rt_symm_barrier(services);
    return rt_status(services, NULL);
}

static int service_symm_alloc(const pkb_context *context, size_t bytes, pkb_symm *symm)
{
    struct pkb_error err;
    (void)context;
    return rt_symm_alloc(services, bytes, symm, &err);
}

static int load(struct loop *l, const char *path)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL), *setup, *solution;
    if (!object)
        return pkb_error_set(l->err, "%s", dlerror());
    setup = dlsym(object, "pkb_setup");
    solution = dlsym(object, "pkb_solution");
    memcpy(&l->setup, &setup, sizeof(setup));
    memcpy(&l->solution, &solution, sizeof(solution));
    l->context = (pkb_context){.abi_version = PKB_ABI_VERSION,
                               .size = sizeof(pkb_context),
                               .world = 1,
                               .n_in = l->tensors->n_in,
                               .n_out = 1,
                               .stream = l->stream,
                               .symm_alloc = service_symm_alloc,
                               .barrier = service_barrier,
                               .local_world = 1,
                               .nodes = 1};
    return solution ? 0 : pkb_error_set(l->err, "%s: no pkb_solution", path);
}

/* ---- buffers --------------------------------------------------------------------------------------------------------- */

static size_t bytes_of(const struct bare_tensors *t, int k)
{
    return 2 * (size_t)t->shape[k][0] * (size_t)(t->shape[k][1] ? t->shape[k][1] : 1);
}

static int make_tensor(struct loop *l, int k, pkb_tensor *t)
{
    const int64_t *shape = l->tensors->shape[k];
    *t = (pkb_tensor){.dtype = PKB_BF16, .ndim = shape[1] ? 2 : 1, .shape = {shape[0], shape[1]}};
    if (l->conditions->own_memory)
        return check(l, cudaMalloc(&t->data, bytes_of(l->tensors, k)), "memory");
    return rt_keep(l->rt, t, l->err);
}

/* Small numbers. */
static int upload(struct loop *l, const pkb_tensor *t, size_t bytes, unsigned seed)
{
    uint16_t *host = malloc(bytes);
    if (!host)
        return pkb_error_set(l->err, "out of memory");
    for (size_t i = 0; i < bytes / 2; i++) {
        seed = seed * 1664525u + 1013904223u;
        host[i] = (uint16_t)((seed >> 16 & 0x8000) | 0x3e00 | (seed >> 20 & 0x1ff)); /* +-0.125 to 0.5 */
    }
    int rc = check(l, cudaMemcpy(t->data, host, bytes, cudaMemcpyHostToDevice), "upload");
    free(host);
    return rc;
}

static int make_frames(struct loop *l)
{
    size_t bytes = 0;
    for (int k = 0; k <= l->tensors->n_in; k++)
        bytes += bytes_of(l->tensors, k);
    l->n_pool = (int)(CACHE_TIMES * rt_cache_bytes(l->rt) / bytes) + 2;
    int whole = l->n_pool + SAMPLES, all = whole + SETS;
    l->frames = calloc((size_t)all, sizeof(*l->frames));
    if (!l->frames)
        return pkb_error_set(l->err, "out of memory");
    for (int f = 0; f < all; f++)
        for (int k = 0; k < l->tensors->n_in + (f < whole); k++)
            if (make_tensor(l, k, &l->frames[f].t[k]) < 0)
                return -1;
    for (int f = 0; f < all; f++)
        for (int k = 0; k < l->tensors->n_in; k++)
            if (upload(l, &l->frames[f].t[k], bytes_of(l->tensors, k), (unsigned)(7 * (f % SETS) + k)) < 0)
                return -1;
    return 0;
}

/* ---- the loop -------------------------------------------------------------------------------------------------------- */

static int fill(struct loop *l, int iteration)
{
    const struct frame *to = &l->frames[iteration % l->n_pool], *from = &l->frames[l->n_pool + SAMPLES + iteration % SETS];
    for (int k = 0; k < l->tensors->n_in; k++)
        if (check(l, cudaMemcpyAsync(to->t[k].data, from->t[k].data, bytes_of(l->tensors, k), cudaMemcpyDefault, l->stream),
                  "copy") < 0)
            return -1;
    return check(l, cudaMemsetAsync(to->t[l->tensors->n_in].data, POISON, bytes_of(l->tensors, l->tensors->n_in), l->stream),
                 "poison");
}

/* `events`: NULL while warming up. */
static int calls(struct loop *l, int n, cudaEvent_t *events)
{
    for (int i = 0; l->conditions->refill && i < n && i < l->n_pool; i++)
        if (fill(l, i) < 0)
            return -1;
    for (int i = 0; i < n; i++) {
        pkb_tensor *t = l->frames[i % l->n_pool].t;
        if (l->conditions->barrier)
            rt_symm_barrier(l->rt);
        if (events && check(l, cudaEventRecord(events[2 * i], l->stream), "event") < 0)
            return -1;
        if (l->solution(&l->context, t, t + l->tensors->n_in) != 0)
            return pkb_error_set(l->err, "the solution failed");
        if (events && check(l, cudaEventRecord(events[2 * i + 1], l->stream), "event") < 0)
            return -1;
        if (l->conditions->refill && i + l->n_pool < n && fill(l, i + l->n_pool) < 0)
            return -1;
    }
    return check(l, cudaDeviceSynchronize(), "loop") < 0 ? -1 : rt_status(l->rt, l->err);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int elapsed(struct loop *l, int n, double *median)
{
    double *ns = calloc((size_t)n, sizeof(*ns));
    float ms = 0;
    int rc = ns ? 0 : pkb_error_set(l->err, "out of memory");
    for (int i = 0; i < n && rc == 0; i++) {
        rc = check(l, cudaEventElapsedTime(&ms, l->events[2 * i], l->events[2 * i + 1]), "events");
        ns[i] = ms * 1e6;
    }
    if (rc == 0) {
        qsort(ns, (size_t)n, sizeof(*ns), ascending);
        *median = n % 2 ? ns[n / 2] : (ns[n / 2 - 1] + ns[n / 2]) / 2;
    }
    free(ns);
    return rc;
}

static int run(struct loop *l, const char *object, int warmup, int timed, double *ns)
{
    const struct rt_options options = {.world = 1, .shm_prefix = "/pkb.bare"};
    l->rt = services = rt_open("cuda", &options, l->err);
    l->events = calloc(2 * (size_t)timed, sizeof(*l->events));
    if (!l->rt || !l->events)
        return -1;
    l->stream = rt_stream(l->rt);
    for (int i = 0; i < 2 * timed; i++)
        if (check(l, cudaEventCreate(&l->events[i]), "events") < 0)
            return -1;
    if (make_frames(l) < 0 || load(l, object) < 0)
        return -1;
    if (l->setup && l->setup(&l->context, l->frames[0].t, l->frames[0].t + l->tensors->n_in) != 0)
        return pkb_error_set(l->err, "pkb_setup failed");
    if (calls(l, warmup, NULL) < 0 || calls(l, timed, l->events) < 0)
        return -1;
    return elapsed(l, timed, ns);
}

int bare_loop(const char *object, const struct bare_tensors *t, const struct bare_conditions *c, int warmup, int timed,
              double *ns, struct pkb_error *err)
{
    struct loop l = {.tensors = t, .conditions = c, .err = err};
    int rc = run(&l, object, warmup, timed, ns);
    for (int i = 0; l.events && i < 2 * timed; i++)
        if (l.events[i])
            (void)cudaEventDestroy(l.events[i]);
    for (int f = 0; c->own_memory && l.frames && f < l.n_pool + SAMPLES + SETS; f++)
        for (int k = 0; k <= t->n_in; k++)
            (void)cudaFree(l.frames[f].t[k].data);
    rt_close(l.rt);
    free(l.events);
    free(l.frames);
    return rc;
}
