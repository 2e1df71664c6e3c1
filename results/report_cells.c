/* SPDX-License-Identifier: Apache-2.0 */
#include "results/report_cells.h"

#include <stdlib.h>
#include <string.h>

/* From identifiers of the database to numbers in the sorted arrays; -1: no cell has it. */
struct maps {
    int *settings, *models, *samples; /* the last two by candidate */
    int64_t n_settings, n_candidates;
};

static int out_of_memory(struct pkb_error *err)
{
    return pkb_error_set(err, "out of memory for the cells of a report");
}

/* ---- settings --------------------------------------------------------------------------------------------------------- */

static int compare_settings(const void *a, const void *b)
{
    const struct report_setting *x = a, *y = b;
    if (x->problem_id != y->problem_id)
        return x->problem_id < y->problem_id ? -1 : 1;
    if (x->world != y->world)
        return x->world < y->world ? -1 : 1;
    int order = strcmp(x->dtype, y->dtype);
    if (order == 0)
        order = strcmp(x->shape, y->shape);
    return order ? order : x->id < y->id ? -1 : x->id > y->id;
}

static int add_setting(struct report_cells *c, sqlite3_stmt *q, struct pkb_error *err)
{
    struct report_setting *grown = reallocarray(c->settings, (size_t)c->n_settings + 1, sizeof(*grown));
    if (!grown)
        return out_of_memory(err);
    c->settings = grown;
    struct report_setting *s = &grown[c->n_settings++];
    *s = (struct report_setting){
        .id = sqlite3_column_int64(q, 0),
        .name = strdup(database_text(q, 1)),
        .problem_id = sqlite3_column_int(q, 2),
        .family = strdup(database_text(q, 3)),
        .world = sqlite3_column_int(q, 4),
        .dtype = strdup(database_text(q, 5)),
        .shape = strdup(database_text(q, 6)),
        .digest = strdup(database_text(q, 7)),
    };
    return s->name && s->family && s->dtype && s->shape && s->digest ? 0 : out_of_memory(err);
}

static void number_problems(struct report_cells *c)
{
    for (int i = 0; i < c->n_settings; i++) {
        c->n_problems += i == 0 || c->settings[i].problem_id != c->settings[i - 1].problem_id;
        c->settings[i].problem = c->n_problems - 1;
    }
}

static int load_settings(struct report_cells *c, struct maps *m, struct database *db, struct pkb_error *err)
{
    sqlite3_stmt *q = database_prepare(db,
                                       "SELECT id, problem, problem_id, family, world, dtype, shape, digest FROM settings"
                                       " WHERE EXISTS (SELECT 1 FROM cells WHERE setting = settings.id)",
                                       err);
    int rc = q ? 1 : -1;
    while (rc == 1) {
        rc = database_step(db, q, err);
        if (rc == 1 && add_setting(c, q, err) < 0)
            rc = -1;
    }
    (void)sqlite3_finalize(q);
    if (rc < 0 || database_integer(db, "SELECT coalesce(max(id), 0) + 1 FROM settings", &m->n_settings, err) < 0)
        return -1;
    m->settings = malloc((size_t)m->n_settings * sizeof(int));
    if (!m->settings)
        return out_of_memory(err);
    memset(m->settings, 0xff, (size_t)m->n_settings * sizeof(int));
    if (c->n_settings > 0)
        qsort(c->settings, (size_t)c->n_settings, sizeof(*c->settings), compare_settings);
    number_problems(c);
    for (int i = 0; i < c->n_settings; i++)
        m->settings[c->settings[i].id] = i;
    return 0;
}

/* ---- models and candidates ---------------------------------------------------------------------------------------------- */

static int load_models(struct report_cells *c, struct database *db, struct pkb_error *err)
{
    sqlite3_stmt *q = database_prepare(db, "SELECT DISTINCT model FROM candidates ORDER BY model", err);
    int rc = q ? 1 : -1;
    while (rc == 1) {
        rc = database_step(db, q, err);
        if (rc != 1)
            break;
        char **models = reallocarray(c->models, (size_t)c->n_models + 1, sizeof(*models));
        if (models)
            c->models = models;
        char *name = models ? strdup(database_text(q, 0)) : NULL;
        if (!name)
            rc = out_of_memory(err);
        else
            c->models[c->n_models++] = name;
    }
    (void)sqlite3_finalize(q);
    return rc;
}

int report_cells_model(const struct report_cells *c, const char *name)
{
    int low = 0, high = c->n_models;
    while (low < high) {
        int middle = low + (high - low) / 2, order = strcmp(name, c->models[middle]);
        if (order == 0)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

static int load_candidates(struct report_cells *c, struct maps *m, struct database *db, struct pkb_error *err)
{
    if (database_integer(db, "SELECT coalesce(max(id), 0) + 1 FROM candidates", &m->n_candidates, err) < 0)
        return -1;
    m->models = calloc((size_t)m->n_candidates, sizeof(int));
    m->samples = calloc((size_t)m->n_candidates, sizeof(int));
    if (!m->models || !m->samples)
        return out_of_memory(err);
    sqlite3_stmt *q = database_prepare(db, "SELECT id, model, sample FROM candidates", err);
    int rc = q ? 1 : -1;
    while (rc == 1) {
        rc = database_step(db, q, err);
        if (rc != 1)
            break;
        int64_t id = sqlite3_column_int64(q, 0);
        m->models[id] = report_cells_model(c, database_text(q, 1));
        m->samples[id] = sqlite3_column_int(q, 2);
    }
    (void)sqlite3_finalize(q);
    return rc;
}

/* ---- cells -------------------------------------------------------------------------------------------------------------- */

/* "missing" is no outcome: -1. */
static int outcome_of(const char *state, const char *outcome)
{
    return outcome_parse(strcmp(state, "done") == 0 ? outcome : state);
}

static int add_cell(struct report_cells *c, const struct maps *m, sqlite3_stmt *q, struct pkb_error *err)
{
    int64_t setting = sqlite3_column_int64(q, 1), candidate = sqlite3_column_int64(q, 2);
    bool known = setting >= 0 && setting < m->n_settings && m->settings[setting] >= 0 && candidate >= 0 &&
                 candidate < m->n_candidates && m->models[candidate] >= 0;
    if (!known)
        return pkb_error_set(err,
                             "results.db: a cell has a setting or candidate that is not there; remove the file and merge again");
    c->cells[c->n++] = (struct report_cell){
        .setting = m->settings[setting],
        .model = m->models[candidate],
        .id = sqlite3_column_int(q, 0),
        .sample = {.number = m->samples[candidate],
                   .outcome = outcome_of(database_text(q, 3), database_text(q, 4)),
                   .timed = sqlite3_column_type(q, 5) != SQLITE_NULL,
                   .speedup = sqlite3_column_double(q, 5)},
        .nodes = sqlite3_column_int(q, 8),
        .time_ns = sqlite3_column_double(q, 6),
        .baseline_ns = sqlite3_column_double(q, 7),
        .resource = "",
        .verdict = "",
    };
    return 0;
}

static int compare_cells(const void *a, const void *b)
{
    const struct report_cell *x = a, *y = b;
    if (x->setting != y->setting)
        return x->setting < y->setting ? -1 : 1;
    if (x->model != y->model)
        return x->model < y->model ? -1 : 1;
    if (x->sample.number != y->sample.number)
        return x->sample.number < y->sample.number ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Plans are nearly in this order already. */
static void sort_cells(struct report_cells *c)
{
    for (size_t i = 1; i < c->n; i++)
        if (compare_cells(&c->cells[i - 1], &c->cells[i]) > 0) {
            qsort(c->cells, c->n, sizeof(*c->cells), compare_cells);
            return;
        }
}

static int load_cells(struct report_cells *c, const struct maps *m, struct database *db, struct pkb_error *err)
{
    int64_t n = 0;
    if (database_integer(db, "SELECT count(*) FROM cells", &n, err) < 0)
        return -1;
    c->cells = calloc((size_t)n + 1, sizeof(*c->cells));
    if (!c->cells)
        return out_of_memory(err);
    sqlite3_stmt *q =
        database_prepare(db,
                         "SELECT c.id, c.setting, c.candidate, c.state, a.outcome, a.speedup, a.time_mean,"
                         " a.baseline_mean, a.nodes FROM cells c LEFT JOIN attempts a ON a.id = c.result ORDER BY c.id",
                         err);
    int rc = q ? 1 : -1;
    while (rc == 1 && (int64_t)c->n < n) {
        rc = database_step(db, q, err);
        if (rc == 1 && add_cell(c, m, q, err) < 0)
            rc = -1;
    }
    (void)sqlite3_finalize(q);
    if (rc < 0)
        return -1;
    sort_cells(c);
    return 0;
}

/* Forgets models whose candidates have no cell. */
static int drop_models(struct report_cells *c, struct pkb_error *err)
{
    int *number = calloc((size_t)c->n_models + 1, sizeof(int)), n = 0;
    if (!number)
        return out_of_memory(err);
    for (size_t i = 0; i < c->n; i++)
        number[c->cells[i].model] = 1;
    for (int m = 0; m < c->n_models; m++) {
        bool used = number[m] != 0;
        number[m] = n;
        if (used)
            c->models[n++] = c->models[m];
        else
            free(c->models[m]);
    }
    c->n_models = n;
    for (size_t i = 0; i < c->n; i++)
        c->cells[i].model = number[c->cells[i].model];
    free(number);
    return 0;
}

int report_cells_load(struct report_cells *c, struct database *db, struct pkb_error *err)
{
    struct maps m = {0};
    memset(c, 0, sizeof(*c));
    int rc = load_settings(c, &m, db, err);
    if (rc == 0)
        rc = load_models(c, db, err);
    if (rc == 0)
        rc = load_candidates(c, &m, db, err);
    if (rc == 0)
        rc = load_cells(c, &m, db, err);
    if (rc == 0)
        rc = drop_models(c, err);
    free(m.settings);
    free(m.models);
    free(m.samples);
    if (rc < 0)
        report_cells_clear(c);
    return rc;
}

void report_cells_clear(struct report_cells *c)
{
    for (int i = 0; i < c->n_models; i++)
        free(c->models[i]);
    for (int i = 0; i < c->n_settings; i++) {
        free(c->settings[i].name);
        free(c->settings[i].family);
        free(c->settings[i].dtype);
        free(c->settings[i].shape);
        free(c->settings[i].digest);
    }
    free(c->models);
    free(c->settings);
    free(c->cells);
    memset(c, 0, sizeof(*c));
}

size_t report_cells_task(const struct report_cells *c, size_t first)
{
    size_t end = first + 1;
    while (end < c->n && c->cells[end].setting == c->cells[first].setting && c->cells[end].model == c->cells[first].model)
        end++;
    return end;
}

int report_cells_samples(const struct report_cells *c, size_t first, size_t end, struct report_samples *out,
                         struct pkb_error *err)
{
    size_t n = end - first;
    if (n > out->capacity) {
        struct metrics_sample *items = reallocarray(out->items, n, sizeof(*items));
        if (!items)
            return out_of_memory(err);
        out->items = items;
        out->capacity = n;
    }
    for (size_t i = 0; i < n; i++)
        out->items[i] = c->cells[first + i].sample;
    return 0;
}
