/* SPDX-License-Identifier: Apache-2.0 */
/* From the arrays of a case to the tensors of a problem. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/golden/case.h"
#include "tests/golden/npy.h"
#include "util/file.h"
#include "util/json.h"

/* No golden array is larger. */
#define LARGEST_FILE ((size_t)64 << 20)
#define LARGEST_SIZE 1000000

/* A wrong number of dimensions counts like that many wrong sizes. */
#define WRONG_RANK 16

/* ---- descriptions -------------------------------------------------------------------------------------------------- */

/* Complex numbers are pairs: one dimension more. */
static int read_shape(const json_t *entry, int rank, struct golden_array *array, struct pkb_error *err)
{
    const json_t *list = json_array_get(json_object_get(entry, "shape"), (size_t)rank);
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    bool pairs = dtype && strcmp(dtype, "complex64") == 0;
    if (!json_is_array(list) || json_array_size(list) + pairs > PKB_MAX_DIMS)
        return pkb_error_set(err, "no shape for rank %d", rank);
    array->ndim[rank] = (int)json_array_size(list) + pairs;
    if (pairs)
        array->shape[rank][array->ndim[rank] - 1] = 2;
    for (int d = 0; d < array->ndim[rank] - pairs; d++) {
        const json_t *size = json_array_get(list, (size_t)d);
        if (!json_is_integer(size) || json_integer_value(size) < 0 || json_integer_value(size) > LARGEST_SIZE)
            return pkb_error_set(err, "the shape for rank %d has an entry that is no size", rank);
        array->shape[rank][d] = json_integer_value(size);
    }
    return 0;
}

/* Whether an array is <argument>_indices or <argument>_values of a sparse argument. */
static bool is_sparse(const json_t *arguments, const char *name)
{
    size_t i;
    const json_t *argument;
    json_array_foreach(arguments, i, argument)
    {
        const char *kind = json_string_value(json_object_get(argument, "kind"));
        const char *whole = json_string_value(json_object_get(argument, "name"));
        if (!kind || strcmp(kind, "sparse") != 0 || !whole || strncmp(name, whole, strlen(whole)) != 0)
            continue;
        const char *rest = name + strlen(whole);
        if (strcmp(rest, "_indices") == 0 || strcmp(rest, "_values") == 0)
            return true;
    }
    return false;
}

static int read_array(const struct golden_case *c, const json_t *entry, struct golden_array *array, struct pkb_error *err)
{
    if (pkb_json_string(entry, "name", &array->name, err) < 0)
        return -1;
    array->entry = entry;
    array->sparse = is_sparse(json_object_get(c->meta, "arguments"), array->name);
    for (int q = 0; q < c->setting.world; q++) {
        if (read_shape(entry, q, array, err) < 0)
            return pkb_error_prefix(err, "%s", array->name);
    }
    return 0;
}

int golden_arrays_read(const struct golden_case *c, const char *key, struct golden_arrays *arrays, struct pkb_error *err)
{
    json_t *list;
    *arrays = (struct golden_arrays){0, NULL};
    if (pkb_json_array(c->meta, key, &list, err) < 0)
        return -1;
    if (json_array_size(list) > GOLDEN_MAX_ARRAYS)
        return pkb_error_set(err, "%zu %s, the most are %d", json_array_size(list), key, GOLDEN_MAX_ARRAYS);
    arrays->list = calloc(json_array_size(list) + 1, sizeof(*arrays->list));
    if (!arrays->list)
        return pkb_error_errno(err, "%s", key);
    for (; arrays->n < (int)json_array_size(list); arrays->n++) {
        if (read_array(c, json_array_get(list, (size_t)arrays->n), &arrays->list[arrays->n], err) < 0)
            return pkb_error_prefix(err, "%s", key);
    }
    return 0;
}

void golden_arrays_destroy(struct golden_arrays *arrays)
{
    free(arrays->list);
    *arrays = (struct golden_arrays){0, NULL};
}

/* ---- the arrays of a tensor ---------------------------------------------------------------------------------------- */

static const struct golden_array *find(const struct golden_arrays *arrays, const char *name)
{
    for (int i = 0; i < arrays->n; i++) {
        if (strcmp(arrays->list[i].name, name) == 0)
            return &arrays->list[i];
    }
    return NULL;
}

/* The array itself, else <name>_0, <name>_1, ... */
static void find_parts(const struct golden_arrays *arrays, const char *name, struct golden_source *source)
{
    char part[128];
    source->part[0] = find(arrays, name);
    source->n = source->part[0] ? 1 : 0;
    while (!find(arrays, name) && source->n < GOLDEN_MAX_ARRAYS) {
        (void)snprintf(part, sizeof(part), "%s_%d", name, source->n);
        source->part[source->n] = find(arrays, part);
        if (!source->part[source->n])
            return;
        source->n++;
    }
}

/* The array whose transpose <name>t is. */
static void find_transpose(const struct golden_arrays *arrays, const char *name, struct golden_source *source)
{
    char changed[128];
    size_t length = strlen(name);
    if (length < 2 || name[length - 1] != 't')
        return;
    (void)snprintf(changed, sizeof(changed), "%.*s", (int)length - 1, name);
    source->part[0] = find(arrays, changed);
    source->transposed = source->part[0] && source->part[0]->ndim[0] == 2;
    source->n = source->transposed ? 1 : 0;
}

void golden_source_find(const struct golden_arrays *arrays, const char *name, struct golden_source *source)
{
    char changed[128];
    source->transposed = false;
    find_parts(arrays, name, source);
    (void)snprintf(changed, sizeof(changed), "out_%s", name);
    if (source->n == 0)
        find_parts(arrays, changed, source);
    if (source->n == 0)
        find_transpose(arrays, name, source);
}

/* The form of one part: the tensor's, or that of an entry or of a share of its leading dimension. */
static pkb_tensor part_form(const struct golden_source *source, int rank, const pkb_tensor *form)
{
    pkb_tensor part = *form;
    if (source->transposed && part.ndim == 2) {
        part.shape[0] = form->shape[1];
        part.shape[1] = form->shape[0];
    }
    if (source->n == 1)
        return part;
    if (part.ndim == source->part[0]->ndim[rank] + 1 && part.shape[0] == source->n) {
        part.ndim--;
        memmove(part.shape, part.shape + 1, sizeof(part.shape) - sizeof(part.shape[0]));
        part.shape[PKB_MAX_DIMS - 1] = 0;
    } else if (part.ndim > 0 && part.shape[0] % source->n == 0) {
        part.shape[0] /= source->n;
    }
    return part;
}

/* Whether an array may have fewer entries than the tensor in that dimension. */
static bool may_be_short(const struct golden_source *source, const struct problem_tensor *t, int dim)
{
    if (source->n == 1 && t->rows_in != 0 && dim == 0)
        return true;
    return source->part[0]->sparse && dim == t->form.ndim - 1;
}

int golden_source_mismatch(const struct golden_source *source, int rank, const struct problem_tensor *t)
{
    pkb_tensor form = part_form(source, rank, &t->form);
    int wrong = 0;
    for (int i = 0; i < source->n; i++) {
        const struct golden_array *array = source->part[i];
        int ndim = array->ndim[rank];
        wrong += ndim == form.ndim ? 0 : WRONG_RANK;
        for (int d = 0; d < ndim && d < form.ndim; d++) {
            int64_t size = array->shape[rank][d];
            wrong += may_be_short(source, t, d) ? size > form.shape[d] : size != form.shape[d];
        }
    }
    return wrong;
}

static void describe_shape(const int64_t *shape, int ndim, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int d = 0; d < ndim && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", d ? ", " : "", (long long)shape[d]);
}

int golden_source_fits(const struct golden_source *source, int rank, const struct problem_tensor *t, struct pkb_error *err)
{
    char ours[128], theirs[128];
    if (source->n > 0 && golden_source_mismatch(source, rank, t) == 0)
        return 0;
    if (source->n == 0)
        return pkb_error_set(err, "the case has no array of that name");
    describe_shape(t->form.shape, t->form.ndim, ours, sizeof(ours));
    describe_shape(source->part[0]->shape[rank], source->part[0]->ndim[rank], theirs, sizeof(theirs));
    return pkb_error_set(err, "the problem has the shape (%s), the case (%s) %d times", ours, theirs, source->n);
}

int64_t golden_source_rows(const struct golden_source *source, int rank)
{
    return source->part[0]->ndim[rank] > 0 ? source->part[0]->shape[rank][0] : 1;
}

/* ---- contents ------------------------------------------------------------------------------------------------------ */

static size_t volume(const int64_t *shape, int ndim)
{
    size_t n = 1;
    for (int d = 0; d < ndim; d++)
        n *= (size_t)shape[d];
    return n;
}

/* Copies a block of `from` elements into the first corner of one of `to`. */
static void copy_corner(char *dst, const int64_t *to, const char *src, const int64_t *from, int ndim, size_t width)
{
    if (ndim == 0) {
        memcpy(dst, src, width);
        return;
    }
    size_t dst_step = volume(to + 1, ndim - 1) * width, src_step = volume(from + 1, ndim - 1) * width;
    for (int64_t i = 0; i < from[0]; i++)
        copy_corner(dst + (size_t)i * dst_step, to + 1, src + (size_t)i * src_step, from + 1, ndim - 1, width);
}

static void copy_transposed(char *dst, const char *src, const int64_t *shape, size_t width)
{
    for (int64_t i = 0; i < shape[0]; i++) {
        for (int64_t j = 0; j < shape[1]; j++)
            memcpy(dst + (size_t)(j * shape[0] + i) * width, src + (size_t)(i * shape[1] + j) * width, width);
    }
}

static int take(const struct golden_array *array, int rank, const struct npy *contents, const pkb_tensor *form, bool transposed,
                char *dst, struct pkb_error *err)
{
    pkb_tensor t;
    const char *dtype;
    if (pkb_json_string(array->entry, "dtype", &dtype, err) < 0 || npy_tensor(contents, dtype, &t, err) < 0)
        return -1;
    if (t.dtype != form->dtype)
        return pkb_error_set(err, "the problem has %s, the file %s", dtype_name(form->dtype), dtype_name(t.dtype));
    if (t.ndim != array->ndim[rank] || memcmp(t.shape, array->shape[rank], sizeof(t.shape[0]) * (size_t)t.ndim) != 0)
        return pkb_error_set(err, "the shape is not the one that meta.json gives");
    if (transposed)
        copy_transposed(dst, t.data, t.shape, dtype_size(t.dtype));
    else
        copy_corner(dst, form->shape, t.data, t.shape, t.ndim, dtype_size(t.dtype));
    return 0;
}

static int load_part(const struct golden_case *c, const struct golden_array *array, int rank, const char *direction,
                     const pkb_tensor *form, bool transposed, char *dst, struct pkb_error *err)
{
    char *contents = NULL;
    size_t size = 0;
    struct npy npy;
    char *path = pkb_format(err, "%s/rank%d_%s_%s.npy", c->folder, rank, direction, array->name);
    if (!path)
        return -1;
    int rc = pkb_file_read(path, LARGEST_FILE, &contents, &size, err);
    if (rc == 0) {
        rc = npy_parse(contents, size, &npy, err) < 0 ? -1 : take(array, rank, &npy, form, transposed, dst, err);
        if (rc < 0)
            pkb_error_prefix(err, "%s", path);
    }
    free(contents);
    free(path);
    return rc;
}

int golden_source_load(const struct golden_case *c, const struct golden_source *source, int rank, const char *direction,
                       const struct problem_tensor *t, void *data, struct pkb_error *err)
{
    pkb_tensor form = part_form(source, rank, &t->form);
    size_t step = volume(form.shape, form.ndim) * dtype_size(form.dtype);
    if (golden_source_fits(source, rank, t, err) < 0)
        return -1;
    for (int i = 0; i < source->n; i++) {
        if (load_part(c, source->part[i], rank, direction, &form, source->transposed, (char *)data + (size_t)i * step, err) < 0)
            return -1;
    }
    return 0;
}
