/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_agent/cell.h"
#include "node_agent/reference.h"
#include "node_agent/selection.h"
#include "node_agent/store.h"
#include "util/json.h"

/* ---- announcements --------------------------------------------------------------------------------------------------- */

static json_t *task_encode(const struct cell_task *task)
{
    json_t *sample = json_array();
    for (int i = 0; i < task->n_samples; i++)
        (void)json_array_append_new(sample, json_integer(task->sample[i]));
    return json_pack("{s:s, s:I, s:s, s:o}", "do", "cell", "cell", (json_int_t)task->cell, "object", task->object, "sample",
                     sample);
}

static int decode_samples(const json_t *object, struct cell_task *task, struct pkb_error *err)
{
    json_t *list;
    if (pkb_json_array(object, "sample", &list, err) < 0)
        return -1;
    if (json_array_size(list) > CELL_MAX_SAMPLES)
        return pkb_error_set(err, "sample: too many");
    for (size_t i = 0; i < json_array_size(list); i++)
        task->sample[task->n_samples++] = (int)json_integer_value(json_array_get(list, i));
    return 0;
}

static int task_decode(const struct agent *a, const json_t *object, struct cell_task *task, struct pkb_error *err)
{
    const char *path;
    int64_t cell;
    *task = (struct cell_task){0};
    if (pkb_json_int(object, "cell", 0, (int64_t)a->plan->n_cells - 1, &cell, err) < 0 ||
        pkb_json_string(object, "object", &path, err) < 0 || decode_samples(object, task, err) < 0)
        return -1;
    task->cell = (size_t)cell;
    task->object = strdup(path);
    return task->object ? 0 : pkb_error_errno(err, "cell");
}

/* Agent 0 says what is next, the others whether they have been asked to drain. */
static int submit(struct agent *a, json_t *announcement, struct pkb_error *err)
{
    json_t *value = announcement ? announcement : json_object();
    if (value)
        (void)json_object_set_new(value, "drain", json_boolean(a->drain));
    char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
    json_decref(value);
    if (!text)
        return agent_end(a, AGENT_EXIT_FAILED, err, "announcement: out of memory");
    int rc = rounds_submit(a->world->rounds, ROUND_CELL, text, strlen(text), err);
    free(text);
    return rc < 0 ? agent_end(a, AGENT_EXIT_LOST, err, NULL) : agent_wait(a, err);
}

static json_t *entry(const struct agent *a, int rank, struct pkb_error *err)
{
    const struct round_entry *e = rounds_entry(a->world->rounds, rank);
    if (e->kind != ROUND_CELL) {
        pkb_error_set(err, "rank %d is in another round", rank);
        return NULL;
    }
    return pkb_json_parse((const char *)e->data, e->size, err);
}

static int note_drains(struct agent *a, struct pkb_error *err)
{
    for (int i = 0; i < a->world->world; i++) {
        json_t *value = entry(a, i, err);
        if (!value)
            return agent_end(a, AGENT_EXIT_FAILED, err, NULL);
        a->draining = a->draining || json_is_true(json_object_get(value, "drain"));
        json_decref(value);
    }
    return 0;
}

/* ---- one after the other --------------------------------------------------------------------------------------------- */

/* 1 with what all ranks do next, 0: the end, -1: the attempt ends. */
static int agree_on_next(struct agent *a, json_t *announcement, struct cell_task *task, struct pkb_error *err)
{
    if (submit(a, announcement, err) < 0 || note_drains(a, err) < 0)
        return -1;
    if (a->draining)
        return 0;
    json_t *value = entry(a, 0, err);
    const char *word = json_string_value(json_object_get(value, "do"));
    int rc = 0;
    if (!value || !word)
        rc = agent_end(a, AGENT_EXIT_FAILED, err, "agent 0 did not say what is next");
    else if (strcmp(word, "cell") == 0)
        rc = task_decode(a, value, task, err) < 0 ? agent_end(a, AGENT_EXIT_FAILED, err, NULL) : 1;
    json_decref(value);
    return rc;
}

static int next_task(struct agent *a, struct selection *s, struct cell_task *task, struct pkb_error *err)
{
    struct cell_task own = {0};
    json_t *announcement = NULL;
    if (a->world->rank == 0) {
        int rc = agent_signals(a, err) < 0 ? -1 : a->drain ? 0 : selection_next(a, s, &own, err);
        if (rc < 0)
            return -1;
        announcement = rc == 1 ? task_encode(&own) : json_pack("{s:s}", "do", "end");
        free(own.object);
    }
    int rc = agree_on_next(a, announcement, task, err);
    task->build_seconds = own.build_seconds;
    return rc;
}

/* A cell whose agents were lost. */
static void record_lost(struct agent *a, const struct cell_task *task, const char *why)
{
    struct pkb_error err;
    enum agent_exit code = a->code;
    if (a->world->rank != 0 || code != AGENT_EXIT_LOST)
        return;
    a->code = AGENT_EXIT_DONE; /* the record may end the attempt in its own way */
    if (agent_signals(a, &err) < 0 || cell_record_unrun(a, task->cell, OUTCOME_INFRA_ERROR, rounds_lost_rank(a->world->rounds),
                                                        why, task->build_seconds, &err) < 0)
        (void)fprintf(stderr, "pkb-agent: %s\n", err.text);
    if (a->code == AGENT_EXIT_DONE)
        a->code = code;
}

static int run_task(struct agent *a, const struct cell_task *task, struct pkb_error *err)
{
    struct cell_result result;
    int rc = cell_run(a, task, &result, err);
    if (rc == 0 && result.decision.killed) {
        /* Somebody killed a runner. A candidate that does so itself does it again. */
        cell_result_clear(&result);
        rc = cell_run(a, task, &result, err);
    }
    if (rc < 0)
        record_lost(a, task, err->text);
    else if (a->world->rank == 0)
        rc = cell_record(a, task, &result, err);
    cell_result_clear(&result);
    return rc;
}

static int run_all(struct agent *a, struct selection *s, struct pkb_error *err)
{
    for (;;) {
        struct cell_task task = {0};
        int rc = next_task(a, s, &task, err);
        if (rc == 1)
            rc = run_task(a, &task, err);
        else if (rc == 0)
            return reference_close(a, err);
        free(task.object);
        if (rc < 0)
            return -1;
    }
}

/* For whoever started the world: it is over when this process is. */
static void print_leader(void)
{
    (void)printf("{\"agent\":%ld}\n", (long)getpid());
    (void)fflush(stdout);
}

void shard_run(struct agent *a, struct pkb_error *err)
{
    struct selection s = {0};
    int rc = 0;
    if (a->world->rank == 0)
        print_leader();
    if (a->world->rank == 0)
        rc = store_open(a, err) < 0 || selection_open(a, &s, err) < 0 ? -1 : 0;
    if (rc == 0)
        rc = run_all(a, &s, err);
    if (rc == 0 && a->draining)
        (void)agent_end(a, AGENT_EXIT_DRAINED, err, "stopped between two cells, as asked");
    reference_destroy(a->reference);
    a->reference = NULL;
    selection_close(&s);
    record_log_close(a->log);
    a->log = NULL;
}
