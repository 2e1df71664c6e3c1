/* SPDX-License-Identifier: Apache-2.0 */
/* On a GPU, one rank, shape paper, bf16, 500 warm-up and 100 timed iterations:
 *
 *  - what a cell of problem 13 takes from `pkb eval` to the verdict with a warm build cache, and where that time goes;
 *  - what the timed loop adds to what it measures: the same compiled candidate in a bare loop (bench/bare_loop.h) under the same
 *    conditions, and under others, which show what the conditions are worth. The median of three rounds each.
 */
#include <glob.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bare_loop.h"
#include "results/record.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/paths.h"
#include "util/process.h"

#define WARMUP 500
#define TIMED 100
#define LIMIT_MS 120000
#define WALL_TARGET 3.0
#define OVERHEAD_TARGET 0.01
#define ROUNDS 3

static struct pkb_error error;

static void die(const char *what)
{
    (void)fprintf(stderr, "bench_gpu_timing: %s: %s\n", what, error.text);
    exit(1);
}

static char *text_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *text_of(const char *fmt, ...)
{
    char *text;
    va_list args;
    va_start(args, fmt);
    int n = vasprintf(&text, fmt, args);
    va_end(args);
    if (n < 0)
        die("no memory");
    return text;
}

/* ---- through pkb ------------------------------------------------------------------------------------------------------- */

/* A problem, a candidate that is correct on one rank, and its tensors in the shape paper. */
static const struct subject {
    const char *problem, *candidate;
    struct bare_tensors tensors;
} subjects[] = {
    {"13", "examples/candidates/careless/13_gemm_allreduce/1.cu", {2, {{1024, 512}, {512, 1024}, {1024, 1024}}}},
    {"18", "examples/candidates/careless/18_tp_rms_norm/2.cu", {2, {{1024, 1024}, {1024, 0}, {1024, 1024}}}},
    {"1", "examples/candidates/direct/01_allreduce/1.cu", {1, {{1024, 1024}, {1024, 1024}}}},
};
#define N_SUBJECTS (sizeof(subjects) / sizeof(subjects[0]))

/* Runs one cell; the run directory is `keep`. Returns the seconds that it took. */
static double evaluate(const char *problem, const char *candidate, const char *cache, const char *keep)
{
    char *pkb = pkb_path(PKB_PATH_BIN, "pkb", &error), *source = pkb_path(PKB_PATH_SHARE, candidate, &error);
    const char *argv[] = {
        pkb,     "eval",     "-p",  problem,        "-c",  source,     "--device", "cuda",          "-g",  "1",      "--shape",
        "paper", "--warmup", "500", "--iterations", "100", "--trials", "5",        "--build-cache", cache, "--keep", keep,
        NULL};
    struct process_spec spec = {.argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = STDERR_FILENO};
    int status;
    int64_t began = pkb_now_ns();
    if (!pkb || !source || process_run(&spec, LIMIT_MS, &status, &error) != 0)
        die("pkb eval");
    if (status != 0) {
        (void)pkb_error_set(&error, "%s is not correct", candidate);
        die("pkb eval");
    }
    free(pkb);
    free(source);
    return (double)(pkb_now_ns() - began) / 1e9;
}

struct found {
    struct record_times time;
    json_t *cell, *baseline; /* the lines */
};

static int visit(void *arg, int64_t line, json_t *value, const char *reason)
{
    struct found *f = arg;
    struct record r;
    const char *kind = value ? json_string_value(json_object_get(value, "kind")) : reason;
    (void)line;
    if (kind && strcmp(kind, "cell") == 0 && record_decode(value, &r, &error) == 0) {
        f->time = r.time;
        f->cell = json_incref(value);
        record_clear(&r);
    } else if (kind && strcmp(kind, "baseline") == 0) {
        f->baseline = json_incref(value);
    }
    return 0;
}

static struct found read_records(const char *run)
{
    struct found f = {.cell = NULL};
    char *path = text_of("%s/records/shard-000000.001.jsonl", run);
    if (record_file_read(path, visit, &f, &error) < 0 || !f.cell || !f.baseline)
        die("records");
    free(path);
    return f;
}

/* Numbers of an object as "name 0.123  name 0.456". */
static void print_seconds(const char *what, const json_t *object)
{
    const char *key;
    json_t *value;
    (void)printf("    %-22s", what);
    json_object_foreach((json_t *)object, key, value)(void) printf(" %s %.3f", key, json_number_value(value));
    (void)printf("\n");
}

static const json_t *member(const json_t *line, const char *key)
{
    return json_object_get(json_object_get(line, "more"), key);
}

/* Seconds of one cell with everything compiled. */
static double measure_wall(const char *dir)
{
    static const char candidate[] = "examples/candidates/direct/13_gemm_allreduce/1.cu";
    char *cache = text_of("%s/wall-cache", dir), *first = text_of("%s/wall-1", dir), *second = text_of("%s/wall-2", dir);
    double cold = evaluate("13", candidate, cache, first), wall = evaluate("13", candidate, cache, second);
    struct found f = read_records(second);
    (void)printf("problem 13, 1 rank, paper, bf16, 5 trials, %d+%d iterations: %.3f s (%.3f s with compilation)\n", WARMUP, TIMED,
                 wall, cold);
    print_seconds("cell", member(f.cell, "phases"));
    print_seconds("candidate's start", json_array_get(member(f.cell, "start"), 0));
    print_seconds("reference", member(f.baseline, "phases"));
    print_seconds("reference's start", json_array_get(member(f.baseline, "start"), 0));
    json_decref(f.cell);
    json_decref(f.baseline);
    free(cache);
    free(first);
    free(second);
    return wall;
}

/* ---- without pkb ------------------------------------------------------------------------------------------------------- */

/* The first is the peer: what surrounds the calls is as in pkb's loop. The others show what it is worth. */
static const struct bare_conditions conditions[] = {
    {"the same buffers, fills and barrier", false, true, true},
    {"without the barrier before each call", false, true, false},
    {"an allocation for each tensor", true, true, true},
    {"without fills: the last inputs and outputs stay", false, false, true},
};
#define N_CONDITIONS (sizeof(conditions) / sizeof(conditions[0]))

static char *object_in(const char *cache)
{
    char *pattern = text_of("%s/*/object.so", cache);
    glob_t paths;
    if (glob(pattern, 0, NULL, &paths) != 0)
        die("no compiled candidate");
    char *path = text_of("%s", paths.gl_pathv[0]);
    globfree(&paths);
    free(pattern);
    return path;
}

/* Median nanoseconds of a call, in a process of its own: this one must not have a context on the GPU while pkb measures. */
static double bare(const struct subject *s, const struct bare_conditions *c, const char *cache)
{
    double *ns = mmap(NULL, sizeof(*ns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *object = object_in(cache);
    int status = -1;
    if (ns == MAP_FAILED)
        die("mmap");
    pid_t pid = fork();
    if (pid == 0) {
        if (bare_loop(object, &s->tensors, c, WARMUP, TIMED, ns, &error) < 0)
            die(c->what);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        die("a bare loop failed");
    double median_ns = *ns;
    (void)munmap(ns, sizeof(*ns));
    free(object);
    return median_ns;
}

/* ---- all of it --------------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(double values[ROUNDS])
{
    qsort(values, ROUNDS, sizeof(*values), by_value);
    return values[ROUNDS / 2];
}

/* Nanoseconds of a call in pkb's loop. */
static double through_pkb(const struct subject *s, const char *cache, const char *run)
{
    (void)evaluate(s->problem, s->candidate, cache, run);
    struct found f = read_records(run);
    json_decref(f.cell);
    json_decref(f.baseline);
    return f.time.median;
}

/* pkb's loop and the bare ones in turn, so that a drift of the GPU's clocks meets all alike. Returns how far from 1 the ratio is. */
static double compare(const struct subject *s, const char *dir)
{
    double ours[ROUNDS], bares[N_CONDITIONS][ROUNDS];
    char *cache = text_of("%s/cache-%s", dir, s->problem);
    for (int i = 0; i < ROUNDS; i++) {
        char *run = text_of("%s/run-%s-%d", dir, s->problem, i);
        ours[i] = through_pkb(s, cache, run);
        for (size_t c = 0; c < N_CONDITIONS; c++)
            bares[c][i] = bare(s, &conditions[c], cache);
        free(run);
    }
    double time = middle(ours), ratio = time / middle(bares[0]);
    (void)printf(
        "RATIO gpu_timing_%s %.4f median of a call in the timed loop, %.2f us (of %d: %.2f to %.2f), against a bare loop\n",
        s->problem, ratio, time / 1e3, ROUNDS, ours[0] / 1e3, ours[ROUNDS - 1] / 1e3);
    for (size_t c = 0; c < N_CONDITIONS; c++)
        (void)printf("    bare loop, %-48s %8.2f us (%.2f to %.2f)\n", conditions[c].what, middle(bares[c]) / 1e3,
                     bares[c][0] / 1e3, bares[c][ROUNDS - 1] / 1e3);
    free(cache);
    return fabs(ratio - 1);
}

int main(void)
{
    char dir[] = "/tmp/pkb-bench-gpu.XXXXXX";
    int missed = 0;
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* children shall not print it again */
    if (!mkdtemp(dir))
        die("mkdtemp");
    double wall = measure_wall(dir);
    for (size_t i = 0; i < N_SUBJECTS; i++)
        missed += compare(&subjects[i], dir) > OVERHEAD_TARGET;
    (void)printf("RATIO gpu_cell_wall %.3f seconds of one cell of problem 13, %.3f, against the %.0f that it may take\n",
                 wall / WALL_TARGET, wall, WALL_TARGET);
    if (pkb_remove_tree(dir, &error) != 0)
        die("cleaning up");
    return missed > 0 || wall > WALL_TARGET;
}
