/* SPDX-License-Identifier: Apache-2.0 */
#include "results/report_data.h"

#include <stdlib.h>
#include <string.h>

#include "util/file.h"

#define DEFAULT_MAX_K 10

static int load_models(struct report_data *d, struct pkb_error *err)
{
    sqlite3_stmt *q = database_prepare(
        &d->db, "SELECT DISTINCT model FROM candidates WHERE id IN (SELECT candidate FROM cells) ORDER BY model", err);
    int rc = q ? 1 : -1;
    while (rc == 1) {
        rc = database_step(&d->db, q, err);
        if (rc != 1)
            break;
        char **models = reallocarray(d->models, (size_t)d->n_models + 1, sizeof(*models));
        if (models)
            d->models = models;
        char *name = models ? strdup(database_text(q, 0)) : NULL;
        if (!name)
            rc = pkb_error_set(err, "out of memory");
        else
            d->models[d->n_models++] = name;
    }
    (void)sqlite3_finalize(q);
    return rc;
}

int report_model(const struct report_data *d, const char *name)
{
    int low = 0, high = d->n_models;
    while (low < high) {
        int middle = low + (high - low) / 2;
        int order = strcmp(name, d->models[middle]);
        if (order == 0)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

static int load_name(struct report_data *d, struct pkb_error *err)
{
    sqlite3_stmt *q = database_prepare(&d->db, "SELECT value FROM run WHERE key = 'name'", err);
    int rc = q ? database_step(&d->db, q, err) : -1;
    if (rc >= 0) {
        d->name = strdup(rc == 1 ? database_text(q, 0) : "");
        rc = d->name ? 0 : pkb_error_set(err, "out of memory");
    }
    (void)sqlite3_finalize(q);
    return rc;
}

static int load_counts(struct report_data *d, struct pkb_error *err)
{
    static const char used[] = " FROM settings WHERE id IN (SELECT setting FROM cells)";
    static const char *const columns[] = {"problem", "world", "dtype", "shape"};
    int64_t counts[4];
    for (int i = 0; i < 4; i++) {
        char *sql = pkb_format(err, "SELECT count(DISTINCT %s)%s", columns[i], used);
        int rc = sql ? database_integer(&d->db, sql, &counts[i], err) : -1;
        free(sql);
        if (rc < 0)
            return -1;
    }
    d->n_problems_named = counts[0];
    d->n_worlds = (int)counts[1];
    d->n_dtypes = (int)counts[2];
    d->n_shapes = (int)counts[3];
    return database_integer(&d->db,
                            "SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM cells c JOIN candidates k ON"
                            " k.id = c.candidate GROUP BY c.setting, k.model)",
                            &d->most_samples, err);
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

static int load(struct report_data *d, const struct report_options *o, struct pkb_error *err)
{
    if (load_name(d, err) < 0 || load_models(d, err) < 0 || load_counts(d, err) < 0)
        return -1;
    choose(d, o);
    if (report_groups_load(d, &d->total, NULL, err) < 0)
        return -1;
    if (d->by != REPORT_BY_DEFAULT && report_groups_load(d, &d->parts, report_by_name(d->by), err) < 0)
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
    report_problems_clear(d);
    report_notes_clear(d);
    for (int i = 0; i < d->n_models; i++)
        free(d->models[i]);
    free(d->models);
    free(d->name);
    database_close(&d->db);
    memset(d, 0, sizeof(*d));
}
