/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/synthetic_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "results/rooflines.h"
#include "runtime/random.h"
#include "sweeps/plan_parts.h"
#include "tests/support/synthetic.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"

#define MACHINE "h100-sxm-8"
#define SHARD_SECONDS 3600
#define LAUNCH_NS 5000 /* of every call, beyond its bound */

struct synthetic_run {
    char *path;
    struct plan *plan;
    struct synthetic_shape shape;
    struct topology machine;
    double *bound_ns, *baseline_ns; /* per setting */
    int shard;                      /* in work */
    FILE *out[2];                   /* of it: attempts 1 and 2 (NULL: not needed yet) */
};

/* What streams of random numbers are for. */
enum stream { OF_PROBLEM, OF_TASK, OF_SETTING, OF_FATE, OF_SPEED };

static struct rng stream_of(const struct synthetic_run *r, enum stream what)
{
    return rng_make(0, r->shape.seed, 0, RNG_ALL_RANKS, (uint32_t)what);
}

static double normal(const struct synthetic_run *r, enum stream what, uint64_t index)
{
    const struct rng s = stream_of(r, what);
    return rng_normal(&s, index);
}

static double uniform(const struct synthetic_run *r, enum stream what, uint64_t index)
{
    const struct rng s = stream_of(r, what);
    return rng_uniform(&s, index);
}

/* ---- making it ------------------------------------------------------------------------------------------------------- */

static int save_run(const struct synthetic_run *r, struct pkb_error *err)
{
    char now[32], *path = pkb_format(err, "%s/run.json", r->path);
    json_t *machine = topology_copy_encode(&r->machine, err);
    pkb_utc_now(now, sizeof(now));
    json_t *value = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:n, s:o}", "format", 1, "name", "synthetic", "created", now,
                              "host", "nowhere", "version", PACKAGE_VERSION, "build", "synthetic", "launcher", "synthetic",
                              "build_cache", "topology", machine);
    int rc = path && value ? pkb_json_write(path, value, true, err) : pkb_error_set(err, "out of memory");
    json_decref(value);
    free(path);
    return rc;
}

static int time_settings(struct synthetic_run *r, struct pkb_error *err)
{
    struct roofline_cell c;
    r->bound_ns = calloc(r->plan->n_settings, sizeof(double));
    r->baseline_ns = calloc(r->plan->n_settings, sizeof(double));
    if (!r->bound_ns || !r->baseline_ns)
        return pkb_error_set(err, "out of memory");
    for (size_t i = 0; i < r->plan->n_settings; i++) {
        if (roofline_for_cell(&r->machine, &r->plan->settings[i], 1, 0, &c, err) < 0)
            return pkb_error_prefix(err, "%s", r->plan->settings[i].problem->name);
        r->bound_ns[i] = c.roofline.bound * 1e9;
        r->baseline_ns[i] = r->bound_ns[i] / (0.15 + 0.6 * uniform(r, OF_SETTING, i)) + 2 * LAUNCH_NS;
    }
    return 0;
}

static int fill(struct synthetic_run *r, struct pkb_error *err)
{
    char *records = pkb_format(err, "%s/records", r->path);
    int rc = records && topology_find(MACHINE, NULL, &r->machine, err) == 0 ? pkb_mkdirs(records, err) : -1;
    free(records);
    r->plan->n_shards = 0;
    free(r->plan->shards);
    r->plan->shards = NULL;
    if (rc == 0)
        rc = plan_make_shards(r->plan, NULL, SHARD_SECONDS, NULL, err);
    if (rc == 0)
        rc = plan_save(r->plan, r->path, err);
    return rc == 0 && time_settings(r, err) == 0 ? save_run(r, err) : -1;
}

struct synthetic_run *synthetic_run_create(const char *path, const struct synthetic_shape *shape, struct pkb_error *err)
{
    static const int worlds[] = {1, 2, 4, 8};
    int known = 0;
    while (problem_registry[known])
        known++;
    struct synthetic_run *r = calloc(1, sizeof(*r));
    if (!r || shape->problems > known || shape->problems < 0 || shape->models < 1 || shape->samples < 1) {
        pkb_error_set(err, "there are %d problems; models and samples are 1 or more", known);
        free(r);
        return NULL;
    }
    r->shape = *shape;
    r->path = strdup(path);
    r->plan = synthetic_plan(shape->problems ? shape->problems : known, 4, worlds, shape->models, shape->samples);
    synthetic_size(r->plan, "cuda", SHAPE_PAPER);
    if (r->path && fill(r, err) == 0)
        return r;
    synthetic_run_destroy(r);
    return NULL;
}

void synthetic_run_destroy(struct synthetic_run *r)
{
    if (!r)
        return;
    plan_destroy(r->plan);
    free(r->bound_ns);
    free(r->baseline_ns);
    free(r->path);
    free(r);
}

const struct plan *synthetic_run_plan(const struct synthetic_run *r)
{
    return r->plan;
}

/* ---- what becomes of a cell ------------------------------------------------------------------------------------------ */

static int model_of(const struct plan_candidate *c)
{
    return atoi(c->model + strlen("model-"));
}

/* Of six: 0 is the best. */
static int level_of(const struct plan_candidate *c)
{
    return model_of(c) % 6;
}

static int log2_of(int world)
{
    return world < 2 ? 0 : 1 + log2_of(world / 2);
}

/* A problem's part in its models' fates, and a model's in a problem's. */
static uint64_t task_of(const struct plan_setting *s, const struct plan_candidate *c)
{
    return (uint64_t)s->problem->id * 1000 + (uint64_t)model_of(c);
}

/* OUTCOME_COUNT: no record. */
static enum outcome draw_outcome(const struct synthetic_run *r, size_t cell)
{
    static const enum outcome wrong[] = {OUTCOME_COMPILE_ERROR,  OUTCOME_COMPILE_ERROR,  OUTCOME_RUNTIME_ERROR,
                                         OUTCOME_CRASH,          OUTCOME_DEADLOCK,       OUTCOME_SHAPE_MISMATCH,
                                         OUTCOME_VALUE_MISMATCH, OUTCOME_VALUE_MISMATCH, OUTCOME_OUT_OF_MEMORY,
                                         OUTCOME_VALUE_MISMATCH, OUTCOME_LOAD_ERROR,     OUTCOME_TAMPERING};
    const struct plan_setting *s = &r->plan->settings[r->plan->cells[cell].setting];
    const struct plan_candidate *c = &r->plan->candidates[r->plan->cells[cell].candidate];
    double odds = 1.5 - 0.8 * level_of(c) - 0.15 * log2_of(s->world) - 1.2 * normal(r, OF_PROBLEM, (uint64_t)s->problem->id) -
                  0.5 * normal(r, OF_TASK, task_of(s, c));
    double x = uniform(r, OF_FATE, 2 * cell), y = uniform(r, OF_FATE, 2 * cell + 1);
    if (x < 0.002)
        return OUTCOME_COUNT;
    if (x < 0.004)
        return OUTCOME_INFRA_ERROR;
    if ((x - 0.004) / 0.996 < 1 / (1 + exp(-odds)))
        return OUTCOME_CORRECT;
    return wrong[(size_t)(y * (double)(sizeof(wrong) / sizeof(wrong[0])))];
}

/* Nanoseconds of a correct candidate: within what the machine can do, but for one in 3,000, which cheats. */
static double draw_time(const struct synthetic_run *r, size_t cell)
{
    uint32_t setting = r->plan->cells[cell].setting;
    const struct plan_candidate *c = &r->plan->candidates[r->plan->cells[cell].candidate];
    double speedup = exp(0.4 - 0.3 * level_of(c) + 0.5 * normal(r, OF_TASK, 1000000 + task_of(&r->plan->settings[setting], c)) +
                         0.2 * normal(r, OF_SPEED, cell));
    double time = r->baseline_ns[setting] / speedup, least = r->bound_ns[setting] / 0.95 + LAUNCH_NS;
    if (uniform(r, OF_SPEED, 2 * cell + 1) < 1.0 / 3000)
        return r->bound_ns[setting] / 10 + 1;
    return time > least ? time : least;
}

/* What real records carry besides: raw samples, places, versions, durations. */
static json_t *more(double time)
{
    json_t *samples = json_array();
    for (int i = 0; i < 20; i++)
        json_array_append_new(samples, json_real(rint(time * (0.99 + 0.001 * i) * 4) / 4));
    return json_pack("{so, s[s], s{ss}, s{sf, sf}}", "samples_ns", samples, "nodes", "node-0001", "versions", "pkb",
                     PACKAGE_VERSION, "phases", "reference", 0.25, "candidate", 0.125);
}

/* ---- files ----------------------------------------------------------------------------------------------------------- */

static int close_shard(struct synthetic_run *r, struct pkb_error *err)
{
    int rc = 0;
    for (int a = 0; a < 2; a++) {
        if (r->out[a] && (ferror(r->out[a]) | fclose(r->out[a])) != 0)
            rc = pkb_error_set(err, "records of shard %d cannot be written", r->shard);
        r->out[a] = NULL;
    }
    return rc;
}

static FILE *file_of(struct synthetic_run *r, int attempt, struct pkb_error *err)
{
    FILE **out = &r->out[attempt - 1];
    if (*out)
        return *out;
    char *name = record_file_name(r->shard, attempt, err);
    char *path = name ? pkb_format(err, "%s/records/%s", r->path, name) : NULL;
    *out = path ? fopen(path, "ae") : NULL;
    if (path && !*out)
        pkb_error_errno(err, "%s", path);
    free(name);
    free(path);
    return *out;
}

static int put(FILE *out, json_t *value)
{
    int rc = value ? json_dumpf(value, out, JSON_COMPACT | JSON_REAL_PRECISION(15)) : -1;
    (void)fputc('\n', out);
    json_decref(value);
    return rc;
}

static int put_cell(struct synthetic_run *r, size_t cell, int attempt, enum outcome o, struct pkb_error *err)
{
    FILE *out = file_of(r, attempt, err);
    if (!out)
        return -1;
    struct record record;
    double baseline = r->baseline_ns[r->plan->cells[cell].setting], time = o == OUTCOME_CORRECT ? draw_time(r, cell) : 0;
    synthetic_record(r->plan, cell, attempt, o, time > 0 ? baseline / time : 1, &record);
    synthetic_scale(&record, baseline);
    record.more = more(time);
    int rc = put(out, record_encode(&record));
    record_clear(&record);
    return rc < 0 ? pkb_error_set(err, "a record cannot be written") : 0;
}

/* One in 400 is there twice, one in 4,000 is cut short as well; half of the infra errors were retried. */
static int put_cells(struct synthetic_run *r, size_t cell, struct pkb_error *err)
{
    enum outcome o = draw_outcome(r, cell);
    if (o == OUTCOME_COUNT)
        return 0;
    if (put_cell(r, cell, 1, o, err) < 0)
        return -1;
    if (cell % 4000 == 7)
        (void)fputs("{\"schema\":1,\"kind\":\"cell\",\"cell\":\n", r->out[0]);
    if (cell % 400 == 5 && put_cell(r, cell, 1, o, err) < 0)
        return -1;
    return o == OUTCOME_INFRA_ERROR && cell % 2 == 0 ? put_cell(r, cell, 2, OUTCOME_CORRECT, err) : 0;
}

static int put_baseline(struct synthetic_run *r, uint32_t setting, struct pkb_error *err)
{
    struct record_baseline b;
    FILE *out = file_of(r, 1, err);
    double drift = 0.012 * normal(r, OF_SETTING, 1000000 + setting);
    if (!out)
        return -1;
    synthetic_baseline(r->plan, setting, r->baseline_ns[setting], drift, &b);
    return put(out, record_baseline_encode(&b)) < 0 ? pkb_error_set(err, "a baseline cannot be written") : 0;
}

static int write_shard(struct synthetic_run *r, size_t first, size_t end, struct pkb_error *err)
{
    int rc = 0;
    for (size_t cell = first; cell < end && rc == 0; cell++) {
        uint32_t setting = r->plan->cells[cell].setting;
        rc = put_cells(r, cell, err);
        if (rc == 0 && (cell + 1 == end || r->plan->cells[cell + 1].setting != setting))
            rc = put_baseline(r, setting, err);
    }
    return close_shard(r, rc < 0 ? NULL : err) < 0 ? -1 : rc;
}

int synthetic_run_write(struct synthetic_run *r, size_t first, size_t end, struct pkb_error *err)
{
    for (size_t i = 0; i < r->plan->n_shards; i++) {
        const struct plan_shard *s = &r->plan->shards[i];
        size_t from = first > s->first ? first : s->first, to = end < s->first + s->count ? end : s->first + s->count;
        r->shard = s->id;
        if (from < to && write_shard(r, from, to, err) < 0)
            return -1;
    }
    return 0;
}
