/* SPDX-License-Identifier: Apache-2.0 */
/* From a sweep to its cells. */
#include "sweeps/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweeps/plan_parts.h"

#define DEFAULT_SHARD_SECONDS 600

struct expansion {
    struct sweep *sweep;
    struct plan *plan;
    struct plan_range *ranges; /* per problem of the sweep */
    uint64_t *supported;       /* per problem: settings that can run */
    size_t settings_capacity, cells_capacity;
    float *seconds; /* per cell, when the sweep has `time` */
};

void plan_destroy(struct plan *p)
{
    int saved = errno;
    if (p) {
        for (size_t i = 0; i < p->n_candidates; i++) {
            free(p->candidates[i].model);
            free(p->candidates[i].path);
        }
        for (size_t i = 0; i < p->n_skips; i++) {
            free(p->skips[i].model);
            free(p->skips[i].reason);
        }
        free(p->settings);
        free(p->candidates);
        free(p->cells);
        free(p->shards);
        free(p->skips);
        free(p);
    }
    errno = saved;
}

/* ---- settings ------------------------------------------------------------------------------------------------------ */

/* Sets the shape's values. -1 with the reason when the shape says nothing about this problem. */
static int apply_shape(struct problem_setting *setting, const struct sweep_shape *shape, struct pkb_error *err)
{
    struct pkb_error ignored;
    int applied = 0;
    for (int i = 0; i < shape->n_overrides; i++)
        applied += problem_setting_override(setting, shape->overrides[i].param, shape->overrides[i].value, &ignored) == 0;
    if (shape->n_overrides && !applied)
        return pkb_error_set(err, "has none of the parameters of shape \"%s\"", shape->name);
    return 0;
}

/* The reason goes behind the problem's name, which comes first in its messages. */
static const char *reason_of(const struct problem *p, const struct pkb_error *err)
{
    size_t n = strlen(p->name);
    return strncmp(err->text, p->name, n) == 0 && strncmp(err->text + n, ": ", 2) == 0 ? err->text + n + 2 : err->text;
}

/* Can the setting run, on the first rank and on the last? */
static int check_setting(struct problem_setting *setting, struct pkb_error *err)
{
    if (problem_setting_check(setting, err) < 0)
        return -1;
    setting->rank = setting->world - 1;
    int rc = problem_setting_check(setting, err);
    setting->rank = 0;
    return rc;
}

static void fill_setting(struct plan_setting *out, const struct sweep *s, const struct sweep_shape *shape,
                         const struct problem_setting *setting)
{
    *out = (struct plan_setting){
        .problem = setting->problem,
        .world = setting->world,
        .dtype = setting->dtype,
        .trials = s->trials,
        .warmup = s->warmup,
        .iterations = s->iterations,
        .seed = s->seed,
        .inputs = s->inputs,
        .tolerance = s->tolerance,
        .atol = s->atol,
        .rtol = s->rtol,
        .limit_seconds = s->limit_seconds,
        .limit_memory_mb = s->limit_memory_mb,
    };
    (void)snprintf(out->shape, sizeof(out->shape), "%s", shape->name);
    (void)snprintf(out->device, sizeof(out->device), "%s", s->device);
    memcpy(out->params, setting->params, sizeof(out->params));
}

/* A place behind the settings; it counts once a cell uses it. */
static struct plan_setting *next_setting(struct expansion *x, struct pkb_error *err)
{
    struct plan *p = x->plan;
    if (p->n_settings >= PLAN_MAX) {
        pkb_error_set(err, "more than %u settings", PLAN_MAX);
        return NULL;
    }
    if (p->n_settings == x->settings_capacity) {
        size_t capacity = x->settings_capacity ? 2 * x->settings_capacity : 64;
        struct plan_setting *grown = reallocarray(p->settings, capacity, sizeof(*grown));
        if (!grown) {
            pkb_error_set(err, "out of memory");
            return NULL;
        }
        p->settings = grown;
        x->settings_capacity = capacity;
    }
    return &p->settings[p->n_settings];
}

/* ---- cells --------------------------------------------------------------------------------------------------------- */

static int grow_cells(struct expansion *x, struct pkb_error *err)
{
    struct plan *p = x->plan;
    if (p->n_cells < x->cells_capacity)
        return 0;
    if (p->n_cells >= PLAN_MAX)
        return pkb_error_set(err, "more than %u cells", PLAN_MAX);
    size_t capacity = x->cells_capacity ? 2 * x->cells_capacity : 1024;
    struct plan_cell *cells = reallocarray(p->cells, capacity, sizeof(*cells));
    if (!cells)
        return pkb_error_set(err, "out of memory");
    p->cells = cells;
    if (x->sweep->has_time) {
        float *seconds = reallocarray(x->seconds, capacity, sizeof(*seconds));
        if (!seconds)
            return pkb_error_set(err, "out of memory");
        x->seconds = seconds;
    }
    x->cells_capacity = capacity;
    return 0;
}

static int add_cell(struct expansion *x, const struct sweep_cell *asked, uint32_t candidate, struct pkb_error *err)
{
    struct plan *p = x->plan;
    double seconds;
    if (grow_cells(x, err) < 0)
        return -1;
    if (x->seconds) {
        if (sweep_time(x->sweep, asked, &seconds, err) < 0)
            return -1;
        x->seconds[p->n_cells] = (float)seconds;
    }
    p->cells[p->n_cells++] = (struct plan_cell){(uint32_t)p->n_settings, candidate};
    return 0;
}

/* All candidates of the problem with one setting. */
static int expand_candidates(struct expansion *x, const struct plan_setting *s, const struct plan_range *range,
                             struct pkb_error *err)
{
    struct plan *p = x->plan;
    struct sweep_cell asked = {
        .problem = s->problem, .shape = s->shape, .device = s->device, .world = s->world, .dtype = s->dtype};
    uint64_t dropped = 0;
    size_t before = p->n_cells;
    for (uint32_t i = range->first; i < range->first + range->count; i++) {
        bool keep;
        asked.model = p->candidates[i].model;
        asked.sample = p->candidates[i].sample;
        if (sweep_where(x->sweep, &asked, &keep, err) < 0 || (keep && add_cell(x, &asked, i, err) < 0))
            return -1;
        dropped += !keep;
    }
    p->n_settings += p->n_cells > before;
    return plan_skip_add(p, s->problem, NULL, s->world, dropped, PLAN_LEFT_OUT_BY_WHERE, err);
}

static int expand_shape(struct expansion *x, int problem, int world, int dtype, const struct sweep_shape *shape,
                        struct pkb_error *err)
{
    const struct sweep *s = x->sweep;
    struct problem_setting setting;
    struct pkb_error reason;
    problem_setting_init(&setting, s->problems[problem], shape->base, dtype, 0, world);
    setting.inputs = s->inputs;
    setting.tolerance = s->tolerance;
    setting.atol = s->atol;
    setting.rtol = s->rtol;
    setting.seed = s->seed;
    if (apply_shape(&setting, shape, &reason) < 0 || check_setting(&setting, &reason) < 0) {
        uint64_t count = (uint64_t)s->n_models * (uint64_t)s->n_samples;
        return plan_skip_add(x->plan, setting.problem, NULL, world, count, reason_of(setting.problem, &reason), err);
    }
    struct plan_setting *out = next_setting(x, err);
    if (!out)
        return -1;
    fill_setting(out, s, shape, &setting);
    x->supported[problem]++;
    if (plan_setting_seal(out, err) < 0)
        return -1;
    return expand_candidates(x, out, &x->ranges[problem], err);
}

/* In plan order: world size, then problem, dtype, shape. */
static int expand_settings(struct expansion *x, struct pkb_error *err)
{
    const struct sweep *s = x->sweep;
    for (int w = 0; w < s->n_worlds; w++) {
        for (int i = 0; i < s->n_problems; i++) {
            for (int d = 0; d < s->n_dtypes; d++) {
                for (int k = 0; k < s->n_shapes; k++) {
                    if (expand_shape(x, i, s->worlds[w], s->dtypes[d], &s->shapes[k], err) < 0)
                        return -1;
                }
            }
        }
    }
    return 0;
}

/* ---- what is left out ---------------------------------------------------------------------------------------------- */

static int skip_missing(struct expansion *x, struct pkb_error *err)
{
    const struct sweep *s = x->sweep;
    for (int i = 0; i < s->n_problems; i++) {
        const struct plan_range *range = &x->ranges[i];
        for (size_t m = 0; m < range->n_missing; m++) {
            const struct plan_missing *missing = &range->missing[m];
            const char *reason = "no candidate";
            if (missing->other_device)
                reason = strcmp(s->device, "host") == 0 ? "no .c candidate; what is there is for another device"
                                                        : "no .cu or .py candidate; what is there is for another device";
            uint64_t count = x->supported[i] * (uint64_t)missing->samples;
            if (plan_skip_add(x->plan, s->problems[i], missing->model, 0, count, reason, err) < 0)
                return -1;
        }
    }
    return 0;
}

static int no_cells(const struct plan *p, const struct sweep *s, struct pkb_error *err)
{
    const struct plan_skip *most = NULL;
    uint64_t total = 0;
    for (size_t i = 0; i < p->n_skips; i++) {
        total += p->skips[i].count;
        if (!most || p->skips[i].count > most->count)
            most = &p->skips[i];
    }
    if (!most)
        return pkb_error_set(err, "sweep %s: there is no cell to run", s->path);
    return pkb_error_set(err, "sweep %s: there is no cell to run: all %llu are left out, %llu of them for %s%s%s: %s", s->path,
                         (unsigned long long)total, (unsigned long long)most->count, most->problem->name,
                         most->model ? ", model " : "", most->model ? most->model : "", most->reason);
}

/* ---- the plan ------------------------------------------------------------------------------------------------------ */

/* Gives back what the arrays have too much. */
static void trim(struct plan *p)
{
    struct plan_cell *cells = reallocarray(p->cells, p->n_cells, sizeof(*cells));
    if (cells)
        p->cells = cells;
}

static int fill(struct expansion *x, double shard_seconds, struct estimates *learned, struct pkb_error *err)
{
    struct plan *p = x->plan;
    x->supported = calloc((size_t)x->sweep->n_problems + 1, sizeof(*x->supported));
    if (!x->supported)
        return pkb_error_set(err, "out of memory");
    if (plan_find_candidates(x->sweep, p, &x->ranges, err) < 0)
        return pkb_error_prefix(err, "sweep %s: candidates", x->sweep->path);
    if (expand_settings(x, err) < 0 || skip_missing(x, err) < 0)
        return -1;
    if (p->n_cells == 0)
        return no_cells(p, x->sweep, err);
    trim(p);
    if (plan_make_shards(p, x->seconds, shard_seconds, learned, err) < 0)
        return -1;
    return plan_drop_unused(p, err);
}

struct plan *plan_make(struct sweep *s, double shard_seconds, struct estimates *learned, struct pkb_error *err)
{
    struct expansion x = {.sweep = s};
    x.plan = calloc(1, sizeof(*x.plan));
    if (!x.plan) {
        pkb_error_set(err, "out of memory");
        return NULL;
    }
    int rc = fill(&x, shard_seconds > 0 ? shard_seconds : DEFAULT_SHARD_SECONDS, learned, err);
    plan_ranges_destroy(x.ranges, s->n_problems);
    free(x.supported);
    free(x.seconds);
    if (rc == 0)
        return x.plan;
    plan_destroy(x.plan);
    return NULL;
}
