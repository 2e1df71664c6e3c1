/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics per model, and per model and world size, family, ... */
#include <stdlib.h>
#include <string.h>

#include "results/report_data.h"
#include "util/file.h"

/* The samples of one task, while its rows go by. */
struct task {
    int64_t setting;
    struct metrics_sample *samples;
    int n, capacity;
};

int report_outcome(const char *state, const char *outcome)
{
    return outcome_parse(strcmp(state, "done") == 0 ? outcome : state); /* "missing" is no outcome: -1 */
}

static int add_sample(struct task *t, sqlite3_stmt *q, struct pkb_error *err)
{
    if (t->n == t->capacity) {
        int capacity = t->capacity ? 2 * t->capacity : 16;
        struct metrics_sample *samples = reallocarray(t->samples, (size_t)capacity, sizeof(*samples));
        if (!samples)
            return pkb_error_set(err, "out of memory for %d samples", capacity);
        t->samples = samples;
        t->capacity = capacity;
    }
    t->samples[t->n++] = (struct metrics_sample){
        .number = sqlite3_column_int(q, 3),
        .outcome = report_outcome(database_text(q, 4), database_text(q, 5)),
        .timed = sqlite3_column_type(q, 6) != SQLITE_NULL,
        .speedup = sqlite3_column_double(q, 6),
    };
    return 0;
}

static int start_group(const struct report_data *d, struct report_groups *g, sqlite3_stmt *q, struct pkb_error *err)
{
    struct report_group *items = reallocarray(g->items, g->n + 1, sizeof(*items));
    if (!items)
        return pkb_error_set(err, "out of memory for %zu groups", g->n + 1);
    g->items = items;
    struct report_group *item = &g->items[g->n];
    *item = (struct report_group){.model = report_model(d, database_text(q, 0)), .key = strdup(database_text(q, 1))};
    if (item->key && metrics_init(&item->metrics, d->k_max, d->p, err) == 0) {
        g->n++;
        return 0;
    }
    free(item->key);
    return pkb_error_set(err, "out of memory for metrics");
}

static bool same_group(const struct report_data *d, const struct report_groups *g, sqlite3_stmt *q)
{
    const struct report_group *last = g->n ? &g->items[g->n - 1] : NULL;
    return last && strcmp(d->models[last->model], database_text(q, 0)) == 0 && strcmp(last->key, database_text(q, 1)) == 0;
}

static void end_task(struct report_groups *g, struct task *t)
{
    if (t->n > 0)
        metrics_add_task(&g->items[g->n - 1].metrics, t->samples, t->n);
    t->n = 0;
}

static int read_rows(struct report_data *d, struct report_groups *g, sqlite3_stmt *q, struct pkb_error *err)
{
    struct task t = {0};
    int rc = 1;
    while (rc == 1) {
        rc = database_step(&d->db, q, err);
        if (rc != 1)
            break;
        bool same = same_group(d, g, q);
        if (!same || t.setting != sqlite3_column_int64(q, 2))
            end_task(g, &t);
        t.setting = sqlite3_column_int64(q, 2);
        if ((!same && start_group(d, g, q, err) < 0) || add_sample(&t, q, err) < 0)
            rc = -1;
    }
    end_task(g, &t);
    free(t.samples);
    return rc;
}

int report_groups_load(struct report_data *d, struct report_groups *g, const char *key, struct pkb_error *err)
{
    char *sql = pkb_format(err,
                           "SELECT k.model, %s%s, c.setting, k.sample, c.state, a.outcome, a.speedup FROM cells c"
                           " JOIN settings s ON s.id = c.setting JOIN candidates k ON k.id = c.candidate"
                           " LEFT JOIN attempts a ON a.id = c.result ORDER BY 1, 2, 3, 4, c.id",
                           key ? "s." : "", key ? key : "''");
    sqlite3_stmt *q = sql ? database_prepare(&d->db, sql, err) : NULL;
    int rc = q ? read_rows(d, g, q, err) : -1;
    (void)sqlite3_finalize(q);
    free(sql);
    return rc;
}

void report_groups_clear(struct report_groups *g)
{
    for (size_t i = 0; i < g->n; i++) {
        metrics_clear(&g->items[i].metrics);
        free(g->items[i].key);
    }
    free(g->items);
    memset(g, 0, sizeof(*g));
}
