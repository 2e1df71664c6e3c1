/* SPDX-License-Identifier: Apache-2.0 */
/* The table of `pkb roofline`. */
#include <stdlib.h>
#include <string.h>

#include "results/database.h"
#include "results/report_data.h"
#include "results/rooflines.h"
#include "results/table.h"
#include "util/file.h"

/* Correct timed candidates, the fastest of each setting first. */
static const char query_text[] =
    "SELECT s.digest, r.problem, r.world, r.dtype, r.shape, r.model, r.sample, r.time_ns, r.baseline_ns, a.nodes"
    " FROM results r JOIN settings s ON s.id = r.setting JOIN attempts a ON a.id = r.result"
    " WHERE r.outcome = 'correct' AND r.time_ns > 0"
    " ORDER BY r.problem_id, r.world, r.dtype, r.shape, s.id, r.time_ns, r.model, r.sample";

enum column { DIGEST, PROBLEM, WORLD, DTYPE, SHAPE, MODEL, SAMPLE, TIME, BASELINE, NODES };

struct printing {
    struct rooflines *rooflines;
    struct database db;
    sqlite3_stmt *query;
    struct table *table;
    json_t *settings, *impossible;
    char last[PKB_DIGEST_HEX]; /* setting of the last row */
    int64_t n_settings, n_impossible;
};

static void add_row(struct printing *p, const struct roofline_cell *c)
{
    char bound[32], best[32];
    double baseline = sqlite3_column_double(p->query, BASELINE);
    report_format_ns(c->roofline.bound * 1e9, bound, sizeof(bound));
    report_format_ns(c->measured_ns, best, sizeof(best));
    table_cell(p->table, TABLE_PLAIN, "%s", database_text(p->query, PROBLEM));
    table_cell(p->table, TABLE_PLAIN, "%d", sqlite3_column_int(p->query, WORLD));
    table_cell(p->table, TABLE_PLAIN, "%s", database_text(p->query, DTYPE));
    table_cell(p->table, TABLE_PLAIN, "%s", database_text(p->query, SHAPE));
    table_cell(p->table, TABLE_PLAIN, "%s", bound);
    table_cell(p->table, TABLE_PLAIN, "%s", roofline_resource_name(c->roofline.binds));
    if (baseline > 0)
        table_cell(p->table, TABLE_PLAIN, "%.1f %%", 100 * roofline_utilisation(&c->roofline, baseline * 1e-9));
    else
        table_cell(p->table, TABLE_FAINT, "-");
    table_cell(p->table, TABLE_PLAIN, "%s/%d", database_text(p->query, MODEL), sqlite3_column_int(p->query, SAMPLE));
    table_cell(p->table, TABLE_PLAIN, "%s", best);
    table_cell(p->table, c->verdict == ROOFLINE_IMPOSSIBLE ? TABLE_BAD : TABLE_PLAIN, "%.1f %%%s", 100 * c->utilisation,
               c->verdict == ROOFLINE_IMPOSSIBLE ? " !" : "");
}

static json_t *encode_row(const struct printing *p, const struct roofline_cell *c)
{
    return json_pack("{s:s, s:s, s:i, s:s, s:s, s:s, s:i, s:f, s:f, s:f, s:s, s:o}", "setting", database_text(p->query, DIGEST),
                     "problem", database_text(p->query, PROBLEM), "world", sqlite3_column_int(p->query, WORLD), "dtype",
                     database_text(p->query, DTYPE), "shape", database_text(p->query, SHAPE), "model",
                     database_text(p->query, MODEL), "sample", sqlite3_column_int(p->query, SAMPLE), "time_ns", c->measured_ns,
                     "utilisation", c->utilisation, "baseline_utilisation",
                     roofline_utilisation(&c->roofline, sqlite3_column_double(p->query, BASELINE) * 1e-9), "verdict",
                     roofline_verdict_name(c->verdict), "roofline", roofline_encode(&c->roofline));
}

static int read_row(struct printing *p, struct pkb_error *err)
{
    struct roofline_cell c;
    const char *digest = database_text(p->query, DIGEST);
    if (rooflines_cell(p->rooflines, digest, sqlite3_column_int(p->query, NODES), sqlite3_column_double(p->query, TIME), &c,
                       err) < 0)
        return -1;
    bool first = strcmp(p->last, digest) != 0;
    (void)snprintf(p->last, sizeof(p->last), "%s", digest);
    if (first) {
        p->n_settings++;
        add_row(p, &c);
        if (json_array_append_new(p->settings, encode_row(p, &c)) < 0)
            return pkb_error_set(err, "out of memory");
    }
    if (c.verdict != ROOFLINE_IMPOSSIBLE)
        return 0;
    p->n_impossible++;
    return json_array_append_new(p->impossible, encode_row(p, &c)) < 0 ? pkb_error_set(err, "out of memory") : 0;
}

static int read_rows(struct printing *p, struct pkb_error *err)
{
    int rc = 1;
    while (rc == 1) {
        rc = database_step(&p->db, p->query, err);
        if (rc == 1 && read_row(p, err) < 0)
            rc = -1;
    }
    return rc;
}

static void add_columns(struct table *t)
{
    table_column(t, NULL, "problem", TABLE_LEFT, 32);
    table_column(t, NULL, "W", TABLE_RIGHT, 0);
    table_column(t, NULL, "dtype", TABLE_LEFT, 0);
    table_column(t, NULL, "shape", TABLE_LEFT, 12);
    table_column(t, "roofline", "bound", TABLE_RIGHT, 0);
    table_column(t, "roofline", "binds", TABLE_LEFT, 0);
    table_column(t, NULL, "reference", TABLE_RIGHT, 0);
    table_column(t, "fastest", "candidate", TABLE_LEFT, 20);
    table_column(t, "fastest", "time", TABLE_RIGHT, 0);
    table_column(t, "fastest", "utilised", TABLE_RIGHT, 0);
}

static void list_impossible(const struct printing *p, FILE *out)
{
    if (p->n_impossible == 0)
        return;
    (void)fprintf(out,
                  "\nImpossibly fast (!): %lld correct candidates took less time than any implementation needs; they cannot have "
                  "done the work.\n",
                  (long long)p->n_impossible);
    size_t i;
    json_t *row;
    json_array_foreach(p->impossible, i, row)(void)
        fprintf(out, "  %s %s/%lld: %.0f ns, at least %.0f ns are needed\n", json_string_value(json_object_get(row, "problem")),
                json_string_value(json_object_get(row, "model")), (long long)json_integer_value(json_object_get(row, "sample")),
                json_real_value(json_object_get(row, "time_ns")),
                json_real_value(json_object_get(json_object_get(row, "roofline"), "floor_ns")));
}

static int print_text(const struct printing *p, FILE *out, bool colour, struct pkb_error *err)
{
    const struct topology *t = rooflines_topology(p->rooflines);
    (void)fprintf(out, "Rooflines on %s (%s figures): bound / measured time\n\n", t->name, topology_figures_words[t->figures]);
    if (p->n_settings == 0) {
        (void)fprintf(out, "  no correct candidate was timed\n");
        return 0;
    }
    if (table_print(p->table, out, colour, err) < 0)
        return -1;
    list_impossible(p, out);
    return 0;
}

static int print_json(const struct printing *p, FILE *out, struct pkb_error *err)
{
    const struct topology *t = rooflines_topology(p->rooflines);
    json_t *v = json_pack("{s:i, s:o, s:O, s:O}", "format", 1, "topology", topology_encode(t), "settings", p->settings,
                          "impossible", p->impossible);
    int rc = v ? 0 : pkb_error_set(err, "out of memory");
    if (v && (json_dumpf(v, out, JSON_INDENT(1)) < 0 || putc('\n', out) == EOF))
        rc = pkb_error_errno(err, "cannot write");
    json_decref(v);
    return rc;
}

static int load(struct printing *p, const char *run, struct pkb_error *err)
{
    char *path = pkb_format(err, "%s/results.db", run);
    int rc = path ? database_open(&p->db, path, err) : -1;
    free(path);
    if (rc < 0)
        return -1;
    p->query = database_prepare(&p->db, query_text, err);
    return p->query ? read_rows(p, err) : -1;
}

int rooflines_print(const char *run, struct rooflines *r, FILE *out, bool json, bool colour, struct pkb_error *err)
{
    struct printing p = {.rooflines = r, .table = table_create(), .settings = json_array(), .impossible = json_array()};
    int rc = p.table && p.settings && p.impossible ? 0 : pkb_error_set(err, "out of memory");
    if (rc == 0) {
        add_columns(p.table);
        rc = load(&p, run, err);
    }
    if (rc == 0)
        rc = json ? print_json(&p, out, err) : print_text(&p, out, colour, err);
    (void)sqlite3_finalize(p.query);
    database_close(&p.db);
    table_destroy(p.table);
    json_decref(p.settings);
    json_decref(p.impossible);
    return rc;
}
