/* SPDX-License-Identifier: Apache-2.0 */
#include "sweeps/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sweeps/fields.h"
#include "sweeps/lua.h"
#include "sweeps/source.h"
#include "util/digest.h"
#include "util/file.h"
#include "util/suggest.h"

/* In reading order: models needs candidates, shapes needs problems. */
static const struct field {
    const char *name;
    sweep_field_fn *read;
} fields[] = {
    {"name", sweep_read_name},           {"candidates", sweep_read_candidates},
    {"problems", sweep_read_problems},   {"models", sweep_read_models},
    {"samples", sweep_read_samples},     {"gpus", sweep_read_gpus},
    {"dtypes", sweep_read_dtypes},       {"shapes", sweep_read_shapes},
    {"device", sweep_read_device},       {"trials", sweep_read_trials},
    {"seed", sweep_read_seed},           {"inputs", sweep_read_inputs},
    {"tolerance", sweep_read_tolerance}, {"iterations", sweep_read_iterations},
    {"limits", sweep_read_limits},       {"where", sweep_read_function},
    {"time", sweep_read_function},       {"slurm", sweep_read_slurm},
};

#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

/* Puts "line N: field: " in front of the error. */
static int blame(const struct sweep_reader *r, size_t size, const char *field, struct pkb_error *err)
{
    const struct sweep *s = r->sweep;
    int line = sweep_source_line(s->source, size, sweep_lua_line(s->lua), field, r->entry);
    return pkb_error_prefix(err, "line %d: %s", line, field);
}

static int check_names(const struct sweep_reader *r, const json_t *table, size_t size, struct pkb_error *err)
{
    const char *names[N_FIELDS];
    const char *key;
    json_t *value;
    for (size_t i = 0; i < N_FIELDS; i++)
        names[i] = fields[i].name;
    json_object_foreach((json_t *)table, key, value)
    {
        size_t i = 0;
        while (i < N_FIELDS && strcmp(names[i], key) != 0)
            i++;
        if (i < N_FIELDS)
            continue;
        sweep_unknown(key, names, N_FIELDS, err, "unknown field");
        return blame(r, size, key, err);
    }
    return 0;
}

static int read_fields(struct sweep_reader *r, const json_t *table, size_t size, struct pkb_error *err)
{
    if (check_names(r, table, size, err) < 0)
        return -1;
    for (size_t i = 0; i < N_FIELDS; i++) {
        r->entry = NULL;
        if (fields[i].read(r, json_object_get(table, fields[i].name), err) < 0)
            return blame(r, size, fields[i].name, err);
    }
    r->sweep->has_where = sweep_lua_has(r->sweep->lua, SWEEP_WHERE);
    r->sweep->has_time = sweep_lua_has(r->sweep->lua, SWEEP_TIME);
    return 0;
}

/* The file's name without .lua, with '-' for what a name must not hold. */
static int default_name(struct sweep *s, struct pkb_error *err)
{
    struct pkb_error ignored;
    const char *slash = strrchr(s->path, '/');
    if (sweep_keep(&s->name, slash ? slash + 1 : s->path, err) < 0)
        return -1;
    size_t length = strlen(s->name);
    if (length > 4 && strcmp(s->name + length - 4, ".lua") == 0)
        s->name[length - 4] = '\0';
    if (strlen(s->name) > 64)
        s->name[64] = '\0';
    for (char *c = s->name; *c; c++) {
        char one[2] = {*c, '\0'};
        if (sweep_file_name(one, 1, &ignored) < 0 && (c == s->name || (*c != '.' && *c != '-')))
            *c = c == s->name ? '_' : '-';
    }
    return s->name[0] ? 0 : sweep_keep(&s->name, "sweep", err);
}

/* The folder that relative paths begin at, without a "/" at its end. */
static char *folder_of(const char *path, struct pkb_error *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return pkb_format(err, ".");
    return pkb_format(err, "%.*s", (int)(slash - path), path);
}

static int read_sweep(struct sweep *s, size_t size, struct pkb_error *err)
{
    json_t *table = NULL;
    struct sweep_reader r = {.sweep = s};
    s->lua = sweep_lua_create(err);
    if (!s->lua || sweep_lua_run(s->lua, s->source, size, &table, err) < 0)
        return -1;
    char *folder = folder_of(s->path, err);
    r.folder = folder;
    int rc = folder && default_name(s, err) == 0 ? read_fields(&r, table, size, err) : -1;
    sweep_reader_clear(&r);
    free(folder);
    json_decref(table);
    return rc;
}

/* Takes over `source`. */
static struct sweep *load(const char *path, char *source, size_t size, struct pkb_error *err)
{
    struct sweep *s = calloc(1, sizeof(*s));
    if (!s) {
        pkb_error_set(err, "sweep %s: out of memory", path);
        free(source);
        return NULL;
    }
    s->source = source;
    if (sweep_keep(&s->path, path, err) < 0 || pkb_digest_buffer(source, size, s->digest, err) < 0 ||
        read_sweep(s, size, err) < 0) {
        pkb_error_prefix(err, "sweep %s", path);
        sweep_destroy(s);
        return NULL;
    }
    return s;
}

struct sweep *sweep_load_text(const char *path, const char *text, size_t size, struct pkb_error *err)
{
    char *copy = size < SIZE_MAX ? malloc(size + 1) : NULL;
    if (!copy) {
        pkb_error_set(err, "sweep %s: out of memory", path);
        return NULL;
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    return load(path, copy, size, err);
}

struct sweep *sweep_load(const char *path, struct pkb_error *err)
{
    char *text = NULL;
    size_t size = 0;
    if (pkb_file_read(path, SWEEP_STRING, &text, &size, err) < 0) {
        pkb_error_prefix(err, "sweep");
        return NULL;
    }
    return load(path, text, size, err);
}

static void destroy_shapes(struct sweep *s)
{
    for (int i = 0; i < s->n_shapes; i++) {
        for (int k = 0; k < s->shapes[i].n_overrides; k++)
            free(s->shapes[i].overrides[k].param);
        free(s->shapes[i].overrides);
        free(s->shapes[i].name);
    }
    free(s->shapes);
}

void sweep_destroy(struct sweep *s)
{
    int saved = errno;
    if (s) {
        for (int i = 0; i < s->n_models; i++)
            free(s->models[i]);
        destroy_shapes(s);
        sweep_lua_destroy(s->lua);
        json_decref(s->slurm);
        free(s->models);
        free(s->models_named);
        free(s->problems);
        free(s->samples);
        free(s->worlds);
        free(s->dtypes);
        free(s->candidates);
        free(s->device);
        free(s->name);
        free(s->source);
        free(s->path);
        free(s);
    }
    errno = saved;
}

/* ---- functions of a cell ------------------------------------------------------------------------------------------- */

static int blame_cell(const struct sweep *s, const char *function, const struct sweep_cell *c, struct pkb_error *err)
{
    struct pkb_error inner = *err;
    return pkb_error_set(err, "sweep %s: %s: %s (for %s, model %s, sample %d, %d ranks, %s, %s)", s->path, function, inner.text,
                         c->problem->name, c->model, c->sample, c->world, dtype_name(c->dtype), c->shape);
}

int sweep_where(struct sweep *s, const struct sweep_cell *cell, bool *keep, struct pkb_error *err)
{
    double value = 1;
    if (s->has_where && sweep_lua_call(s->lua, SWEEP_WHERE, cell, &value, err) < 0)
        return blame_cell(s, "where", cell, err);
    *keep = value != 0;
    return 0;
}

int sweep_time(struct sweep *s, const struct sweep_cell *cell, double *seconds, struct pkb_error *err)
{
    *seconds = 0;
    if (s->has_time && sweep_lua_call(s->lua, SWEEP_TIME, cell, seconds, err) < 0)
        return blame_cell(s, "time", cell, err);
    return 0;
}
