/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors, views, and transfers between host and device. */
#include <inttypes.h>
#include <string.h>

#include "runtime/front.h"

/* ---- making -------------------------------------------------------------------------------------------------------- */

static int set_form(pkb_tensor *t, int dtype, int ndim, const int64_t *shape, struct pkb_error *err)
{
    if (ndim < 0 || ndim > PKB_MAX_DIMS)
        return pkb_error_set(err, "%d dimensions, the most is %d", ndim, PKB_MAX_DIMS);
    *t = (pkb_tensor){.dtype = dtype, .ndim = ndim};
    for (int i = 0; i < ndim; i++)
        t->shape[i] = shape[i];
    return 0;
}

/* A tensor struct of the arena; its storage is new when data is NULL. */
static pkb_tensor *make(struct rt *rt, const char *name, const pkb_tensor *form, void *data)
{
    struct pkb_error err;
    size_t bytes;
    pkb_tensor *t = NULL;
    if (tensor_bytes(form, &bytes, &err) == 0 && (data || arena_storage(rt->temporaries, bytes, &data, &err) == 0))
        t = arena_tensor(rt->temporaries, &err);
    if (!t) {
        front_fail(rt, name, &err);
        return NULL;
    }
    *t = *form;
    t->data = data;
    return t;
}

pkb_tensor *rt_new(struct rt *rt, int dtype, int ndim, const int64_t *shape)
{
    struct pkb_error err;
    pkb_tensor form;
    if (rt->failed)
        return NULL;
    if (set_form(&form, dtype, ndim, shape, &err)) {
        front_fail(rt, "new", &err);
        return NULL;
    }
    return make(rt, "new", &form, NULL);
}

pkb_tensor *rt_new_like(struct rt *rt, int dtype, const pkb_tensor *form)
{
    struct pkb_error err;
    if (rt->failed)
        return NULL;
    if (!form) {
        (void)pkb_error_set(&err, "form is missing");
        front_fail(rt, "new_like", &err);
        return NULL;
    }
    return rt_new(rt, dtype, form->ndim, form->shape);
}

static int keep(struct arena *arena, pkb_tensor *form, struct pkb_error *err)
{
    size_t bytes;
    if (tensor_bytes(form, &bytes, err) || arena_storage(arena, bytes, &form->data, err))
        return pkb_error_prefix(err, "tensor %s", front_form(form).text);
    return 0;
}

int rt_keep(struct rt *rt, pkb_tensor *form, struct pkb_error *err)
{
    return keep(rt->kept, form, err);
}

int rt_keep_shared(struct rt *rt, pkb_tensor *form, struct pkb_error *err)
{
    return keep(rt->kept_shared, form, err);
}

void rt_release_all(struct rt *rt)
{
    arena_reset(rt->temporaries);
}

/* ---- views --------------------------------------------------------------------------------------------------------- */

static int view_form(const pkb_tensor *t, int ndim, const int64_t *shape, pkb_tensor *form, struct pkb_error *err)
{
    int64_t n;
    if (front_check(t, "tensor", err) || set_form(form, t->dtype, ndim, shape, err) || tensor_numel(form, &n, err))
        return -1;
    if (n != front_numel(t))
        return pkb_error_set(err, "%s cannot be seen as %s", front_form(t).text, front_form(form).text);
    return 0;
}

pkb_tensor *rt_view(struct rt *rt, const pkb_tensor *t, int ndim, const int64_t *shape)
{
    struct pkb_error err;
    pkb_tensor form;
    if (rt->failed)
        return NULL;
    if (view_form(t, ndim, shape, &form, &err)) {
        front_fail(rt, "view", &err);
        return NULL;
    }
    return make(rt, "view", &form, t->data);
}

/* Bytes of one entry of the leading dimension. */
static size_t entry_bytes(const pkb_tensor *t)
{
    size_t bytes = dtype_size(t->dtype);
    for (int i = 1; i < t->ndim; i++)
        bytes *= (size_t)t->shape[i];
    return bytes;
}

static int check_rows(const pkb_tensor *t, int64_t first, int64_t count, struct pkb_error *err)
{
    if (front_check(t, "tensor", err))
        return -1;
    if (t->ndim < 1)
        return pkb_error_set(err, "a scalar has no rows");
    if (first < 0 || count < 0 || first > t->shape[0] || count > t->shape[0] - first)
        return pkb_error_set(err, "%" PRId64 " from row %" PRId64 " on of %s", count, first, front_form(t).text);
    return 0;
}

pkb_tensor *rt_rows(struct rt *rt, const pkb_tensor *t, int64_t first, int64_t count)
{
    struct pkb_error err;
    if (rt->failed)
        return NULL;
    if (check_rows(t, first, count, &err)) {
        front_fail(rt, "rows", &err);
        return NULL;
    }
    pkb_tensor form = *t;
    form.shape[0] = count;
    return make(rt, "rows", &form, (char *)t->data + (size_t)first * entry_bytes(t));
}

pkb_tensor *rt_entry(struct rt *rt, const pkb_tensor *t, int64_t index)
{
    struct pkb_error err;
    if (rt->failed)
        return NULL;
    if (check_rows(t, index, 1, &err)) {
        front_fail(rt, "entry", &err);
        return NULL;
    }
    pkb_tensor form = {.dtype = t->dtype, .ndim = t->ndim - 1};
    memcpy(form.shape, t->shape + 1, (size_t)form.ndim * sizeof(form.shape[0]));
    return make(rt, "entry", &form, (char *)t->data + (size_t)index * entry_bytes(t));
}

/* ---- transfers ----------------------------------------------------------------------------------------------------- */

static size_t bytes_of(const pkb_tensor *t)
{
    return (size_t)front_numel(t) * dtype_size(t->dtype);
}

void rt_upload(struct rt *rt, pkb_tensor *dst, const void *host)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (front_check(dst, "destination", &err) ||
        (bytes_of(dst) > 0 && rt->be->upload(rt->dev, dst->data, host, bytes_of(dst), &err)))
        front_fail(rt, "upload", &err);
}

void rt_download(struct rt *rt, void *host, const pkb_tensor *src)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (front_check(src, "source", &err) ||
        (bytes_of(src) > 0 && rt->be->download(rt->dev, host, src->data, bytes_of(src), &err)))
        front_fail(rt, "download", &err);
}

void rt_fill_bytes(struct rt *rt, pkb_tensor *dst, int byte)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (front_check(dst, "destination", &err) ||
        (bytes_of(dst) > 0 && rt->be->fill_bytes(rt->dev, dst->data, byte, bytes_of(dst), &err)))
        front_fail(rt, "fill_bytes", &err);
}

/* Converts to i64 on the device, so that `host` needs no second buffer. */
static int read_i64(struct rt *rt, int64_t *host, const pkb_tensor *src, struct pkb_error *err)
{
    if (front_check(src, "source", err))
        return -1;
    if (dtype_is_float(src->dtype))
        return pkb_error_set(err, "%s is not an integer tensor", front_form(src).text);
    pkb_tensor *wide = rt_new_like(rt, PKB_I64, src);
    if (!wide)
        return rt_status(rt, err);
    if (rt->be->copy(rt->dev, wide, src, err) || rt->be->download(rt->dev, host, wide->data, bytes_of(wide), err))
        return -1;
    return rt->be->sync(rt->dev, err);
}

void rt_read_i64(struct rt *rt, int64_t *host, const pkb_tensor *src)
{
    struct pkb_error err;
    int64_t n = 0;
    if (src && tensor_numel(src, &n, NULL) == 0 && n > 0)
        memset(host, 0, (size_t)n * sizeof(*host));
    if (rt->failed || (src && n == 0))
        return;
    if (read_i64(rt, host, src, &err)) {
        front_fail(rt, "read_i64", &err);
        if (n > 0)
            memset(host, 0, (size_t)n * sizeof(*host));
    }
}
