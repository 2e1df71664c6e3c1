/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/reference.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_agent/command.h"
#include "node_agent/store.h"
#include "util/clock.h"

#define ATTEMPTS 2
#define LEAST_LIMIT 60.0 /* seconds; the reference is trusted, its limit only ends what hangs */

void reference_destroy(struct reference *r)
{
    if (!r)
        return;
    int saved = errno;
    runner_destroy(r->runner);
    segment_destroy(&r->inputs);
    segment_destroy(&r->expected);
    loop_clear(&r->before);
    loop_clear(&r->after);
    command_started_clear(&r->start);
    free(r);
    errno = saved;
}

static double limit_of(const struct plan_setting *s)
{
    double limit = 3 * s->limit_seconds;
    return limit > LEAST_LIMIT ? limit : LEAST_LIMIT;
}

/* All memory of the machine: a setting above it cannot run. */
static size_t memory_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (size_t)pages * (size_t)size : 0;
}

static int make_memory(struct reference *r, struct pkb_error *err)
{
    const struct plan_setting *s = r->setting;
    if (segment_layout_make(&r->local, s->trials, command_timed_sets(s), command_samples(s), memory_limit(), &r->layout, err) < 0)
        return -1;
    if (segment_create("pkb-inputs", r->layout.inputs_size, &r->inputs, err) < 0)
        return -1;
    return segment_create("pkb-expected", r->layout.expected_size, &r->expected, err);
}

static int start_runner(struct agent *a, struct reference *r, struct pkb_error *err)
{
    char title[256];
    (void)snprintf(title, sizeof(title), "reference of %s, rank %d", r->setting->problem->name, a->world->rank);
    struct runner_spec spec = {.title = title,
                               .log_path = a->log_path,
                               .number = rounds_number(a->world->rounds),
                               .inputs = r->inputs.fd,
                               .results = r->expected.fd};
    r->runner = runner_start(a->supervisor, &spec, err);
    return r->runner ? 0 : -1;
}

/* The phases up to the first times. As phase_run. */
static int run_phases(struct agent *a, struct reference *r, const char *why, struct decision *d, struct pkb_error *err)
{
    const struct plan_setting *s = r->setting;
    double limit = limit_of(s);
    json_t *start = r->runner ? command_start(a, s, r->runner, NULL) : NULL;
    int64_t marks[4] = {pkb_now_ns()};
    int rc = command_run_start(a, r->runner, why, start, pkb_now_ns(), limit, &r->start, d, err);
    marks[1] = pkb_now_ns();
    if (rc == 1)
        rc = command_run(a, r->runner, NULL, command_word("trials"), pkb_now_ns(), limit, d, err);
    marks[2] = pkb_now_ns();
    if (rc == 1 && segment_seal(&r->inputs, err) < 0)
        return agent_end(a, AGENT_EXIT_FAILED, err, NULL);
    if (rc == 1 && s->iterations > 0)
        rc = command_run_time(a, r->runner, s, NULL, 0, pkb_now_ns(), limit, &r->before, d, err);
    marks[3] = pkb_now_ns();
    for (int i = 0; i < 3; i++)
        r->seconds[i] = (double)(marks[i + 1] - marks[i]) / 1e9;
    return rc;
}

/* One try: a->reference is there, ok or not. */
static int try_open(struct agent *a, const struct plan_setting *s, struct pkb_error *err)
{
    struct pkb_error why = {""};
    struct decision d;
    struct reference *r = calloc(1, sizeof(*r));
    if (!r)
        return agent_end(a, AGENT_EXIT_FAILED, err, "reference: out of memory");
    r->setting = s;
    r->inputs = r->expected = SEGMENT_NONE;
    pkb_utc_now(r->started, sizeof(r->started));
    plan_setting_for_rank(s, a->world->rank, &r->local);
    a->reference = r;
    if (make_memory(r, &why) == 0)
        (void)start_runner(a, r, &why); /* without a runner the phases say why */
    int rc = run_phases(a, r, why.text, &d, err);
    r->ok = rc == 1;
    if (rc == 0)
        (void)snprintf(r->failure, sizeof(r->failure), "the reference failed (%s): %.900s", outcome_name(d.outcome), d.detail);
    return rc < 0 ? -1 : 0;
}

int reference_open(struct agent *a, const struct plan_setting *s, struct pkb_error *err)
{
    if (a->reference && a->reference->setting == s)
        return 0;
    if (reference_close(a, err) < 0)
        return -1;
    for (int i = 0; i < ATTEMPTS && !(a->reference && a->reference->ok); i++) {
        reference_destroy(a->reference);
        a->reference = NULL;
        if (try_open(a, s, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- the end of a setting -------------------------------------------------------------------------------------------- */

static void fill_more(const struct agent *a, const struct reference *r, const char *note, struct record_baseline *b)
{
    b->more = json_object();
    store_add_world(a, b->more);
    (void)json_object_set(b->more, "devices", r->start.devices);
    (void)json_object_set(b->more, "start", r->start.seconds);
    (void)json_object_set_new(
        b->more, "phases", json_pack("{s:f, s:f, s:f}", "start", r->seconds[0], "trials", r->seconds[1], "time", r->seconds[2]));
    json_t *samples = json_object(), *before = loop_samples(&r->before), *after = loop_samples(&r->after);
    if (before)
        (void)json_object_set_new(samples, "before", before);
    if (after)
        (void)json_object_set_new(samples, "after", after);
    (void)json_object_set_new(b->more, "samples", samples);
    (void)json_object_set_new(b->more, "drifted", json_boolean(fabs(b->drift) > STORE_DRIFT));
    if (note)
        (void)json_object_set_new(b->more, "note", json_string(note));
}

static int write_baseline(struct agent *a, const struct reference *r, const char *note, struct pkb_error *err)
{
    const struct plan_setting *s = r->setting;
    struct record_baseline b = {.world = s->world, .nodes = a->world->nodes, .attempt = a->options.attempt};
    memcpy(b.setting, s->digest, sizeof(b.setting));
    memcpy(b.started, r->started, sizeof(b.started));
    store_describe_setting(a, s, b.problem, b.family, b.dtype, b.shape, b.device);
    if (loop_times(&r->before, &b.before, err) < 0 || loop_times(&r->after, &b.after, err) < 0)
        return agent_end(a, AGENT_EXIT_FAILED, err, NULL);
    if (b.before.iterations > 0 && b.after.iterations > 0)
        b.drift = b.after.mean / b.before.mean - 1;
    fill_more(a, r, note, &b);
    json_t *value = record_baseline_encode(&b);
    record_baseline_clear(&b);
    return store_append(a, value, err);
}

int reference_close(struct agent *a, struct pkb_error *err)
{
    struct reference *r = a->reference;
    struct decision d = {.outcome = OUTCOME_CORRECT};
    int rc = 1;
    if (r && r->ok && r->setting->iterations > 0) {
        if (!a->draining)
            rc = command_run_time(a, r->runner, r->setting, NULL, 0, pkb_now_ns(), limit_of(r->setting), &r->after, &d, err);
        if (rc >= 0 && a->world->rank == 0 && write_baseline(a, r, rc == 0 ? d.detail : NULL, err) < 0)
            rc = -1;
    }
    a->reference = NULL;
    reference_destroy(r);
    return rc < 0 ? -1 : 0;
}
