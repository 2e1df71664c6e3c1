/* SPDX-License-Identifier: Apache-2.0 */
/* pkb explain: why single cells have the outcome that they have, and whose fault it is. */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "orchestrator/command.h"
#include "orchestrator/display.h"
#include "orchestrator/explain.h"
#include "orchestrator/explain_tasks.h"
#include "util/json.h"

/* As many fit on a screen or two. */
#define MOST_CELLS 20

struct choice {
    const char *run, *cell;
    bool json, all;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct choice *c = state->input;
    switch (key) {
    case 'j':
        c->json = true;
        return 0;
    case 'a':
        c->all = true;
        return 0;
    case ARGP_KEY_ARG:
        if (c->cell)
            argp_error(state, "one run and one cell at a time: '%s' is too many", arg);
        *(c->run ? &c->cell : &c->run) = arg;
        return 0;
    case ARGP_KEY_END:
        if (!c->cell)
            argp_error(state, "which cell of which run? For instance: pkb explain RUN direct/13/1@4");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- text ------------------------------------------------------------------------------------------------------------ */

static void print_indented(const char *text)
{
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        printf("    %.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
}

static void print_records(const struct explain_cell *c)
{
    for (size_t i = 0; i < c->n_records; i++) {
        const struct explain_record *r = &c->records[i];
        printf("record     %s%s, attempt %d, %s, records/%s:%lld\n", outcome_name(r->record.outcome),
               r->counts ? " (counts)" : "", r->record.attempt, r->record.started, r->file, (long long)r->line);
    }
}

static void print_tasks(const struct explain_cell *c)
{
    for (size_t i = 0; i < c->n_tasks; i++) {
        const struct explain_task *t = &c->tasks[i];
        const char *meaning = explain_tasks_meaning(t->state);
        char ran[32];
        display_duration(t->seconds, ran, sizeof(ran));
        printf("task       %s: %s", t->name, t->state);
        if (t->start > 0)
            printf(" on %s, ran %s", t->nodes, ran);
        if (t->reason[0])
            printf(" (%s)", t->reason);
        printf("%s%s\n", meaning[0] ? ": " : "", meaning);
    }
}

static void print_cell(const struct explain *e, const struct explain_cell *c)
{
    const struct explain_record *r = explain_verdict(c);
    printf("cell       #%llu %.12s: %s/%s/%d, %d ranks, %s, %s, %s, shard %d\n", (unsigned long long)c->number, c->digest,
           c->candidate->model, c->setting->problem->name, c->candidate->sample, c->setting->world, dtype_name(c->setting->dtype),
           c->setting->shape, c->setting->device, c->shard ? c->shard->id : -1);
    printf("outcome    %s. %s\n", r ? outcome_name(r->record.outcome) : "none", explain_meaning(r));
    if (r && r->record.detail[0])
        printf("detail     %s\n", r->record.detail);
    if (r && r->record.speedup > 0)
        printf("speed      %.3g times the reference\n", r->record.speedup);
    printf("fault      %s\n", explain_fault(r));
    print_records(c);
    print_tasks(c);
    if (e->slurm_trouble[0] && !(r && r->counts))
        printf("task       not all is known: %s\n", e->slurm_trouble);
    printf("source     %s/candidates/%s.%s, from %s\n", e->run->path, c->candidate->digest, c->candidate->kind,
           c->candidate->path);
    printf("next       %s\n", explain_next(r));
    for (size_t i = 0; i < c->n_logs; i++) {
        printf("log        %s\n", c->logs[i].path);
        print_indented(c->logs[i].text);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------------------------------ */

static json_t *encode_records(const struct explain_cell *c)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < c->n_records; i++) {
        const struct explain_record *r = &c->records[i];
        (void)json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:i, s:s, s:s, s:I, s:b}", "outcome",
                                                    outcome_name(r->record.outcome), "detail", r->record.detail, "rank",
                                                    r->record.rank, "attempt", r->record.attempt, "started", r->record.started,
                                                    "file", r->file, "line", (json_int_t)r->line, "counts", r->counts));
    }
    return list;
}

static json_t *encode_tasks(const struct explain_cell *c)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < c->n_tasks; i++) {
        const struct explain_task *t = &c->tasks[i];
        (void)json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:I, s:f}", "task", t->name, "state", t->state,
                                                    "reason", t->reason, "nodes", t->nodes, "start", (json_int_t)t->start,
                                                    "seconds", t->seconds));
    }
    return list;
}

/* Logs are bytes; what is not UTF-8 is left out as a whole rather than changed. */
static json_t *encode_logs(const struct explain_cell *c)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < c->n_logs; i++) {
        json_t *text = json_string(c->logs[i].text);
        (void)json_array_append_new(list,
                                    json_pack("{s:s, s:o}", "path", c->logs[i].path, "last_lines", text ? text : json_null()));
    }
    return list;
}

static json_t *encode_cell(const struct explain_cell *c)
{
    const struct explain_record *r = explain_verdict(c);
    return json_pack("{s:I, s:s, s:s, s:s, s:i, s:i, s:s, s:s, s:s, s:i, s:s?, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "number",
                     (json_int_t)c->number, "cell", c->digest, "model", c->candidate->model, "problem", c->setting->problem->name,
                     "sample", c->candidate->sample, "world", c->setting->world, "dtype", dtype_name(c->setting->dtype), "shape",
                     c->setting->shape, "device", c->setting->device, "shard", c->shard ? c->shard->id : -1, "outcome",
                     r ? outcome_name(r->record.outcome) : NULL, "meaning", explain_meaning(r), "fault", explain_fault(r), "next",
                     explain_next(r), "candidate", c->candidate->digest, "records", encode_records(c), "tasks", encode_tasks(c),
                     "logs", encode_logs(c));
}

static int print_json(const struct explain *e, struct pkb_error *err)
{
    json_t *list = json_array();
    int rc = list ? 0 : -1;
    for (size_t i = 0; i < e->n && rc == 0; i++)
        rc = json_array_append_new(list, encode_cell(&e->cells[i]));
    rc = rc < 0 ? pkb_error_set(err, "out of memory") : command_print_json(list, 1, err);
    json_decref(list);
    return rc;
}

/* ---- command --------------------------------------------------------------------------------------------------------- */

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "Print JSON", 0}, {"all", 'a', NULL, 0, "Any number of cells, not just 20", 0}, {0}};

static const struct argp argp = {
    options,
    parse,
    "RUN CELL",
    "Why a cell has its outcome and whose fault it is, with what the logs say.\v"
    "CELL is MODEL/PROBLEM/SAMPLE or MODEL/PROBLEM/SAMPLE@RANKS, where each part may be a shell pattern and PROBLEM a number "
    "('direct/13/1@4', '*/07*/2'); #N, the number that log files give; or the first six or more digits of a cell's "
    "digest.\n\n" PKB_EXIT_DOC,
    NULL,
    NULL,
    NULL};

int cmd_explain(int argc, char **argv)
{
    struct choice c = {0};
    struct explain e;
    struct pkb_error err;
    argp_parse(&argp, argc, argv, 0, NULL, &c);
    int code = explain_read(&e, c.run, c.cell, c.all ? 0 : MOST_CELLS, &err);
    if (code == PKB_EXIT_OK && c.json && print_json(&e, &err) < 0)
        code = PKB_EXIT_SYSTEM;
    for (size_t i = 0; code == PKB_EXIT_OK && !c.json && i < e.n; i++) {
        printf("%s", i ? "\n" : "");
        print_cell(&e, &e.cells[i]);
    }
    explain_clear(&e);
    return code == PKB_EXIT_OK ? code : command_fail((enum pkb_exit)code, &err);
}
