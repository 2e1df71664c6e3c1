/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/json.h"

#define TIMED_SETS 3
#define SAMPLES 3

static int at_most(int n, int limit)
{
    return n < limit ? n : limit;
}

int command_timed_sets(const struct plan_setting *s)
{
    return at_most(s->iterations, TIMED_SETS);
}

int command_samples(const struct plan_setting *s)
{
    return at_most(s->iterations, SAMPLES);
}

/* ---- making ---------------------------------------------------------------------------------------------------------- */

json_t *command_start(const struct agent *a, const struct plan_setting *s, const struct runner *runner, const char *object)
{
    const struct agent_world *w = a->world;
    json_t *nodes = json_array();
    for (int i = 0; i < w->world; i++)
        (void)json_array_append_new(nodes, json_integer(w->node_of_rank[i]));
    json_t *value =
        json_pack("{s:s, s:s, s:s, s:i, s:i, s:o, s:i, s:o, s:i, s:i, s:s}", "do", "start", "role",
                  object ? "candidate" : "reference", "backend", agent_device(a, s), "rank", w->rank, "world", w->world,
                  "node_of_rank", nodes, "device", a->gpu_ordinal, "setting", plan_setting_encode(s), "samples",
                  command_samples(s), "timed_sets", command_timed_sets(s), "shm_prefix", runner_shm_prefix(runner));
    if (value && object)
        (void)json_object_set_new(value, "object", json_string(object));
    return value;
}

json_t *command_word(const char *word)
{
    return json_pack("{s:s}", "do", word);
}

json_t *command_time(int warmup, int iterations, const int *sample, int n_samples)
{
    json_t *list = json_array();
    for (int i = 0; i < n_samples; i++)
        (void)json_array_append_new(list, json_integer(sample[i]));
    return json_pack("{s:s, s:i, s:i, s:o}", "do", "time", "warmup", warmup, "iterations", iterations, "sample", list);
}

/* ---- running --------------------------------------------------------------------------------------------------------- */

static int run(struct agent *a, struct phase *p, struct runner *runner, const char *why, json_t *command, struct decision *d,
               struct pkb_error *err)
{
    if (!command && runner)
        return agent_end(a, AGENT_EXIT_FAILED, err, "command: out of memory");
    p->command = command;
    int rc = phase_run(a, p, runner, why, d, err);
    json_decref(command);
    return rc;
}

int command_run(struct agent *a, struct runner *runner, const char *why, json_t *command, int64_t started, double limit_seconds,
                struct decision *d, struct pkb_error *err)
{
    struct phase p = {.started = started, .limit_seconds = limit_seconds};
    return run(a, &p, runner, why, command, d, err);
}

int command_run_quit(struct agent *a, struct runner *runner, int64_t started, double limit_seconds, struct decision *d,
                     struct pkb_error *err)
{
    struct phase p = {.ends = true, .started = started, .limit_seconds = limit_seconds};
    return run(a, &p, runner, NULL, command_word("quit"), d, err);
}

/* What of "start" is passed on: a bounded name and four numbers, whatever the runner has sent. */
static int answer_start(const struct phase *p, const json_t *answer, void **data, size_t *size, struct pkb_error *err)
{
    static const char *const keys[] = {"device", "connect", "buffers", "load"};
    const char *name;
    json_t *given, *seconds = json_object();
    char text[200];
    double value;
    (void)p;
    int rc = pkb_json_string(answer, "device_name", &name, err) < 0 ? -1 : pkb_json_object(answer, "seconds", &given, err);
    for (size_t i = 0; rc == 0 && i < sizeof(keys) / sizeof(keys[0]); i++) {
        rc = pkb_json_real(given, keys[i], &value, err);
        if (rc == 0)
            (void)json_object_set_new(seconds, keys[i], json_real(value));
    }
    if (rc == 0) {
        (void)snprintf(text, sizeof(text), "%s", name);
        json_t *value_name = json_string(text); /* a cut name may be no UTF-8 any more */
        json_t *both = json_pack("{s:o, s:O}", "name", value_name ? value_name : json_string("?"), "seconds", seconds);
        *data = both ? json_dumps(both, JSON_COMPACT) : NULL;
        json_decref(both);
        rc = *data ? 0 : pkb_error_set(err, "device name: out of memory");
        *size = *data ? strlen(*data) : 0;
    }
    json_decref(seconds);
    return rc;
}

int command_run_start(struct agent *a, struct runner *runner, const char *why, json_t *command, int64_t started,
                      double limit_seconds, struct command_started *s, struct decision *d, struct pkb_error *err)
{
    struct phase p = {.started = started, .limit_seconds = limit_seconds, .answer = answer_start};
    int rc = run(a, &p, runner, why, command, d, err);
    if (rc != 1)
        return rc;
    *s = (struct command_started){json_array(), json_array()};
    for (int i = 0; i < a->world->world; i++) {
        const struct round_entry *e = rounds_entry(a->world->rounds, i);
        json_t *value = pkb_json_parse((const char *)e->data, e->size, NULL);
        json_t *name = json_object_get(value, "name"), *seconds = json_object_get(value, "seconds");
        (void)json_array_append_new(s->devices, name ? json_incref(name) : json_string("?"));
        (void)json_array_append_new(s->seconds, seconds ? json_incref(seconds) : json_null());
        json_decref(value);
    }
    return 1;
}

void command_started_clear(struct command_started *s)
{
    json_decref(s->devices);
    json_decref(s->seconds);
    *s = (struct command_started){NULL, NULL};
}

static int answer_time(const struct phase *p, const json_t *answer, void **data, size_t *size, struct pkb_error *err)
{
    const int *iterations = p->arg;
    return loop_encode(answer, *iterations, p->wall_ns, p->queue_ns, data, size, err);
}

static int run_loop(struct agent *a, struct phase *p, struct runner *runner, json_t *command, int iterations, struct decision *d,
                    struct pkb_error *err)
{
    p->answer = answer_time;
    p->arg = &iterations;
    return run(a, p, runner, NULL, command, d, err);
}

int command_run_time(struct agent *a, struct runner *runner, const struct plan_setting *s, const int *sample, int n_samples,
                     int64_t started, double limit_seconds, struct loop *loop, struct decision *d, struct pkb_error *err)
{
    struct phase p = {.started = started, .limit_seconds = limit_seconds};
    int rc = 1;
    if (s->warmup > 0)
        rc = run_loop(a, &p, runner, command_time(s->warmup, 0, NULL, 0), 0, d, err);
    if (rc == 1)
        rc = run_loop(a, &p, runner, command_time(0, s->iterations, sample, n_samples), s->iterations, d, err);
    if (rc == 1 && loop_from_round(a->world->rounds, a->world->world, s->iterations, loop, err) < 0)
        return agent_end(a, AGENT_EXIT_FAILED, err, NULL);
    return rc;
}
