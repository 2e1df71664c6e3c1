/* SPDX-License-Identifier: Apache-2.0 */
/* Merging synthetic records and reporting them: time and memory, against the same work in Python (bench/merge_naive.py: json +
 * sqlite3; bench/merge_frames.py: pandas and DuckDB, where they are installed).
 *
 *     bench_merge [RECORDS]      default 200000; about one percent are retried, duplicated or malformed
 *
 * Measured: a whole merge, a merge after 1,000 more records were appended, and every format of report. Each runs in a process of its
 * own, so that its memory is its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "results/merge.h"
#include "results/report.h"
#include "tests/support/synthetic.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"
#include "util/paths.h"

#define DEFAULT_RECORDS 200000
#define MODELS 6
#define CELLS_PER_FILE 20000
#define LATE 1000 /* records that come after the first merge */

struct cost {
    double seconds, cpu, megabytes;
};

static int die(const struct pkb_error *err)
{
    (void)fprintf(stderr, "bench_merge: %s\n", err->text);
    return 1;
}

/* ---- the run --------------------------------------------------------------------------------------------------------- */

/* What real records carry besides: raw samples of some iterations, places, versions, durations. */
static json_t *more(void)
{
    json_t *samples = json_array();
    for (int i = 0; i < 20; i++)
        json_array_append_new(samples, json_real(1000000.5 + 37.25 * i));
    return json_pack("{so, s[s], s{ss}, s{sf, sf}}", "samples_ns", samples, "nodes", "node-0001", "versions", "pkb", "0.1.0",
                     "phases", "reference", 0.25, "candidate", 0.125);
}

static void write_record(FILE *out, const struct plan *p, size_t cell, int attempt, enum outcome outcome)
{
    struct record r;
    synthetic_record(p, cell, attempt, outcome, 0.5 + (double)(cell % 40) / 20, &r);
    r.more = more();
    json_t *value = record_encode(&r);
    char *line = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(15));
    (void)fprintf(out, "%s\n", line);
    free(line);
    json_decref(value);
    record_clear(&r);
}

static FILE *open_records(const char *run, int shard, char **path, struct pkb_error *err)
{
    char *name = record_file_name(shard, 1, err);
    *path = name ? pkb_format(err, "%s/records/%s", run, name) : NULL;
    free(name);
    FILE *out = *path ? fopen(*path, "ae") : NULL;
    if (*path && !out)
        pkb_error_errno(err, "%s", *path);
    return out;
}

/* The last cells of the plan, appended to the last file. */
static int write_late(const char *run, const struct plan *p, struct pkb_error *err)
{
    char *path;
    FILE *out = open_records(run, (int)((p->n_cells - LATE - 1) / CELLS_PER_FILE), &path, err);
    for (size_t cell = p->n_cells - LATE; out && cell < p->n_cells; cell++)
        write_record(out, p, cell, 1, OUTCOME_CORRECT);
    int rc = out ? 0 : -1;
    if (out && fclose(out) != 0)
        rc = pkb_error_errno(err, "%s", path);
    free(path);
    return rc;
}

static int write_file(const char *run, const struct plan *p, size_t first, size_t end, struct pkb_error *err)
{
    static const enum outcome outcomes[] = {OUTCOME_CORRECT, OUTCOME_CORRECT, OUTCOME_VALUE_MISMATCH, OUTCOME_CORRECT,
                                            OUTCOME_DEADLOCK};
    char *path;
    FILE *out = open_records(run, (int)(first / CELLS_PER_FILE), &path, err);
    if (!out)
        return -1;
    for (size_t cell = first; cell < end; cell++) {
        if (cell % 200 == 3)
            write_record(out, p, cell, 1, OUTCOME_INFRA_ERROR);
        if (cell % 400 == 5)
            (void)fprintf(out, "{\"schema\":1,\"kind\":\"cell\",\"cell\":\n");
        write_record(out, p, cell, 1, outcomes[cell % 5]);
        if (cell % 400 == 7)
            write_record(out, p, cell, 1, OUTCOME_CORRECT);
    }
    int rc = ferror(out) ? -1 : 0;
    if (fclose(out) != 0 || rc < 0)
        rc = pkb_error_errno(err, "%s", path);
    free(path);
    return rc;
}

/* What the peer needs of the plan, as text: one line "cell model problem world sample" per cell. */
static int write_cells(const char *run, const struct plan *p, struct pkb_error *err)
{
    char *path = pkb_format(err, "%s/cells.txt", run);
    struct pkb_digest *d = pkb_digest_create(err);
    FILE *out = path && d ? fopen(path, "we") : NULL;
    int rc = out ? 0 : -1;
    for (size_t i = 0; i < p->n_cells && rc == 0; i++) {
        const struct plan_setting *s = &p->settings[p->cells[i].setting];
        const struct plan_candidate *c = &p->candidates[p->cells[i].candidate];
        char hex[PKB_DIGEST_HEX];
        rc = plan_cell_digest(p, &p->cells[i], d, hex, err);
        (void)fprintf(out, "%s %s %s %d %d\n", hex, c->model, s->problem->name, s->world, c->sample);
    }
    if (out && fclose(out) != 0)
        rc = pkb_error_errno(err, "%s", path);
    pkb_digest_destroy(d);
    free(path);
    return rc;
}

static int make_run(const char *run, const struct plan *p, struct pkb_error *err)
{
    char *folder = pkb_format(err, "%s/records", run);
    int rc = folder ? pkb_mkdirs(folder, err) : -1;
    size_t n = p->n_cells - LATE;
    for (size_t first = 0; first < n && rc == 0; first += CELLS_PER_FILE) {
        size_t end = first + CELLS_PER_FILE < n ? first + CELLS_PER_FILE : n;
        rc = write_file(run, p, first, end, err);
    }
    free(folder);
    return rc < 0 ? -1 : write_cells(run, p, err);
}

/* ---- measuring ------------------------------------------------------------------------------------------------------- */

static int wait_for(pid_t pid, int64_t start, struct cost *cost, struct pkb_error *err)
{
    struct rusage usage;
    int status = 0;
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
        return pkb_error_errno(err, "a measured process");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return pkb_error_set(err, "a measured process failed");
    cost->seconds = (double)(pkb_now_ns() - start) / 1e9;
    cost->cpu =
        (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    cost->megabytes = (double)usage.ru_maxrss / 1024;
    return 0;
}

static int ours(const char *run, const struct plan *p, struct cost *cost, struct pkb_error *err)
{
    int64_t start = pkb_now_ns();
    pid_t pid = fork();
    if (pid == 0) {
        struct pkb_error inner;
        struct merge_summary s;
        if (merge_run_plan(run, p, &s, &inner) < 0)
            _exit(die(&inner));
        (void)fprintf(stderr, "pkb: %lld of %lld cells done, %lld records, %lld duplicates, %lld malformed\n", (long long)s.done,
                      (long long)s.cells, (long long)s.cell_records, (long long)s.duplicates, (long long)s.malformed);
        _exit(s.done + s.missing == s.cells && s.missing <= LATE ? 0 : 1);
    }
    return wait_for(pid, start, cost, err);
}

static int report(const char *run, const struct report_options *o, struct cost *cost, struct pkb_error *err)
{
    int64_t start = pkb_now_ns();
    pid_t pid = fork();
    if (pid == 0) {
        struct pkb_error inner;
        FILE *out = fopen("/dev/null", "we");
        if (!out || report_print(run, out, o, NULL, &inner) < 0)
            _exit(out ? die(&inner) : 1);
        _exit(0);
    }
    return wait_for(pid, start, cost, err);
}

static int python(const char *run, const char *script, const char *what, struct cost *cost, struct pkb_error *err)
{
    int64_t start = pkb_now_ns();
    pid_t pid = fork();
    if (pid == 0) {
        (void)execlp("python3", "python3", script, run, what, (char *)NULL);
        _exit(127);
    }
    return wait_for(pid, start, cost, err);
}

static void print_cost(const char *what, const struct cost *c)
{
    printf("%-34s %6.2f s (%.2f s of CPU), %.0f MB\n", what, c->seconds, c->cpu, c->megabytes);
    (void)fflush(stdout);
}

static int measure_merges(const char *run, const struct plan *p, const char *script, struct pkb_error *err)
{
    struct cost whole = {0}, late = {0}, peer = {0};
    if (make_run(run, p, err) < 0 || ours(run, p, &whole, err) < 0)
        return -1;
    printf("%zu cells\n", p->n_cells);
    print_cost("merge", &whole);
    if (python(run, script, "merge", &peer, err) < 0)
        return pkb_error_prefix(err, "python3 %s", script);
    print_cost("python3 json + sqlite3", &peer);
    if (write_late(run, p, err) < 0 || ours(run, p, &late, err) < 0)
        return -1;
    print_cost("merge of 1000 more records", &late);
    printf("RATIO merge_time %.3f seconds of pkb's merge / of the same aggregation in Python (%zu cells)\n",
           whole.seconds / peer.seconds, p->n_cells);
    printf("RATIO merge_memory %.3f peak memory of pkb's merge / of the same aggregation in Python\n",
           whole.megabytes / peer.megabytes);
    printf("RATIO merge_update %.4f seconds of merging 1000 more records / of a whole merge\n", late.seconds / whole.seconds);
    return 0;
}

static int measure_reports(const char *run, const char *script, struct pkb_error *err)
{
    static const struct {
        const char *name;
        struct report_options options;
    } formats[] = {
        {"report --format text", {.format = REPORT_TEXT}},         {"report --format json", {.format = REPORT_JSON}},
        {"report --format csv", {.format = REPORT_CSV}},           {"report --csv=cells", {.format = REPORT_CSV, .csv = "cells"}},
        {"report --format markdown", {.format = REPORT_MARKDOWN}}, {"report --format latex", {.format = REPORT_LATEX}},
        {"report --format html", {.format = REPORT_HTML}},
    };
    struct cost cost = {0}, text = {0}, peer = {0};
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (report(run, &formats[i].options, &cost, err) < 0)
            return pkb_error_prefix(err, "%s", formats[i].name);
        print_cost(formats[i].name, &cost);
        text = i == 0 ? cost : text;
    }
    if (python(run, script, "report", &peer, err) < 0)
        return pkb_error_prefix(err, "python3 %s", script);
    print_cost("python3 sqlite3, pass@k and fast@k", &peer);
    printf("RATIO report_time %.3f seconds of the text report / of pass@k and fast@k alone in Python\n",
           text.seconds / peer.seconds);
    return 0;
}

static bool has_module(const char *name)
{
    char command[128];
    (void)snprintf(command, sizeof(command), "python3 -c 'import %s' 2>/dev/null", name);
    int status = system(command);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The same counts straight from the files. Pass@k needs the plan, so this is less than a merge does. */
static int measure_frames(const char *run, const char *script, const struct plan *p, struct pkb_error *err)
{
    static const char *const modules[] = {"pandas", "duckdb"};
    struct cost us = {0}, peer = {0};
    char *path = pkb_format(err, "%s/results.db", run);
    if (!path)
        return -1;
    for (size_t i = 0; i < 2; i++) {
        if (!has_module(modules[i])) {
            printf("%s is not installed\n", modules[i]);
            continue;
        }
        (void)unlink(path);
        if (ours(run, p, &us, err) < 0)
            return -1;
        if (python(run, script, modules[i], &peer, err) < 0)
            return pkb_error_prefix(err, "python3 %s", script);
        print_cost(modules[i], &peer);
        printf("RATIO merge_%s %.3f seconds of pkb's merge / of outcomes per model by %s\n", modules[i],
               us.seconds / peer.seconds, modules[i]);
    }
    free(path);
    return 0;
}

static char *script_path(const char *name, struct pkb_error *err)
{
    const char *given = getenv("PKB_BENCH_PEERS");
    return given ? pkb_format(err, "%s/%s", given, name) : pkb_format(err, "%s/bench/%s", PKB_SOURCE_DIR, name);
}

static int measure(const char *run, const struct plan *p, struct pkb_error *err)
{
    char *naive = script_path("merge_naive.py", err), *frames = script_path("merge_frames.py", err);
    int rc = naive && frames ? measure_merges(run, p, naive, err) : -1;
    if (rc == 0)
        rc = measure_reports(run, naive, err);
    if (rc == 0)
        rc = measure_frames(run, frames, p, err);
    free(naive);
    free(frames);
    return rc;
}

int main(int argc, char **argv)
{
    static const int worlds[] = {1, 2, 4, 8};
    char run[] = "/tmp/pkb-bench-merge-XXXXXX";
    struct pkb_error err = {{0}};
    long records = argc > 1 ? strtol(argv[1], NULL, 10) : DEFAULT_RECORDS;
    int problems = 10, samples = (int)(records / (4L * problems * MODELS));
    if (samples < 10 || samples > 100000 || !mkdtemp(run)) {
        pkb_error_set(&err, "usage: bench_merge [RECORDS], at least %d", 40 * problems * MODELS);
        return die(&err);
    }
    struct plan *p = synthetic_plan(problems, 4, worlds, MODELS, samples);
    int rc = measure(run, p, &err);
    plan_destroy(p);
    (void)pkb_remove_tree(run, NULL);
    return rc < 0 ? die(&err) : 0;
}
