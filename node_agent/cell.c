/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "node_agent/command.h"
#include "node_agent/gpu_place.h"
#include "node_agent/reference.h"
#include "util/clock.h"
#include "util/json.h"

/* A cell in progress on this rank. */
struct run {
    struct agent *a;
    const struct cell_task *task;
    struct cell_result *result;
    const struct plan_cell *cell;
    const struct plan_setting *setting;
    const struct reference *reference;
    struct segment slots;
    struct runner *runner;
    struct pkb_error why;           /* this rank has no runner */
    int64_t started;                /* of the candidate's time */
    struct gpu_state before, after; /* around the timed loop, or the whole cell */
};

/* A step: 1 go on, 0 decided, -1 the attempt ends. */
typedef int step_fn(struct run *r, struct pkb_error *err);

/* ---- steps ----------------------------------------------------------------------------------------------------------- */

static int step_reference(struct run *r, struct pkb_error *err)
{
    struct decision *d = &r->result->decision;
    if (reference_open(r->a, r->setting, err) < 0)
        return -1;
    r->reference = r->a->reference;
    if (r->reference->ok)
        return loop_times(&r->reference->before, &r->result->baseline, err) < 0 ? agent_end(r->a, AGENT_EXIT_FAILED, err, NULL)
                                                                                : 1;
    *d = (struct decision){.outcome = OUTCOME_INFRA_ERROR, .rank = -1};
    (void)snprintf(d->detail, sizeof(d->detail), "%s", r->reference->failure);
    return 0;
}

/* CUDA and the address sanitizer reserve more addresses than any limit; what CUDA reserves cannot be written. */
static void limit_memory(const struct run *r, struct runner_spec *spec)
{
    uint64_t bytes = PKB_SANITIZERS ? 0 : (uint64_t)r->setting->limit_memory_mb << 20;
    if (strcmp(agent_device(r->a, r->setting), "host") == 0)
        spec->address_space = bytes;
    else
        spec->data_bytes = bytes;
}

static int start_runner(struct run *r, struct pkb_error *err)
{
    const struct plan_candidate *c = &r->a->plan->candidates[r->cell->candidate];
    char title[512];
    (void)snprintf(title, sizeof(title), "cell %llu: %s/%s/%d, rank %d",
                   (unsigned long long)(r->a->plan->first_cell + r->task->cell), c->model, c->problem->name, c->sample,
                   r->a->world->rank);
    struct runner_spec spec = {.title = title,
                               .log_path = r->a->log_path,
                               .number = rounds_number(r->a->world->rounds),
                               .inputs = r->reference->inputs.fd};
    if (segment_create("pkb-results", r->reference->layout.slots_size, &r->slots, err) < 0)
        return -1;
    spec.results = r->slots.fd;
    limit_memory(r, &spec);
    r->runner = runner_start(r->a->supervisor, &spec, err);
    return r->runner ? 0 : -1;
}

static int step_start(struct run *r, struct pkb_error *err)
{
    r->started = pkb_now_ns();
    (void)start_runner(r, &r->why);
    json_t *start = r->runner ? command_start(r->a, r->setting, r->runner, r->task->object) : NULL;
    return command_run_start(r->a, r->runner, r->why.text, start, r->started, r->setting->limit_seconds, &r->result->start,
                             &r->result->decision, err);
}

static int step_trials(struct run *r, struct pkb_error *err)
{
    return command_run(r->a, r->runner, NULL, command_word("trials"), r->started, r->setting->limit_seconds, &r->result->decision,
                       err);
}

static void look(const struct run *r, struct gpu_state *s)
{
    if (r->a->gpu_ordinal >= 0)
        gpu_look(r->a, s);
}

static int step_time(struct run *r, struct pkb_error *err)
{
    if (r->setting->iterations == 0)
        return 1;
    look(r, &r->before);
    int rc = command_run_time(r->a, r->runner, r->setting, r->task->sample, r->task->n_samples, r->started,
                              r->setting->limit_seconds, &r->result->loop, &r->result->decision, err);
    look(r, &r->after);
    return rc;
}

static int step_quit(struct run *r, struct pkb_error *err)
{
    return command_run_quit(r->a, r->runner, r->started, r->setting->limit_seconds, &r->result->decision, err);
}

/* ---- verdicts -------------------------------------------------------------------------------------------------------- */

/* Submits this rank's verdict and hears the others'. */
static int agree(struct run *r, enum outcome outcome, const char *detail, const json_t *more, json_t **all, struct pkb_error *err)
{
    struct rounds *rounds = r->a->world->rounds;
    char *text = verdict_encode(outcome, detail, more);
    if (!text)
        return agent_end(r->a, AGENT_EXIT_FAILED, err, "verdict: out of memory");
    int rc = rounds_submit(rounds, ROUND_VERDICT, text, strlen(text), err);
    free(text);
    if (rc < 0)
        return agent_end(r->a, AGENT_EXIT_LOST, err, NULL);
    if (agent_wait(r->a, err) < 0)
        return -1;
    if (decide_verdict(rounds, r->a->world->world, &r->result->decision, all, err) < 0)
        return agent_end(r->a, AGENT_EXIT_FAILED, err, NULL);
    return r->result->decision.outcome == OUTCOME_CORRECT;
}

static struct judge_view view_of(const struct run *r)
{
    return (struct judge_view){.setting = &r->reference->local,
                               .layout = &r->reference->layout,
                               .inputs = r->reference->inputs.data,
                               .expected = r->reference->expected.data,
                               .slots = r->slots.data};
}

static void add_errors(json_t *list, const struct judge_verdict *v)
{
    (void)json_array_append_new(
        list, json_pack("{s:o, s:o}", "max_abs", pkb_json_number(v->max_abs), "max_rel", pkb_json_number(v->max_rel)));
}

static int step_judge(struct run *r, struct pkb_error *err)
{
    struct judge_view view = view_of(r);
    struct judge_verdict v, decisive = {.outcome = OUTCOME_CORRECT};
    json_t *errors = json_array();
    for (int i = 0; i < r->setting->trials; i++) {
        judge_trial(&view, i, &v);
        add_errors(errors, &v);
        if (v.outcome != OUTCOME_CORRECT && decisive.outcome == OUTCOME_CORRECT)
            decisive = v;
    }
    int rc = agree(r, decisive.outcome, decisive.detail, errors, &r->result->trials, err);
    json_decref(errors);
    return rc;
}

/* The outputs of the timed iterations that were picked, then the clocks. */
static int step_check(struct run *r, struct pkb_error *err)
{
    struct judge_view view = view_of(r);
    struct judge_verdict v = {.outcome = OUTCOME_CORRECT};
    struct judge_clock clock = {.outcome = OUTCOME_CORRECT};
    if (r->setting->iterations == 0)
        return 1;
    for (int i = 0; i < r->task->n_samples && v.outcome == OUTCOME_CORRECT; i++)
        judge_sample(&view, i, r->task->sample[i], &v);
    int rc = agree(r, v.outcome, v.detail, NULL, NULL, err);
    if (rc != 1)
        return rc;
    struct judge_loop candidate = loop_for_judge(&r->result->loop), reference = loop_for_judge(&r->reference->before);
    judge_clock(&candidate, &reference, &clock);
    if (clock.outcome == OUTCOME_CORRECT)
        return 1;
    r->result->decision = (struct decision){.outcome = clock.outcome, .rank = clock.rank};
    (void)snprintf(r->result->decision.detail, sizeof(r->result->decision.detail), "%s", clock.detail);
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------------------------------- */

static step_fn *const steps[CELL_STEPS] = {
    [CELL_REFERENCE] = step_reference, [CELL_START] = step_start, [CELL_TRIALS] = step_trials, [CELL_JUDGE] = step_judge,
    [CELL_TIME] = step_time,           [CELL_QUIT] = step_quit,   [CELL_CHECK] = step_check,
};

/* Whatever has happened: a bad GPU explains it. */
static int check_gpus(struct run *r, int rc, struct pkb_error *err)
{
    if (r->a->gpu_ordinal < 0 || rc < 0)
        return rc;
    if (!r->after.known)
        look(r, &r->after);
    return gpu_compare(r->a, &r->before, &r->after, &r->result->decision, &r->result->gpus, err);
}

int cell_run(struct agent *a, const struct cell_task *task, struct cell_result *result, struct pkb_error *err)
{
    const struct plan_cell *cell = &a->plan->cells[task->cell];
    struct run r = {.a = a, .task = task, .result = result, .cell = cell, .setting = &a->plan->settings[cell->setting]};
    int64_t begin = pkb_now_ns();
    int rc = 1;
    *result = (struct cell_result){.decision = {.outcome = OUTCOME_CORRECT, .rank = -1}};
    pkb_utc_now(result->started, sizeof(result->started));
    r.slots = SEGMENT_NONE;
    look(&r, &r.before);
    for (int i = 0; i < CELL_STEPS && rc == 1; i++) {
        int64_t before = pkb_now_ns();
        rc = steps[i](&r, err);
        result->seconds[i] = (double)(pkb_now_ns() - before) / 1e9;
        if (i == CELL_JUDGE)
            r.started += pkb_now_ns() - before; /* judging is not the candidate's time */
    }
    runner_destroy(r.runner);
    segment_destroy(&r.slots);
    rc = check_gpus(&r, rc, err);
    result->total = (double)(pkb_now_ns() - begin) / 1e9;
    return rc < 0 ? -1 : 0;
}

void cell_result_clear(struct cell_result *result)
{
    loop_clear(&result->loop);
    json_decref(result->trials);
    command_started_clear(&result->start);
    json_decref(result->gpus);
    *result = (struct cell_result){0};
}
