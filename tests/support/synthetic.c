/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/synthetic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/dtype.h"
#include "sweeps/plan_parts.h"

#define BASELINE_NS 2e6

/* Tests and benchmarks have no use for going on. */
static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

static void digest_of(char hex[PKB_DIGEST_HEX], int problem, int model, int sample)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "candidate %d %d %d", problem, model, sample);
    if (pkb_digest_buffer(text, (size_t)n, hex, NULL) < 0)
        abort();
}

static void size_setting(struct plan_setting *s, const char *device, enum problem_shape shape)
{
    (void)snprintf(s->device, sizeof(s->device), "%s", device);
    (void)snprintf(s->shape, sizeof(s->shape), "%s", shape == SHAPE_PAPER ? "paper" : "tiny");
    for (int k = 0; k < s->problem->n_params; k++)
        s->params[k] = shape == SHAPE_PAPER ? s->problem->params[k].paper : s->problem->params[k].tiny;
    if (plan_setting_seal(s, NULL) < 0)
        abort();
}

static void make_setting(struct plan_setting *s, int problem, int world)
{
    *s = (struct plan_setting){.problem = problem_registry[problem],
                               .world = world,
                               .dtype = PKB_BF16,
                               .trials = 5,
                               .warmup = 2,
                               .iterations = 10,
                               .seed = 1,
                               .limit_seconds = 60};
    size_setting(s, "host", SHAPE_TINY);
}

static void make_candidate(struct plan_candidate *c, int problem, int model, int sample)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "model-%d", model);
    *c = (struct plan_candidate){.problem = problem_registry[problem], .sample = sample, .kind = "c"};
    c->model = must(strdup(text));
    c->path = must(strdup("candidate.c"));
    digest_of(c->digest, problem, model, sample);
}

struct plan *synthetic_plan(int problems, int n_worlds, const int *worlds, int models, int samples)
{
    struct plan *p = must(calloc(1, sizeof(*p)));
    size_t per_setting = (size_t)models * (size_t)samples, n = 0;
    p->n_settings = (size_t)problems * (size_t)n_worlds;
    p->n_candidates = (size_t)problems * per_setting;
    p->n_cells = p->n_settings * per_setting;
    p->n_shards = (size_t)n_worlds;
    p->settings = must(calloc(p->n_settings, sizeof(*p->settings)));
    p->candidates = must(calloc(p->n_candidates, sizeof(*p->candidates)));
    p->cells = must(calloc(p->n_cells, sizeof(*p->cells)));
    p->shards = must(calloc(p->n_shards, sizeof(*p->shards)));
    for (int i = 0; i < problems; i++)
        for (size_t k = 0; k < per_setting; k++)
            make_candidate(&p->candidates[(size_t)i * per_setting + k], i, (int)k / samples, (int)k % samples + 1);
    for (int w = 0; w < n_worlds; w++) {
        p->shards[w] = (struct plan_shard){.id = w, .world = worlds[w], .first = n, .count = (uint64_t)problems * per_setting};
        for (int i = 0; i < problems; i++) {
            uint32_t setting = (uint32_t)(w * problems + i);
            make_setting(&p->settings[setting], i, worlds[w]);
            for (size_t k = 0; k < per_setting; k++)
                p->cells[n++] = (struct plan_cell){setting, (uint32_t)((size_t)i * per_setting + k)};
        }
    }
    return p;
}

void synthetic_size(struct plan *p, const char *device, enum problem_shape shape)
{
    for (size_t i = 0; i < p->n_settings; i++)
        size_setting(&p->settings[i], device, shape);
}

static void make_times(struct record_times *t, double mean)
{
    const double samples[] = {mean * 0.98, mean, mean * 1.02};
    record_times_from_samples(t, samples, 3);
}

void synthetic_record(const struct plan *p, size_t cell, int attempt, enum outcome outcome, double speedup, struct record *r)
{
    const struct plan_setting *s = &p->settings[p->cells[cell].setting];
    const struct plan_candidate *c = &p->candidates[p->cells[cell].candidate];
    struct pkb_digest *d = must(pkb_digest_create(NULL));
    memset(r, 0, sizeof(*r));
    if (plan_cell_digest(p, &p->cells[cell], d, r->cell, NULL) < 0)
        abort();
    pkb_digest_destroy(d);
    memcpy(r->setting, s->digest, sizeof(r->setting));
    memcpy(r->candidate, c->digest, sizeof(r->candidate));
    (void)snprintf(r->model, sizeof(r->model), "%s", c->model);
    (void)snprintf(r->problem, sizeof(r->problem), "%s", s->problem->name);
    (void)snprintf(r->family, sizeof(r->family), "%s", s->problem->family);
    (void)snprintf(r->dtype, sizeof(r->dtype), "%s", dtype_name(s->dtype));
    (void)snprintf(r->shape, sizeof(r->shape), "%s", s->shape);
    (void)snprintf(r->device, sizeof(r->device), "%s", s->device);
    (void)snprintf(r->started, sizeof(r->started), "2026-01-31T23:59:59Z");
    r->sample = c->sample;
    r->world = s->world;
    r->nodes = 1;
    r->seed = s->seed;
    r->outcome = outcome;
    r->rank = outcome == OUTCOME_CORRECT ? -1 : 0;
    r->attempt = attempt;
    if (outcome != OUTCOME_CORRECT) {
        (void)snprintf(r->detail, sizeof(r->detail), "made up");
        return;
    }
    make_times(&r->baseline, BASELINE_NS);
    make_times(&r->time, BASELINE_NS / speedup);
    r->speedup = r->baseline.mean / r->time.mean;
}

void synthetic_scale(struct record *r, double baseline_ns)
{
    double time_ns = r->time.mean * baseline_ns / BASELINE_NS;
    if (r->baseline.iterations == 0)
        return;
    make_times(&r->baseline, baseline_ns);
    make_times(&r->time, time_ns);
    r->speedup = r->baseline.mean / r->time.mean;
}

void synthetic_baseline(const struct plan *p, size_t setting, double baseline_ns, double drift, struct record_baseline *b)
{
    const struct plan_setting *s = &p->settings[setting];
    memset(b, 0, sizeof(*b));
    memcpy(b->setting, s->digest, sizeof(b->setting));
    (void)snprintf(b->problem, sizeof(b->problem), "%s", s->problem->name);
    (void)snprintf(b->family, sizeof(b->family), "%s", s->problem->family);
    (void)snprintf(b->dtype, sizeof(b->dtype), "%s", dtype_name(s->dtype));
    (void)snprintf(b->shape, sizeof(b->shape), "%s", s->shape);
    (void)snprintf(b->device, sizeof(b->device), "%s", s->device);
    (void)snprintf(b->started, sizeof(b->started), "2026-01-31T23:59:59Z");
    b->world = s->world;
    b->nodes = 1;
    b->attempt = 1;
    make_times(&b->before, baseline_ns);
    make_times(&b->after, baseline_ns * (1 + drift));
    b->drift = b->after.mean / b->before.mean - 1;
}
