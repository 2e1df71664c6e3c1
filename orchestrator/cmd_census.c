/* SPDX-License-Identifier: Apache-2.0 */
/* pkb census: by which means a run's candidates move data between ranks. */
#include <argp.h>
#include <jansson.h>
#include <stdlib.h>

#include "orchestrator/census_run.h"
#include "orchestrator/command.h"
#include "orchestrator/options.h"
#include "results/report.h"
#include "results/table.h"

struct choice {
    const char *run;
    bool candidates, json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct choice *c = state->input;
    switch (key) {
    case 'c':
        c->candidates = true;
        return 0;
    case 'j':
        c->json = true;
        return 0;
    default:
        return option_run(key, arg, state, &c->run);
    }
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */

static json_t *encode_models(const struct census_model *models, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < n; i++) {
        const struct census_model *m = &models[i];
        json_t *v = json_pack("{s:s, s:I, s:I, s:I}", "model", m->name, "candidates", (json_int_t)m->candidates, "host_only",
                              (json_int_t)m->host_only, "none", (json_int_t)m->none);
        int rc = v ? 0 : -1;
        for (int k = 0; k < MECHANISM_COUNT && rc == 0; k++)
            rc = json_object_set_new(v, mechanism_name((enum mechanism)k), json_integer((json_int_t)m->uses[k]));
        if (json_array_append_new(list, v) < 0 || rc < 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static json_t *encode_candidates(const struct census_run *r)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < r->plan->n_candidates; i++) {
        const struct plan_candidate *k = &r->plan->candidates[i];
        json_t *v = json_pack("{s:s, s:s, s:i, s:s, s:o}", "model", k->model, "problem", k->problem->name, "sample", k->sample,
                              "digest", k->digest, "census", census_encode(&r->of[i]));
        if (json_array_append_new(list, v) < 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static int print_json(const struct census_run *r, const struct census_model *models, size_t n, struct pkb_error *err)
{
    json_t *v = json_pack("{s:i, s:I, s:o, s:o}", "format", 1, "listings", (json_int_t)r->listings, "models",
                          encode_models(models, n), "candidates", encode_candidates(r));
    int rc = v ? command_print_json(v, 1, err) : pkb_error_set(err, "out of memory");
    json_decref(v);
    return rc;
}

/* ---- text ---------------------------------------------------------------------------------------------------------- */

static void fill_models(struct table *t, const struct census_model *models, size_t n)
{
    table_column(t, NULL, "model", TABLE_LEFT, 32);
    table_column(t, NULL, "candidates", TABLE_RIGHT, 0);
    for (int k = 0; k < MECHANISM_COUNT; k++)
        table_column(t, "use", mechanism_name((enum mechanism)k), TABLE_RIGHT, 0);
    table_column(t, NULL, "none", TABLE_RIGHT, 0);
    table_column(t, NULL, "host only", TABLE_RIGHT, 0);
    for (size_t i = 0; i < n; i++) {
        const struct census_model *m = &models[i];
        table_cell(t, TABLE_PLAIN, "%s", m->name);
        table_cell(t, TABLE_PLAIN, "%zu", m->candidates);
        for (int k = 0; k < MECHANISM_COUNT; k++)
            table_cell(t, m->uses[k] ? TABLE_PLAIN : TABLE_FAINT, "%zu", m->uses[k]);
        table_cell(t, m->none ? TABLE_PLAIN : TABLE_FAINT, "%zu", m->none);
        table_cell(t, m->host_only ? TABLE_PLAIN : TABLE_FAINT, "%zu", m->host_only);
    }
}

static void fill_candidates(struct table *t, const struct census_run *r)
{
    table_column(t, NULL, "problem", TABLE_LEFT, 32);
    table_column(t, NULL, "model", TABLE_LEFT, 24);
    table_column(t, NULL, "sample", TABLE_RIGHT, 0);
    table_column(t, NULL, "uses", TABLE_LEFT, 0);
    for (size_t i = 0; i < r->plan->n_candidates; i++) {
        const struct plan_candidate *k = &r->plan->candidates[i];
        char text[128];
        census_describe(&r->of[i], text, sizeof(text));
        table_cell(t, TABLE_PLAIN, "%s", k->problem->name);
        table_cell(t, TABLE_PLAIN, "%s", k->model);
        table_cell(t, TABLE_PLAIN, "%d", k->sample);
        table_cell(t, TABLE_PLAIN, "%s", text);
    }
}

static int print_text(const struct census_run *r, const struct census_model *models, size_t n, bool candidates,
                      struct pkb_error *err)
{
    struct table *t = table_create();
    if (!t)
        return pkb_error_set(err, "out of memory");
    if (candidates)
        fill_candidates(t, r);
    else
        fill_models(t, models, n);
    printf("Mechanisms by which candidates move data, from %zu sources and %zu listings of machine code\n\n",
           r->plan->n_candidates, r->listings);
    int rc = table_print(t, stdout, report_wants_colour(stdout), err);
    table_destroy(t);
    return rc;
}

static int print(const struct census_run *r, const struct choice *c, struct pkb_error *err)
{
    size_t n;
    struct census_model *models = census_run_models(r, &n, err);
    if (!models)
        return -1;
    int rc = c->json ? print_json(r, models, n, err) : print_text(r, models, n, c->candidates, err);
    free(models);
    return rc;
}

int cmd_census(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"candidates", 'c', NULL, 0, "One line per candidate instead of one per model", 0},
        {"json", 'j', NULL, 0, "Print both as JSON, with the word and line that each finding rests on", 0},
        {0}};
    static const struct argp argp = {
        options,
        parse,
        "RUN",
        "By which means the candidates of a run move data between ranks: copy engine, loads and stores to "
        "peers, TMA, multimem, NCCL. From the words of their sources and, where builds have listings, from "
        "machine code.\v" PKB_EXIT_DOC,
        NULL,
        NULL,
        NULL};
    struct choice c = {0};
    struct census_run r;
    struct pkb_error err;
    argp_parse(&argp, argc, argv, 0, NULL, &c);
    struct rundir *run = rundir_open(c.run, &err);
    if (!run)
        return command_fail(PKB_EXIT_USAGE, &err);
    int rc = census_run_load(run, &r, &err);
    if (rc == 0) {
        rc = print(&r, &c, &err);
        census_run_clear(&r);
    }
    rundir_destroy(run);
    return rc < 0 ? command_fail(PKB_EXIT_SYSTEM, &err) : PKB_EXIT_OK;
}
