/* SPDX-License-Identifier: Apache-2.0 */
#include "results/report_data.h"

#include <stdlib.h>
#include <string.h>

#include "util/file.h"

#define DEFAULT_MAX_K 10

/* What the table `run` says of a key, "" for nothing. */
static int load_word(struct report_data *d, const char *key, char **word, struct pkb_error *err)
{
    sqlite3_stmt *q = database_prepare(&d->db, "SELECT value FROM run WHERE key = ?", err);
    int rc = -1;
    if (q && sqlite3_bind_text(q, 1, key, -1, SQLITE_STATIC) == SQLITE_OK)
        rc = database_step(&d->db, q, err);
    else if (q)
        rc = database_error(&d->db, err);
    if (rc >= 0) {
        *word = strdup(rc == 1 ? database_text(q, 0) : "");
        rc = *word ? 0 : pkb_error_set(err, "out of memory");
    }
    (void)sqlite3_finalize(q);
    return rc;
}

static bool first_with(const struct report_cells *c, int i, const char *(*member)(const struct report_setting *))
{
    for (int k = 0; k < i; k++)
        if (strcmp(member(&c->settings[k]), member(&c->settings[i])) == 0)
            return false;
    return true;
}

static const char *dtype_of(const struct report_setting *s)
{
    return s->dtype;
}

static const char *shape_of(const struct report_setting *s)
{
    return s->shape;
}

static void count_settings(struct report_data *d)
{
    const struct report_cells *c = &d->cells;
    d->n_problems_named = c->n_problems;
    for (int i = 0; i < c->n_settings; i++) {
        bool new_world = true;
        for (int k = 0; k < i; k++)
            new_world = new_world && c->settings[k].world != c->settings[i].world;
        d->n_worlds += new_world;
        d->n_dtypes += first_with(c, i, dtype_of);
        d->n_shapes += first_with(c, i, shape_of);
    }
    for (size_t first = 0, end; first < c->n; first = end) {
        end = report_cells_task(c, first);
        if ((int64_t)(end - first) > d->most_samples)
            d->most_samples = (int64_t)(end - first);
    }
}

static void choose(struct report_data *d, const struct report_options *o)
{
    int64_t k = d->most_samples < DEFAULT_MAX_K ? d->most_samples : DEFAULT_MAX_K;
    d->k_max = o->k > 0 ? o->k : k > 0 ? (int)k : 1;
    d->p = o->p > 0 ? o->p : 1;
    d->by = o->by;
    if (d->by == REPORT_BY_DEFAULT && d->n_worlds > 1)
        d->by = REPORT_BY_WORLD;
}

const char *report_by_name(enum report_by by)
{
    static const char *const names[] = {
        [REPORT_BY_DEFAULT] = "",    [REPORT_BY_WORLD] = "world", [REPORT_BY_FAMILY] = "family",
        [REPORT_BY_DTYPE] = "dtype", [REPORT_BY_SHAPE] = "shape",
    };
    return names[by];
}

bool report_tasks_are_problems(const struct report_data *d)
{
    return (int64_t)d->n_problems == d->n_problems_named;
}

/* Bounds of the cells with a time of their own. */
static void find_bounds(struct report_data *d, const struct report_options *o)
{
    d->machine = o->machine;
    for (size_t i = 0; i < d->cells.n && d->machine; i++) {
        struct report_cell *c = &d->cells.cells[i];
        struct report_bound b = {0};
        if (c->sample.outcome != OUTCOME_CORRECT || c->time_ns <= 0)
            continue;
        const char *setting = d->cells.settings[c->setting].digest;
        if (d->machine->bound(d->machine->arg, setting, c->nodes, c->time_ns, &b) < 0 || b.bound_ns <= 0)
            continue;
        c->bound_ns = b.bound_ns;
        c->resource = b.resource;
        c->verdict = b.verdict;
    }
}

static int load(struct report_data *d, const struct report_options *o, struct pkb_error *err)
{
    if (load_word(d, "name", &d->name, err) < 0 || load_word(d, "environment", &d->environment, err) < 0 ||
        report_cells_load(&d->cells, &d->db, err) < 0)
        return -1;
    d->models = d->cells.models;
    d->n_models = d->cells.n_models;
    count_settings(d);
    choose(d, o);
    find_bounds(d, o);
    d->bootstrap = bootstrap_create(d->cells.n_problems, o->replicates > 0 ? o->replicates : BOOTSTRAP_REPLICATES, o->seed, err);
    if (!d->bootstrap || report_groups_load(d, &d->total, REPORT_BY_DEFAULT, err) < 0)
        return -1;
    if (report_groups_load(d, &d->families, REPORT_BY_FAMILY, err) < 0)
        return -1;
    if (d->by != REPORT_BY_DEFAULT && report_groups_load(d, &d->parts, d->by, err) < 0)
        return -1;
    return report_problems_load(d, err) < 0 ? -1 : report_notes_load(d, err);
}

int report_data_load(struct report_data *d, const char *run, const struct report_options *o, struct pkb_error *err)
{
    memset(d, 0, sizeof(*d));
    d->run = run;
    char *path = pkb_format(err, "%s/results.db", run);
    int rc = path ? merge_summary_read(run, &d->summary, err) : -1;
    if (rc == 0)
        rc = database_open(&d->db, path, err);
    if (rc == 0)
        rc = load(d, o, err);
    free(path);
    if (rc < 0)
        report_data_clear(d);
    return rc;
}

void report_data_clear(struct report_data *d)
{
    report_groups_clear(&d->total);
    report_groups_clear(&d->parts);
    report_groups_clear(&d->families);
    report_problems_clear(d);
    report_notes_clear(d);
    bootstrap_destroy(d->bootstrap);
    report_cells_clear(&d->cells);
    free(d->name);
    free(d->environment);
    database_close(&d->db);
    memset(d, 0, sizeof(*d));
}
