/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that are one value, or a table of named values. */
#include <string.h>

#include "sweeps/fields.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *const profiles[] = {"hardened", "pkb"}; /* in the order of enum problem_profile */

int sweep_read_name(struct sweep_reader *r, const json_t *value, struct pkb_error *err)
{
    const char *name;
    if (!value)
        return 0; /* set from the file's name */
    if (sweep_text(value, &name, err) < 0 || sweep_file_name(name, 64, err) < 0)
        return -1;
    return sweep_keep(&r->sweep->name, name, err);
}

int sweep_read_device(struct sweep_reader *r, const json_t *value, struct pkb_error *err)
{
    static const char *const devices[] = {"host", "cuda"};
    int i = 0;
    if (value && sweep_word(value, devices, COUNT(devices), &i, err) < 0)
        return -1;
    return sweep_keep(&r->sweep->device, devices[i], err);
}

/* An integer field, or its default. */
static int read_int(const json_t *value, int64_t min, int64_t max, int fallback, int *out, struct pkb_error *err)
{
    int64_t n = fallback;
    if (value && sweep_integer(value, min, max, &n, err) < 0)
        return -1;
    *out = (int)n;
    return 0;
}

int sweep_read_trials(struct sweep_reader *r, const json_t *value, struct pkb_error *err)
{
    return read_int(value, 1, 1000, 5, &r->sweep->trials, err);
}

int sweep_read_seed(struct sweep_reader *r, const json_t *value, struct pkb_error *err)
{
    int64_t seed = 1;
    if (value && sweep_integer(value, 0, INT64_MAX, &seed, err) < 0)
        return -1;
    r->sweep->seed = (uint64_t)seed;
    return 0;
}

static int read_profile(const json_t *value, enum problem_profile *profile, struct pkb_error *err)
{
    int i = 0;
    if (value && sweep_word(value, profiles, COUNT(profiles), &i, err) < 0)
        return -1;
    *profile = i == 0 ? PROFILE_HARDENED : PROFILE_PKB;
    return 0;
}

int sweep_read_inputs(struct sweep_reader *r, const json_t *value, struct pkb_error *err)
{
    return read_profile(value, &r->sweep->inputs, err);
}

/* A member of a table of numbers; absent members keep *out. */
static int read_real(const json_t *table, const char *key, double min, double max, double *out, struct pkb_error *err)
{
    const json_t *value = json_object_get(table, key);
    if (value && sweep_real(value, min, max, out, err) < 0)
        return pkb_error_prefix(err, "%s", key);
    return 0;
}

static int read_integer(const json_t *table, const char *key, int64_t min, int64_t max, int64_t *out, struct pkb_error *err)
{
    const json_t *value = json_object_get(table, key);
    if (value && sweep_integer(value, min, max, out, err) < 0)
        return pkb_error_prefix(err, "%s", key);
    return 0;
}

/* A table means the pkb profile unless it says otherwise: the hardened one takes its bounds from each problem. */
static int read_tolerance_table(struct sweep *s, const json_t *value, struct pkb_error *err)
{
    static const char *const keys[] = {"profile", "atol", "rtol"};
    const json_t *profile = json_object_get(value, "profile");
    if (sweep_keys(value, keys, COUNT(keys), err) < 0)
        return -1;
    s->tolerance = PROFILE_PKB;
    if (profile && read_profile(profile, &s->tolerance, err) < 0)
        return pkb_error_prefix(err, "profile");
    if (s->tolerance == PROFILE_HARDENED && json_object_size(value) > 1)
        return pkb_error_set(err, "atol and rtol belong to profile = \"pkb\"; the hardened profile has bounds of its own");
    if (read_real(value, "atol", 0, 1e6, &s->atol, err) < 0)
        return -1;
    return read_real(value, "rtol", 0, 1e6, &s->rtol, err);
}

int sweep_read_tolerance(struct sweep_reader *r, const json_t *value, struct pkb_error *err)
{
    r->sweep->atol = 0.01;
    r->sweep->rtol = 0.01;
    if (value && !json_is_string(value))
        return read_tolerance_table(r->sweep, value, err);
    return read_profile(value, &r->sweep->tolerance, err);
}

int sweep_read_iterations(struct sweep_reader *r, const json_t *value, struct pkb_error *err)
{
    static const char *const keys[] = {"warmup", "timed"};
    int64_t warmup = 500, timed = 100;
    if (value && sweep_keys(value, keys, COUNT(keys), err) < 0)
        return -1;
    if (read_integer(value, "warmup", 0, 1000000, &warmup, err) < 0 || read_integer(value, "timed", 1, 1000000, &timed, err) < 0)
        return -1;
    r->sweep->warmup = (int)warmup;
    r->sweep->iterations = (int)timed;
    return 0;
}

int sweep_read_limits(struct sweep_reader *r, const json_t *value, struct pkb_error *err)
{
    static const char *const keys[] = {"seconds", "memory_mb"};
    struct sweep *s = r->sweep;
    s->limit_seconds = 120;
    s->limit_memory_mb = 8192;
    if (value && sweep_keys(value, keys, COUNT(keys), err) < 0)
        return -1;
    if (read_real(value, "seconds", 0.1, 604800, &s->limit_seconds, err) < 0)
        return -1;
    return read_integer(value, "memory_mb", 0, (int64_t)1 << 30, &s->limit_memory_mb, err);
}

int sweep_read_function(struct sweep_reader *r, const json_t *value, struct pkb_error *err)
{
    (void)r;
    if (!value || json_is_null(value))
        return 0;
    return pkb_error_set(err, "expected function(cell) ... end, found %s", sweep_describe(value));
}

int sweep_read_slurm(struct sweep_reader *r, const json_t *value, struct pkb_error *err)
{
    if (!value)
        return 0;
    bool empty = json_is_array(value) && json_array_size(value) == 0;
    if (!json_is_object(value) && !empty)
        return pkb_error_set(err, "expected a table with names, found %s", sweep_describe(value));
    r->sweep->slurm = empty ? json_object() : json_deep_copy(value);
    return r->sweep->slurm ? 0 : pkb_error_set(err, "out of memory");
}
