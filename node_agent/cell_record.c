/* SPDX-License-Identifier: Apache-2.0 */
/* A cell's record and its line of progress. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/cell.h"
#include "node_agent/store.h"
#include "runtime/dtype.h"
#include "util/clock.h"

static const char *const step_names[CELL_STEPS] = {
    [CELL_REFERENCE] = "reference", [CELL_START] = "start", [CELL_TRIALS] = "trials", [CELL_JUDGE] = "judge",
    [CELL_TIME] = "time",           [CELL_QUIT] = "quit",   [CELL_CHECK] = "check",
};

/* What determines the cell. */
static int fill_identity(struct agent *a, size_t index, struct record *rec, struct pkb_error *err)
{
    const struct plan_cell *cell = &a->plan->cells[index];
    const struct plan_setting *s = &a->plan->settings[cell->setting];
    const struct plan_candidate *c = &a->plan->candidates[cell->candidate];
    struct pkb_digest *digest = pkb_digest_create(err);
    int rc = digest ? plan_cell_digest(a->plan, cell, digest, rec->cell, err) : -1;
    pkb_digest_destroy(digest);
    if (rc < 0)
        return agent_end(a, AGENT_EXIT_FAILED, err, NULL);
    memcpy(rec->setting, s->digest, sizeof(rec->setting));
    memcpy(rec->candidate, c->digest, sizeof(rec->candidate));
    (void)snprintf(rec->model, sizeof(rec->model), "%s", c->model);
    store_describe_setting(a, s, rec->problem, rec->family, rec->dtype, rec->shape, rec->device);
    rec->sample = c->sample;
    rec->world = s->world;
    rec->nodes = a->world->nodes;
    rec->seed = s->seed;
    rec->attempt = a->options.attempt;
    return 0;
}

static json_t *phases(const struct cell_task *task, const struct cell_result *result)
{
    json_t *list = json_pack("{s:f}", "build", task->build_seconds);
    for (int i = 0; i < CELL_STEPS; i++)
        if (result->seconds[i] > 0)
            (void)json_object_set_new(list, step_names[i], json_real(result->seconds[i]));
    (void)json_object_set_new(list, "total", json_real(result->total));
    return list;
}

static void add_optional(json_t *more, const char *key, json_t *value)
{
    if (value)
        (void)json_object_set(more, key, value);
}

static json_t *more_of(const struct agent *a, const struct cell_task *task, const struct cell_result *result)
{
    json_t *more = json_object(), *samples = loop_samples(&result->loop), *checked = json_array();
    store_add_world(a, more);
    add_optional(more, "devices", result->start.devices);
    add_optional(more, "start", result->start.seconds);
    add_optional(more, "trials", result->trials);
    add_optional(more, "gpu", result->gpus);
    for (int i = 0; i < task->n_samples; i++)
        (void)json_array_append_new(checked, json_integer(task->sample[i]));
    if (samples) {
        (void)json_object_set_new(more, "samples", samples);
        (void)json_object_set(more, "checked", checked);
    }
    json_decref(checked);
    (void)json_object_set_new(more, "phases", phases(task, result));
    if (result->decision.output[0] != '\0')
        (void)json_object_set_new(more, "output", json_string(result->decision.output));
    return more;
}

static void print_progress(const struct agent *a, size_t index, const struct record *rec, double seconds)
{
    json_t *line = json_pack("{s:s, s:I, s:s, s:f}", "cell", rec->cell, "index", (json_int_t)(a->plan->first_cell + index),
                             "outcome", outcome_name(rec->outcome), "seconds", seconds);
    char *text = line ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    if (text)
        (void)printf("%s\n", text);
    (void)fflush(stdout);
    free(text);
    json_decref(line);
}

static int append(struct agent *a, size_t index, struct record *rec, double seconds, struct pkb_error *err)
{
    int rc = store_check_lease(a, err); /* a node that was cut off may have worked on for long */
    if (rc == 0)
        rc = store_append(a, record_encode(rec), err);
    if (rc == 0)
        print_progress(a, index, rec, seconds);
    return rc;
}

/* Times stay only with a result that they belong to. */
static int fill_times(struct agent *a, const struct cell_result *result, struct record *rec, struct pkb_error *err)
{
    rec->baseline = result->baseline;
    if (rec->outcome != OUTCOME_CORRECT)
        return 0;
    if (loop_times(&result->loop, &rec->time, err) < 0)
        return agent_end(a, AGENT_EXIT_FAILED, err, NULL);
    if (rec->time.iterations > 0 && rec->baseline.iterations > 0 && rec->time.mean > 0)
        rec->speedup = rec->baseline.mean / rec->time.mean;
    return 0;
}

int cell_record(struct agent *a, const struct cell_task *task, const struct cell_result *result, struct pkb_error *err)
{
    struct record rec = {.outcome = result->decision.outcome, .rank = result->decision.rank};
    if (fill_identity(a, task->cell, &rec, err) < 0 || fill_times(a, result, &rec, err) < 0)
        return -1;
    memcpy(rec.detail, result->decision.detail, sizeof(rec.detail));
    memcpy(rec.started, result->started, sizeof(rec.started));
    rec.more = more_of(a, task, result);
    int rc = append(a, task->cell, &rec, result->total, err);
    record_clear(&rec);
    return rc;
}

int cell_record_unrun(struct agent *a, size_t cell, enum outcome outcome, int rank, const char *detail, double build_seconds,
                      struct pkb_error *err)
{
    struct record rec = {.outcome = outcome, .rank = rank};
    if (fill_identity(a, cell, &rec, err) < 0)
        return -1;
    (void)snprintf(rec.detail, sizeof(rec.detail), "%s", detail);
    pkb_utc_now(rec.started, sizeof(rec.started));
    rec.more = json_object();
    store_add_world(a, rec.more);
    (void)json_object_set_new(rec.more, "phases", json_pack("{s:f}", "build", build_seconds));
    int rc = append(a, cell, &rec, 0, err);
    record_clear(&rec);
    return rc;
}
