/* SPDX-License-Identifier: Apache-2.0 */
/* Makes two synthetic runs with every kind of cell and model names that nobody should trust, and writes the report of the second, set
 * beside the first, in every format: DIR/report.json, cells.csv, report.html, ... for the tests that check them with other means.
 *
 *     report_dump DIR
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/merge.h"
#include "results/report.h"
#include "runtime/random.h"
#include "tests/support/synthetic.h"
#include "util/file.h"

static const char *const hostile[] = {"</title><script>alert(1)</script>&amp;\"'", "a|b_$c%d#{e}\\f~^ **bold** `x`",
                                      "=cmd(),\"q\"", "\xc3\xa9tude \xe2\x82\xac 1.0"};

static void die(const struct pkb_error *err)
{
    (void)fprintf(stderr, "report_dump: %s\n", err->text);
    exit(1);
}

/* What a cell came to: from a stream of its own, so that two runs differ in some cells only. */
static enum outcome draw_outcome(const struct rng *r, size_t cell)
{
    static const enum outcome likely[] = {OUTCOME_CORRECT, OUTCOME_CORRECT, OUTCOME_CORRECT, OUTCOME_CORRECT};
    int64_t x = rng_integer(r, cell, 0, 4 + OUTCOME_COUNT + 2);
    if (x < 4)
        return likely[x];
    return (enum outcome)(x - 4); /* OUTCOME_COUNT and more: no record */
}

static void write_cell(const struct plan *p, size_t cell, uint32_t turn, FILE *out)
{
    struct rng first = rng_make(5, 11, 0, 0, 0), second = rng_make(5, 11, turn, 1, 0);
    enum outcome o = draw_outcome(&first, cell);
    if (turn > 0 && rng_integer(&second, 2 * cell, 0, 4) == 0)
        o = draw_outcome(&second, cell + 100000);
    if (o >= OUTCOME_COUNT)
        return;
    struct record r;
    double speedup = exp(log(0.3) + rng_uniform(&first, cell + 50000) * (log(6) - log(0.3)));
    if (turn > 0)
        speedup *= 0.9 + 0.3 * rng_uniform(&second, cell + 50000);
    synthetic_record(p, cell, 1, o, speedup, &r);
    synthetic_scale(&r, r.baseline.mean * (1 + (double)(cell % 3)) / pow(r.world, 0.8));
    if (o == OUTCOME_CORRECT && rng_integer(&first, cell + 70000, 0, 12) == 0) {
        memset(&r.time, 0, sizeof(r.time));
        r.speedup = 0;
    }
    json_t *value = record_encode(&r);
    if (!value || json_dumpf(value, out, JSON_COMPACT | JSON_REAL_PRECISION(17)) < 0)
        exit(1);
    (void)fputc('\n', out);
    json_decref(value);
}

static void make_run(const char *run, const struct plan *p, uint32_t turn)
{
    struct pkb_error err = {{0}};
    char *folder = pkb_format(&err, "%s/records", run), *path = pkb_format(&err, "%s/shard-000000.001.jsonl", folder);
    if (!folder || !path || pkb_mkdirs(folder, &err) < 0)
        die(&err);
    FILE *out = fopen(path, "w");
    if (!out)
        exit(1);
    for (size_t cell = 0; cell < p->n_cells; cell++)
        write_cell(p, cell, turn, out);
    (void)fprintf(out, "not json\n{\"half");
    if (fclose(out) != 0)
        exit(1);
    if (merge_run_plan(run, p, NULL, &err) < 0)
        die(&err);
    free(folder);
    free(path);
}

static void write_report(const char *dir, const char *run, const char *name, const struct report_options *o)
{
    struct pkb_error err = {{0}};
    char *path = pkb_format(&err, "%s/%s", dir, name);
    FILE *out = path ? fopen(path, "w") : NULL;
    if (!out || report_print(run, out, o, NULL, &err) < 0 || fclose(out) != 0)
        die(&err);
    free(path);
}

int main(int argc, char **argv)
{
    static const int worlds[] = {1, 2, 4};
    struct pkb_error err = {{0}};
    if (argc != 2) {
        (void)fprintf(stderr, "usage: report_dump DIR\n");
        return 2;
    }
    struct plan *p = synthetic_plan(10, 3, worlds, 4, 4);
    for (size_t i = 0; i < p->n_candidates; i++) {
        char *name = pkb_format(&err, "%s", hostile[p->candidates[i].model[6] - '0']);
        free(p->candidates[i].model);
        p->candidates[i].model = name;
    }
    char *old = pkb_format(&err, "%s/old", argv[1]), *now = pkb_format(&err, "%s/new", argv[1]);
    make_run(old, p, 0);
    make_run(now, p, 1);
    struct report_options o = {.compare = old, .seed = 3, .replicates = 200};
    static const struct {
        const char *name, *csv;
        enum report_format format;
    } outputs[] = {{"report.json", NULL, REPORT_JSON},    {"cells.csv", "cells", REPORT_CSV},
                   {"report.txt", NULL, REPORT_TEXT},     {"report.html", NULL, REPORT_HTML},
                   {"report.md", NULL, REPORT_MARKDOWN},  {"report.tex", NULL, REPORT_LATEX},
                   {"changes.csv", "changes", REPORT_CSV}};
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
        o.format = outputs[i].format;
        o.csv = outputs[i].csv;
        write_report(argv[1], now, outputs[i].name, &o);
    }
    o = (struct report_options){.format = REPORT_CSV, .csv = "cells"};
    write_report(argv[1], old, "old.csv", &o);
    o = (struct report_options){.format = REPORT_JSON, .compare = "published"};
    write_report(argv[1], now, "published.json", &o);
    plan_destroy(p);
    free(old);
    free(now);
    return 0;
}
