/* SPDX-License-Identifier: Apache-2.0 */
/* pkb plan: what a sweep would run. */
#include <argp.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "orchestrator/command.h"
#include "orchestrator/learn.h"
#include "orchestrator/options.h"
#include "sweeps/plan.h"
#include "util/json.h"

enum { KEY_LEARN = 0x100 };

struct arguments {
    const char *sweep;
    double shard_seconds; /* 0: the default */
    struct words learn;   /* earlier runs */
    bool json, list;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 'j':
        a->json = true;
        return 0;
    case 'l':
        a->list = true;
        return 0;
    case KEY_LEARN:
        option_add(state, &a->learn, arg);
        return 0;
    case 's':
        a->shard_seconds = option_shard_seconds(state, arg);
        return 0;
    default:
        return option_sweep(key, arg, state, &a->sweep);
    }
}

/* ---- sums ---------------------------------------------------------------------------------------------------------- */

struct sums {
    uint64_t cells, shards;
    double seconds;
};

/* Of the shards of one world size. */
static struct sums sum_world(const struct plan *p, int world)
{
    struct sums sums = {0};
    for (size_t i = 0; i < p->n_shards; i++) {
        if (p->shards[i].world != world)
            continue;
        sums.cells += p->shards[i].count;
        sums.shards++;
        sums.seconds += p->shards[i].seconds;
    }
    return sums;
}

static uint64_t sum_skipped(const struct plan *p)
{
    uint64_t n = 0;
    for (size_t i = 0; i < p->n_skips; i++)
        n += p->skips[i].count;
    return n;
}

/* Is this the first shard of its world size? They are in that order. */
static bool begins_world(const struct plan *p, size_t shard)
{
    return shard == 0 || p->shards[shard].world != p->shards[shard - 1].world;
}

/* ---- text ---------------------------------------------------------------------------------------------------------- */

static const char *plural(uint64_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

static void describe_seconds(double s, char *text, size_t size)
{
    if (s < 120)
        (void)snprintf(text, size, "%.0f s", s);
    else if (s < 7200)
        (void)snprintf(text, size, "%.0f min", s / 60);
    else
        (void)snprintf(text, size, "%.1f h", s / 3600);
}

static void print_worlds(const struct plan *p)
{
    char time[32];
    for (size_t i = 0; i < p->n_shards; i++) {
        if (!begins_world(p, i))
            continue;
        struct sums sums = sum_world(p, p->shards[i].world);
        describe_seconds(sums.seconds, time, sizeof(time));
        printf("  %4d %-5s  %9" PRIu64 " %-5s  %6" PRIu64 " %-6s  about %s\n", p->shards[i].world,
               plural((uint64_t)p->shards[i].world, "rank", "ranks"), sums.cells, plural(sums.cells, "cell", "cells"),
               sums.shards, plural(sums.shards, "shard", "shards"), time);
    }
}

static void print_skips(const struct plan *p)
{
    char world[32];
    if (p->n_skips == 0)
        return;
    printf("\nLeft out: %" PRIu64 " cells\n", sum_skipped(p));
    for (size_t i = 0; i < p->n_skips; i++) {
        const struct plan_skip *s = &p->skips[i];
        (void)snprintf(world, sizeof(world), ", %d %s", s->world, plural((uint64_t)s->world, "rank", "ranks"));
        printf("  %9" PRIu64 "  %s%s%s%s: %s\n", s->count, s->problem->name, s->model ? ", " : "", s->model ? s->model : "",
               s->world ? world : "", s->reason);
    }
}

static void print_text(const struct sweep *s, const struct plan *p, const struct learned *l)
{
    char how[160];
    learn_describe(l, p, s->has_time, how, sizeof(how));
    printf("%s: %zu %s = %zu settings with %zu candidates of %d %s\n", s->name, p->n_cells, plural(p->n_cells, "cell", "cells"),
           p->n_settings, p->n_candidates, s->n_models, plural((uint64_t)s->n_models, "model", "models"));
    print_worlds(p);
    printf("  time: %s\n", how);
    print_skips(p);
}

/* ---- lists of cells ------------------------------------------------------------------------------------------------ */

typedef int print_cell_fn(const struct plan *p, size_t cell, const char *digest, struct pkb_error *err);

static int print_line(const struct plan *p, size_t cell, const char *digest, struct pkb_error *err)
{
    const struct plan_setting *s = &p->settings[p->cells[cell].setting];
    const struct plan_candidate *c = &p->candidates[p->cells[cell].candidate];
    (void)err;
    printf("%s  %s  %s  %d  %d  %s  %s\n", digest, s->problem->name, c->model, c->sample, s->world, dtype_name(s->dtype),
           s->shape);
    return 0;
}

static int print_json_cell(const struct plan *p, size_t cell, const char *digest, struct pkb_error *err)
{
    const struct plan_setting *s = &p->settings[p->cells[cell].setting];
    const struct plan_candidate *c = &p->candidates[p->cells[cell].candidate];
    json_t *value = json_pack("{s:s, s:s, s:s, s:i, s:i, s:s, s:s}", "cell", digest, "problem", s->problem->name, "model",
                              c->model, "sample", c->sample, "world", s->world, "dtype", dtype_name(s->dtype), "shape", s->shape);
    int rc = value && json_dumpf(value, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF ? 0 : -1;
    json_decref(value);
    return rc < 0 ? pkb_error_set(err, "cannot write to standard output") : 0;
}

/* One line per cell. */
static int print_cells(const struct plan *p, print_cell_fn *print, struct pkb_error *err)
{
    char hex[PKB_DIGEST_HEX];
    struct pkb_digest *d = pkb_digest_create(err);
    int rc = d ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < p->n_cells; i++) {
        rc = plan_cell_digest(p, &p->cells[i], d, hex, err);
        if (rc == 0)
            rc = print(p, i, hex, err);
    }
    pkb_digest_destroy(d);
    return rc;
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */

static json_t *worlds_json(const struct plan *p)
{
    json_t *list = json_array();
    for (size_t i = 0; i < p->n_shards; i++) {
        if (!begins_world(p, i))
            continue;
        struct sums sums = sum_world(p, p->shards[i].world);
        json_t *entry = json_pack("{s:i, s:I, s:I, s:f}", "world", p->shards[i].world, "cells", (json_int_t)sums.cells, "shards",
                                  (json_int_t)sums.shards, "seconds", sums.seconds);
        (void)json_array_append_new(list, entry);
    }
    return list;
}

static json_t *shards_json(const struct plan *p)
{
    json_t *list = json_array();
    for (size_t i = 0; i < p->n_shards; i++) {
        const struct plan_shard *s = &p->shards[i];
        json_t *entry = json_pack("{s:i, s:i, s:I, s:I, s:f}", "id", s->id, "world", s->world, "first", (json_int_t)s->first,
                                  "count", (json_int_t)s->count, "seconds", s->seconds);
        (void)json_array_append_new(list, entry);
    }
    return list;
}

static json_t *skips_json(const struct plan *p)
{
    json_t *list = json_array();
    for (size_t i = 0; i < p->n_skips; i++) {
        const struct plan_skip *s = &p->skips[i];
        json_t *entry = json_pack("{s:s, s:s?, s:i, s:I, s:s}", "problem", s->problem->name, "model", s->model, "world", s->world,
                                  "cells", (json_int_t)s->count, "reason", s->reason);
        (void)json_array_append_new(list, entry);
    }
    return list;
}

static int print_json(const struct sweep *s, const struct plan *p, const struct learned *l, struct pkb_error *err)
{
    json_t *worlds = worlds_json(p), *shards = shards_json(p), *skipped = skips_json(p);
    bool whole = json_array_size(shards) == p->n_shards && json_array_size(skipped) == p->n_skips;
    json_t *value = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "name", s->name, "sweep", s->path,
                              "digest", s->digest, "cells", (json_int_t)p->n_cells, "settings", (json_int_t)p->n_settings,
                              "candidates", (json_int_t)p->n_candidates, "left_out", (json_int_t)sum_skipped(p), "time",
                              learn_json(l, p, s->has_time), "worlds", worlds, "shards", shards, "skipped", skipped);
    int rc = value && whole ? command_print_json(value, 1, err) : pkb_error_set(err, "out of memory");
    json_decref(value);
    return rc;
}

/* ---- the command --------------------------------------------------------------------------------------------------- */

static int print(const struct arguments *a, const struct sweep *s, const struct plan *p, const struct learned *l,
                 struct pkb_error *err)
{
    if (a->list)
        return print_cells(p, a->json ? print_json_cell : print_line, err);
    if (a->json)
        return print_json(s, p, l, err);
    print_text(s, p, l);
    return 0;
}

int cmd_plan(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"json", 'j', NULL, 0, "Print JSON; with --list, one object per line", 0},
        {"list", 'l', NULL, 0, "Print the cells, one per line: digest, problem, model, sample, ranks, dtype, shape", 0},
        {"shard-seconds", 's', "S", 0, "Make shards of about S seconds (default 600)", 0},
        {"learn", KEY_LEARN, "RUN", 0, "Size shards by what an earlier run took; may be repeated", 0},
        {0}};
    static const struct argp argp = {
        options, parse, "SWEEP.lua", "What a sweep would run: cells, shards, and what is left out and why.\v" PKB_EXIT_DOC,
        NULL,    NULL,  NULL};
    struct arguments a = {0};
    struct pkb_error err;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    struct sweep *s = sweep_load(a.sweep, &err);
    if (!s)
        return command_fail(PKB_EXIT_USAGE, &err);
    struct learned learned;
    struct plan *p = NULL;
    int code = PKB_EXIT_OK;
    if (learn_runs(&a.learn, &learned, &err) == 0)
        p = plan_make(s, a.shard_seconds, learned.estimates, &err);
    if (!p)
        code = command_fail(PKB_EXIT_USAGE, &err);
    else if (print(&a, s, p, &learned, &err) < 0)
        code = command_fail(PKB_EXIT_SYSTEM, &err);
    plan_destroy(p);
    learned_clear(&learned);
    words_clear(&a.learn);
    sweep_destroy(s);
    return code;
}
