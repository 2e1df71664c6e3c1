/* SPDX-License-Identifier: Apache-2.0 */
/* pkb merge and pkb report on a run made up: time and memory, against the same work in Python (bench/merge_naive.py: json + sqlite3;
 * bench/merge_frames.py: pandas and DuckDB, where they are installed).
 *
 *     bench_merge [RECORDS]      default 200000; about one percent are retried, duplicated or malformed
 *
 * Measured: a whole merge, a merge after 1,000 more records were appended, and every format of report, as programs of their own. The
 * run is made in children: this process stays small, since what it holds would count as theirs. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orchestrator/exit.h"
#include "tests/support/synthetic_run.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/paths.h"

#define DEFAULT_RECORDS 200000
#define LEAST_RECORDS 10000
#define MOST_RECORDS 100000000
#define MODELS 20
#define WORLDS 4
#define LATE 1000 /* cells whose records come after the first merge */

struct cost {
    double seconds, cpu, megabytes;
};

struct paths {
    char *pkb, *naive, *frames, *database;
};

static int die(const struct pkb_error *err)
{
    (void)fprintf(stderr, "bench_merge: %s\n", err->text);
    return 1;
}

/* ---- the run --------------------------------------------------------------------------------------------------------- */

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

/* All records but the last, or the last. */
static int write_part(const char *run, const struct synthetic_shape *shape, bool late, struct pkb_error *err)
{
    struct synthetic_run *r = synthetic_run_create(run, shape, err);
    if (!r)
        return -1;
    size_t n = synthetic_run_plan(r)->n_cells, split = n - LATE;
    int rc = synthetic_run_write(r, late ? split : 0, late ? n : split, err);
    if (rc == 0 && !late)
        rc = write_cells(run, synthetic_run_plan(r), err);
    synthetic_run_destroy(r);
    return rc;
}

/* ---- measuring ------------------------------------------------------------------------------------------------------- */

/* `most`: the highest exit status that is fine. */
static int wait_for(pid_t pid, int64_t start, int most, struct cost *cost, struct pkb_error *err)
{
    struct rusage usage;
    int status = 0;
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
        return pkb_error_errno(err, "a measured process");
    if (!WIFEXITED(status) || WEXITSTATUS(status) > most)
        return pkb_error_set(err, "a measured process failed");
    cost->seconds = (double)(pkb_now_ns() - start) / 1e9;
    cost->cpu =
        (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    cost->megabytes = (double)usage.ru_maxrss / 1024;
    return 0;
}

static int make_part(const char *run, const struct synthetic_shape *shape, bool late, struct pkb_error *err)
{
    struct cost ignored;
    pid_t pid = fork();
    if (pid == 0) {
        struct pkb_error inner;
        _exit(write_part(run, shape, late, &inner) < 0 ? die(&inner) : 0);
    }
    return wait_for(pid, 0, 0, &ignored, err);
}

/* Cells without a result are no failure of pkb. */
static int ours(const char *const *argv, struct cost *cost, struct pkb_error *err)
{
    int64_t start = pkb_now_ns();
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stdout))
            _exit(127);
        (void)execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    return wait_for(pid, start, PKB_EXIT_INCOMPLETE, cost, err);
}

static int merge(const struct paths *p, const char *run, struct cost *cost, struct pkb_error *err)
{
    const char *argv[] = {p->pkb, "merge", run, NULL};
    return ours(argv, cost, err) < 0 ? pkb_error_prefix(err, "pkb merge") : 0;
}

static int python(const char *run, const char *script, const char *what, struct cost *cost, struct pkb_error *err)
{
    int64_t start = pkb_now_ns();
    pid_t pid = fork();
    if (pid == 0) {
        (void)execlp("python3", "python3", script, run, what, (char *)NULL);
        _exit(127);
    }
    return wait_for(pid, start, 0, cost, err) < 0 ? pkb_error_prefix(err, "python3 %s", script) : 0;
}

static void print_cost(const char *what, const struct cost *c)
{
    printf("%-34s %6.2f s (%.2f s of CPU), %.0f MB\n", what, c->seconds, c->cpu, c->megabytes);
}

static int measure_merges(const struct paths *p, const char *run, const struct synthetic_shape *shape, struct pkb_error *err)
{
    struct cost whole = {0}, late = {0}, peer = {0};
    if (make_part(run, shape, false, err) < 0 || merge(p, run, &whole, err) < 0)
        return -1;
    print_cost("merge", &whole);
    if (python(run, p->naive, "merge", &peer, err) < 0)
        return -1;
    print_cost("python3 json + sqlite3", &peer);
    if (make_part(run, shape, true, err) < 0 || merge(p, run, &late, err) < 0)
        return -1;
    print_cost("merge of 1000 more records", &late);
    printf("RATIO merge_time %.3f seconds of pkb's merge / of the same aggregation in Python\n", whole.seconds / peer.seconds);
    printf("RATIO merge_memory %.3f peak memory of pkb's merge / of the same aggregation in Python\n",
           whole.megabytes / peer.megabytes);
    printf("RATIO merge_update %.4f seconds of merging 1000 more records / of a whole merge\n", late.seconds / whole.seconds);
    return 0;
}

static int measure_reports(const struct paths *p, const char *run, struct pkb_error *err)
{
    static const char *const formats[] = {"--format=text",     "--format=json",  "--format=csv", "--csv=cells",
                                          "--format=markdown", "--format=latex", "--format=html"};
    struct cost cost = {0}, text = {0}, peer = {0};
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        const char *argv[] = {p->pkb, "report", formats[i], run, NULL};
        char what[64];
        (void)snprintf(what, sizeof(what), "report %s", formats[i]);
        if (ours(argv, &cost, err) < 0)
            return pkb_error_prefix(err, "%s", what);
        print_cost(what, &cost);
        text = i == 0 ? cost : text;
    }
    if (python(run, p->naive, "report", &peer, err) < 0)
        return -1;
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
static int measure_frames(const struct paths *p, const char *run, struct pkb_error *err)
{
    static const char *const modules[] = {"pandas", "duckdb"};
    struct cost us = {0}, peer = {0};
    for (size_t i = 0; i < 2; i++) {
        if (!has_module(modules[i])) {
            printf("%s is not installed\n", modules[i]);
            continue;
        }
        (void)unlink(p->database);
        if (merge(p, run, &us, err) < 0 || python(run, p->frames, modules[i], &peer, err) < 0)
            return -1;
        print_cost("merge", &us);
        print_cost(modules[i], &peer);
        printf("RATIO merge_%s %.3f seconds of pkb's merge / of outcomes per model by %s\n", modules[i],
               us.seconds / peer.seconds, modules[i]);
    }
    return 0;
}

static char *script_path(const char *name, struct pkb_error *err)
{
    const char *given = getenv("PKB_BENCH_PEERS");
    return given ? pkb_format(err, "%s/%s", given, name) : pkb_format(err, "%s/bench/%s", PKB_SOURCE_DIR, name);
}

static int measure(const char *run, const struct synthetic_shape *shape, struct pkb_error *err)
{
    struct paths p = {.pkb = pkb_path(PKB_PATH_BIN, "pkb", err),
                      .naive = script_path("merge_naive.py", err),
                      .frames = script_path("merge_frames.py", err),
                      .database = pkb_format(err, "%s/results.db", run)};
    int rc = p.pkb && p.naive && p.frames && p.database ? measure_merges(&p, run, shape, err) : -1;
    if (rc == 0)
        rc = measure_reports(&p, run, err);
    if (rc == 0)
        rc = measure_frames(&p, run, err);
    free(p.pkb);
    free(p.naive);
    free(p.frames);
    free(p.database);
    return rc;
}

static struct synthetic_shape shape_for(long records)
{
    int problems = 0;
    while (problem_registry[problems])
        problems++;
    long samples = records / ((long)WORLDS * problems * MODELS);
    return (struct synthetic_shape){.models = MODELS, .problems = problems, .samples = samples > 0 ? (int)samples : 1};
}

int main(int argc, char **argv)
{
    char run[] = "/tmp/pkb-bench-merge-XXXXXX";
    struct pkb_error err = {{0}};
    long records = argc > 1 ? strtol(argv[1], NULL, 10) : DEFAULT_RECORDS;
    if (records < LEAST_RECORDS || records > MOST_RECORDS || !mkdtemp(run)) {
        pkb_error_set(&err, "usage: bench_merge [RECORDS], at least %d", LEAST_RECORDS);
        return die(&err);
    }
    struct synthetic_shape shape = shape_for(records);
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* children shall not print it again */
    printf("%ld cells\n", (long)WORLDS * shape.problems * shape.models * shape.samples);
    int rc = measure(run, &shape, &err);
    (void)pkb_remove_tree(run, NULL);
    return rc < 0 ? die(&err) : 0;
}
