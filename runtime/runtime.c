/* SPDX-License-Identifier: Apache-2.0 */
/* Life of a runtime: loading the backend, the sticky failure. */
#include "runtime/runtime.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/front.h"
#include "util/file.h"
#include "util/paths.h"

/* ---- opening ------------------------------------------------------------------------------------------------------- */

static int check_options(const struct rt_options *o, struct pkb_error *err)
{
    if (o->world < 1)
        return pkb_error_set(err, "a world of %d ranks", o->world);
    if (o->rank < 0 || o->rank >= o->world)
        return pkb_error_set(err, "rank %d is not in 0..%d", o->rank, o->world - 1);
    if (o->world > 1 && !o->exchange)
        return pkb_error_set(err, "%d ranks need an exchange function", o->world);
    return 0;
}

static int copy_options(struct rt *rt, const struct rt_options *o, struct pkb_error *err)
{
    rt->options = *o;
    rt->node_of_rank = calloc((size_t)o->world, sizeof(int));
    rt->shm_prefix = strdup(o->shm_prefix ? o->shm_prefix : "/pkb");
    if (!rt->node_of_rank || !rt->shm_prefix)
        return pkb_error_set(err, "out of memory");
    if (o->node_of_rank)
        memcpy(rt->node_of_rank, o->node_of_rank, (size_t)o->world * sizeof(int));
    rt->options.node_of_rank = rt->node_of_rank;
    rt->options.shm_prefix = rt->shm_prefix;
    return 0;
}

static int load_plugin(struct rt *rt, const char *backend, struct pkb_error *err)
{
    if (backend[0] == '\0' || strchr(backend, '/'))
        return pkb_error_set(err, "\"%s\" is not the name of a backend", backend);
    char *name = pkb_format(err, "backend_%s.so", backend);
    char *path = name ? pkb_path(PKB_PATH_PLUGIN, name, err) : NULL;
    free(name);
    if (!path)
        return -1;
    rt->plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!rt->plugin && strcmp(backend, "cuda") == 0 && access(path, F_OK))
        (void)pkb_error_set(err, "not built with CUDA (there is no %s)", path);
    else if (!rt->plugin)
        (void)pkb_error_set(err, "%s", dlerror());
    else if (!(rt->be = dlsym(rt->plugin, RT_BACKEND_SYMBOL)))
        (void)pkb_error_set(err, "%s: no symbol " RT_BACKEND_SYMBOL, path);
    else if (rt->be->version != RT_BACKEND_VERSION || rt->be->size != sizeof(*rt->be))
        (void)pkb_error_set(err, "%s is of another build (interface %u, this is %u)", path, (unsigned)rt->be->version,
                            (unsigned)RT_BACKEND_VERSION);
    else {
        free(path);
        return 0;
    }
    rt->be = NULL;
    free(path);
    return -1;
}

static int open_world_group(struct rt *rt, struct pkb_error *err)
{
    int *ranks = calloc((size_t)rt->options.world, sizeof(int));
    const struct rt_group *g = NULL;
    if (!ranks)
        return pkb_error_set(err, "out of memory");
    for (int i = 0; i < rt->options.world; i++)
        ranks[i] = i;
    g = rt_group(rt, rt->options.world, ranks);
    free(ranks);
    rt->world = g;
    return g ? 0 : rt_status(rt, err);
}

static int open_runtime(struct rt *rt, const char *backend, const struct rt_options *options, struct pkb_error *err)
{
    if (check_options(options, err) || copy_options(rt, options, err) || load_plugin(rt, backend, err))
        return -1;
    if (rt->be->open(&rt->options, &rt->dev, err))
        return -1;
    rt->temporaries = arena_create(rt->be, rt->dev, false, err);
    rt->kept = arena_create(rt->be, rt->dev, false, err);
    rt->kept_shared = arena_create(rt->be, rt->dev, true, err);
    return rt->temporaries && rt->kept && rt->kept_shared ? open_world_group(rt, err) : -1;
}

struct rt *rt_open(const char *backend, const struct rt_options *options, struct pkb_error *err)
{
    struct rt *rt = calloc(1, sizeof(*rt));
    if (!rt) {
        (void)pkb_error_set(err, "out of memory");
    } else if (open_runtime(rt, backend, options, err)) {
        rt_close(rt);
        rt = NULL;
    }
    if (!rt)
        (void)pkb_error_prefix(err, "opening backend %s", backend);
    return rt;
}

static void close_groups(struct rt *rt)
{
    while (rt->groups) {
        struct group *next = rt->groups->next;
        if (rt->groups->comm)
            rt->be->comm_close(rt->dev, rt->groups->comm);
        free(rt->groups->ranks);
        free(rt->groups);
        rt->groups = next;
    }
}

void rt_close(struct rt *rt)
{
    if (!rt)
        return;
    close_groups(rt);
    arena_destroy(rt->temporaries);
    arena_destroy(rt->kept);
    arena_destroy(rt->kept_shared);
    if (rt->dev)
        rt->be->close(rt->dev);
    if (rt->plugin)
        (void)dlclose(rt->plugin);
    free(rt->node_of_rank);
    free(rt->shm_prefix);
    free(rt);
}

int rt_rank(const struct rt *rt)
{
    return rt->options.rank;
}

int rt_world_size(const struct rt *rt)
{
    return rt->options.world;
}

void *rt_stream(const struct rt *rt)
{
    return rt->be->stream(rt->dev);
}

const char *rt_device_name(const struct rt *rt)
{
    return rt->be->device_name(rt->dev);
}

size_t rt_cache_bytes(const struct rt *rt)
{
    return rt->be->cache_bytes ? rt->be->cache_bytes(rt->dev) : 0;
}

/* ---- failures ------------------------------------------------------------------------------------------------------ */

void front_fail(struct rt *rt, const char *name, const struct pkb_error *err)
{
    if (rt->failed)
        return;
    rt->failed = true;
    rt->failure = *err;
    (void)pkb_error_prefix(&rt->failure, "%s", name);
}

void rt_fail(struct rt *rt, const char *fmt, ...)
{
    va_list ap;
    if (rt->failed)
        return;
    rt->failed = true;
    va_start(ap, fmt);
    (void)vsnprintf(rt->failure.text, sizeof(rt->failure.text), fmt, ap);
    va_end(ap);
}

int rt_status(const struct rt *rt, struct pkb_error *err)
{
    if (!rt->failed)
        return 0;
    return pkb_error_set(err, "%s", rt->failure.text);
}

int rt_sync(struct rt *rt, struct pkb_error *err)
{
    struct pkb_error late;
    if (rt->be->sync(rt->dev, &late))
        front_fail(rt, "sync", &late);
    return rt_status(rt, err);
}

enum rt_fault rt_foreign_fault(struct rt *rt, struct pkb_error *err)
{
    return rt->be->foreign_fault ? rt->be->foreign_fault(rt->dev, err) : RT_FAULT_NONE;
}

/* ---- checks that all operations share ------------------------------------------------------------------------------ */

struct form_text front_form(const pkb_tensor *t)
{
    struct form_text f;
    tensor_describe(t, f.text, sizeof(f.text));
    return f;
}

int front_check(const pkb_tensor *t, const char *what, struct pkb_error *err)
{
    size_t bytes;
    if (!t)
        return pkb_error_set(err, "%s is missing", what);
    if (tensor_bytes(t, &bytes, err))
        return pkb_error_prefix(err, "%s", what);
    if (!t->data && bytes > 0)
        return pkb_error_set(err, "%s has no storage", what);
    return 0;
}

int64_t front_numel(const pkb_tensor *t)
{
    int64_t n = 0;
    (void)tensor_numel(t, &n, NULL);
    return n;
}

bool front_shares(const pkb_tensor *a, const pkb_tensor *b)
{
    return a->data == b->data && front_numel(a) > 0 && front_numel(b) > 0;
}

int front_same_shape(const pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err)
{
    pkb_tensor form = *dst;
    form.dtype = a->dtype;
    if (!tensor_same_form(&form, a))
        return pkb_error_set(err, "destination is %s, the operand %s", front_form(dst).text, front_form(a).text);
    return 0;
}

int front_alias(const pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err)
{
    if (front_shares(dst, a) && (dtype_size(dst->dtype) != dtype_size(a->dtype) || front_numel(dst) != front_numel(a)))
        return pkb_error_set(err, "destination %s shares the storage of operand %s", front_form(dst).text, front_form(a).text);
    return 0;
}

int front_axis(const pkb_tensor *t, int *axis, struct pkb_error *err)
{
    if (*axis < -t->ndim || *axis >= t->ndim)
        return pkb_error_set(err, "axis %d of %s", *axis, front_form(t).text);
    *axis += *axis < 0 ? t->ndim : 0;
    return 0;
}
