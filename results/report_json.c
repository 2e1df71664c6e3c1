/* SPDX-License-Identifier: Apache-2.0 */
/* The report as one JSON object; docs/records.md describes its members. */
#include <stdlib.h>

#include "results/report_sheets.h"
#include "util/json.h"

/* null for "not measured", "no task counts". */
static json_t *positive(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

static json_t *at_k(const struct metrics_at_k *m, int k)
{
    double e = metrics_estimate(m);
    return json_pack("{si, sI, sI, sI, sI, so, sI, sI}", "k", k, "solved", (json_int_t)m->solved, "failed", (json_int_t)m->failed,
                     "undecided", (json_int_t)m->undecided, "absent", (json_int_t)m->absent, "estimate",
                     e < 0 ? json_null() : json_real(e), "counted", (json_int_t)m->counted, "short", (json_int_t)m->short_of_k);
}

static json_t *all_k(const struct metrics_at_k *m, int k_max)
{
    json_t *list = json_array();
    for (int k = 1; k <= k_max && list; k++)
        if (json_array_append_new(list, at_k(&m[k - 1], k)) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *outcomes(const struct metrics *m)
{
    json_t *value = json_object();
    for (int o = 0; o < OUTCOME_COUNT && value; o++)
        if (json_object_set_new(value, outcome_name((enum outcome)o), json_integer(m->outcome[o])) < 0) {
            json_decref(value);
            return NULL;
        }
    return value;
}

static json_t *group(const struct report_data *d, const struct report_group *g)
{
    const struct metrics *m = &g->metrics;
    json_t *value =
        json_pack("{ss, sI, sI, sI, sI, sI, sI, sI, sI, so, so, so}", "model", d->models[g->model], "tasks", (json_int_t)m->tasks,
                  "samples", (json_int_t)m->samples, "cells", (json_int_t)m->cells, "known", (json_int_t)m->known, "missing",
                  (json_int_t)m->missing, "infra_error", (json_int_t)m->outcome[OUTCOME_INFRA_ERROR], "not_run",
                  (json_int_t)m->outcome[OUTCOME_NOT_RUN], "untimed", (json_int_t)m->untimed, "outcomes", outcomes(m), "pass",
                  all_k(m->pass, m->k_max), "fast", all_k(m->fast, m->k_max));
    if (value && g->key[0] && json_object_set_new(value, report_by_name(d->by), json_string(g->key)) < 0) {
        json_decref(value);
        return NULL;
    }
    return value;
}

static json_t *groups(const struct report_data *d, const struct report_groups *g)
{
    json_t *list = json_array();
    for (size_t i = 0; i < g->n && list; i++)
        if (json_array_append_new(list, group(d, &g->items[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *problem(const struct report_data *d, const struct report_problem *p)
{
    json_t *marks = json_object();
    for (int m = 0; m < d->n_models && marks; m++)
        if (p->marks[m] && json_object_set_new(marks, d->models[m], json_string(p->marks[m])) < 0) {
            json_decref(marks);
            marks = NULL;
        }
    json_t *best = json_null();
    if (p->best_model >= 0)
        best = json_pack("{ss, si, so, so}", "model", d->models[p->best_model], "sample", p->best_sample, "time_ns",
                         positive(p->best_ns), "speedup", positive(p->best_speedup));
    return json_pack("{ss, si, ss, ss, so, so, so}", "problem", p->name, "world", p->world, "dtype", p->dtype, "shape", p->shape,
                     "baseline_ns", positive(p->baseline_ns), "best", best, "marks", marks);
}

static json_t *problems(const struct report_data *d)
{
    json_t *list = json_array();
    for (size_t i = 0; i < d->n_problems && list; i++)
        if (json_array_append_new(list, problem(d, &d->problems[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *note(const struct report_note *n)
{
    json_t *examples = json_array();
    for (int i = 0; i < n->n_examples && examples; i++)
        if (json_array_append_new(examples, json_string(n->examples[i])) < 0) {
            json_decref(examples);
            examples = NULL;
        }
    return json_pack("{ss, sI, ss, ss, so}", "kind", n->kind, "count", (json_int_t)n->count, "what", n->what, "advice", n->advice,
                     "examples", examples);
}

static json_t *notes(const struct report_data *d)
{
    json_t *list = json_array();
    for (size_t i = 0; i < d->n_notes && list; i++)
        if (json_array_append_new(list, note(&d->notes[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *tables(const struct report_sheets *s)
{
    json_t *value = json_object();
    for (int i = 0; i < s->n && value; i++)
        if (json_object_set_new(value, s->items[i]->name, sheet_json(s->items[i])) < 0) {
            json_decref(value);
            return NULL;
        }
    return value;
}

/* What utilisations refer to. */
static json_t *machine(const struct report_data *d)
{
    const struct report_machine *m = d->machine;
    return m ? json_pack("{ss, ss, ss}", "name", m->name, "figures", m->figures, "digest", m->digest) : json_null();
}

int report_json(const struct report_data *d, const struct report_sheets *s, FILE *out, struct pkb_error *err)
{
    json_t *value =
        json_pack("{si, ss, ss, ss, so, sf, si, so, ss, so, so, so, so, so}", "format", 1, "name", d->name, "environment",
                  d->environment, "run", d->run, "merge", merge_summary_json(&d->summary), "p", d->p, "k", d->k_max, "models",
                  groups(d, &d->total), "by", report_by_name(d->by), "parts", groups(d, &d->parts), "problems", problems(d),
                  "not_counted", notes(d), "topology", machine(d), "tables", tables(s));
    if (!value)
        return pkb_error_set(err, "the report cannot be encoded as JSON (out of memory, or a name is not UTF-8)");
    int rc = json_dumpf(value, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    json_decref(value);
    if (rc < 0 || fputc('\n', out) == EOF)
        return pkb_error_errno(err, "the report cannot be written");
    return 0;
}
