/* SPDX-License-Identifier: Apache-2.0 */
/* Planning a sweep of a million cells: time and memory, against the same expansion in Python (bench/plan_naive.py).
 *
 *     bench_plan [MODELS]      default 40: 40 x 14 x 10 candidates, more than a million cells
 *
 * Every variant runs three times, each time in a process of its own; the median counts. */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sweeps/plan.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"

#define DEFAULT_MODELS 40
#define SAMPLES 10
#define SHAPES 20
#define REPEAT 3
#define LIMIT_SECONDS 2.0
#define LIMIT_MEGABYTES 200.0

struct cost {
    double seconds, cpu, megabytes;
};

struct bench {
    char folder[64];
    int models;
};

enum variant { PLAIN, WHERE, DIGESTS, VARIANTS };

static const char *const titles[VARIANTS] = {"plan and save", "with `where` called for every cell", "with every cell's digest"};

/* ---- the store and the sweeps -------------------------------------------------------------------------------------- */

static int write_candidates(const struct bench *b, int model, const struct problem *p, struct pkb_error *err)
{
    char path[512], text[256];
    (void)snprintf(path, sizeof(path), "%s/store/model-%03d/%s", b->folder, model, p->name);
    if (pkb_mkdirs(path, err) < 0)
        return -1;
    for (int s = 1; s <= SAMPLES; s++) {
        (void)snprintf(path, sizeof(path), "%s/store/model-%03d/%s/%d.c", b->folder, model, p->name, s);
        int n = snprintf(text, sizeof(text), "/* %s, model %d, sample %d */\nint pkb_solution_%d;\n", p->name, model, s, s);
        FILE *f = fopen(path, "we");
        if (!f || fwrite(text, 1, (size_t)n, f) != (size_t)n || fclose(f) != 0)
            return pkb_error_errno(err, "%s", path);
    }
    return 0;
}

static int write_store(const struct bench *b, struct pkb_error *err)
{
    for (int m = 0; m < b->models; m++) {
        for (const struct problem *const *p = problem_registry; *p; p++) {
            if (write_candidates(b, m, *p, err) < 0)
                return -1;
        }
    }
    return 0;
}

static int write_sweep(const struct bench *b, const char *name, const char *where, struct pkb_error *err)
{
    char path[128];
    char *text = pkb_format(err,
                            "local shapes = {}\n"
                            "for i = 1, %d do shapes[i] = { name = 'shape-' .. i, M = 256 * i } end\n"
                            "return sweep {\n"
                            "  candidates = 'store', problems = problems.all, samples = %d, gpus = { 1, 2, 4, 8 },\n"
                            "  dtypes = { 'bf16', 'f16', 'f32' }, shapes = shapes, %s\n"
                            "}\n",
                            SHAPES, SAMPLES, where);
    if (!text)
        return -1;
    (void)snprintf(path, sizeof(path), "%s/%s.lua", b->folder, name);
    int rc = pkb_file_write(path, text, strlen(text), err);
    free(text);
    return rc;
}

/* ---- our side ------------------------------------------------------------------------------------------------------ */

static int all_digests(const struct plan *p, struct pkb_error *err)
{
    char hex[PKB_DIGEST_HEX];
    struct pkb_digest *d = pkb_digest_create(err);
    int rc = d ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < p->n_cells; i++)
        rc = plan_cell_digest(p, &p->cells[i], d, hex, err);
    pkb_digest_destroy(d);
    return rc;
}

static int plan_once(const struct bench *b, enum variant v, struct pkb_error *err)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s.lua", b->folder, v == WHERE ? "where" : "plain");
    struct sweep *s = sweep_load(path, err);
    struct plan *p = s ? plan_make(s, 0, NULL, err) : NULL;
    int rc = p ? plan_save(p, b->folder, err) : -1;
    if (rc == 0 && v == DIGESTS)
        rc = all_digests(p, err);
    if (rc == 0 && p->n_cells < (size_t)b->models * 25000)
        rc = pkb_error_set(err, "%zu cells are too few", p->n_cells);
    plan_destroy(p);
    sweep_destroy(s);
    return rc;
}

/* Waits for a measured process that began at `start`. */
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

static int ours(const struct bench *b, enum variant v, struct cost *cost, struct pkb_error *err)
{
    int64_t start = pkb_now_ns();
    pid_t pid = fork();
    if (pid == 0) {
        struct pkb_error inner;
        if (plan_once(b, v, &inner) == 0)
            _exit(0);
        (void)fprintf(stderr, "bench_plan: %s\n", inner.text);
        _exit(1);
    }
    return wait_for(pid, start, cost, err);
}

/* ---- the peer ------------------------------------------------------------------------------------------------------ */

static json_t *spec_of(const struct sweep *s, const struct plan *p)
{
    json_t *problems = json_array(), *models = json_array(), *samples = json_array(), *settings = json_array();
    for (int i = 0; i < s->n_problems; i++)
        (void)json_array_append_new(problems, json_string(s->problems[i]->name));
    for (int i = 0; i < s->n_models; i++)
        (void)json_array_append_new(models, json_string(s->models[i]));
    for (int i = 0; i < s->n_samples; i++)
        (void)json_array_append_new(samples, json_integer(s->samples[i]));
    for (size_t i = 0; i < p->n_settings; i++)
        (void)json_array_append_new(settings, plan_setting_encode(&p->settings[i]));
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "store", s->candidates, "problems", problems, "models", models, "samples",
                     samples, "settings", settings);
}

/* The settings are given to the peer ready-made: it need not know shapes and constraints. */
static int write_spec(const struct bench *b, const char *path, size_t *cells, struct pkb_error *err)
{
    char sweep[128];
    (void)snprintf(sweep, sizeof(sweep), "%s/plain.lua", b->folder);
    struct sweep *s = sweep_load(sweep, err);
    struct plan *p = s ? plan_make(s, 0, NULL, err) : NULL;
    json_t *spec = p ? spec_of(s, p) : NULL;
    int rc = spec ? pkb_json_write(path, spec, false, err) : -1;
    if (p)
        *cells = p->n_cells;
    json_decref(spec);
    plan_destroy(p);
    sweep_destroy(s);
    return rc;
}

static int naive(const struct bench *b, const char *script, const char *spec, struct cost *cost, struct pkb_error *err)
{
    char out[128];
    (void)snprintf(out, sizeof(out), "%s/cells.jsonl", b->folder);
    int64_t start = pkb_now_ns();
    pid_t pid = fork();
    if (pid == 0) {
        (void)execlp("python3", "python3", script, spec, out, (char *)NULL);
        _exit(127);
    }
    return wait_for(pid, start, cost, err);
}

/* ---- measuring ----------------------------------------------------------------------------------------------------- */

static int compare_costs(const void *a, const void *b)
{
    double x = ((const struct cost *)a)->seconds, y = ((const struct cost *)b)->seconds;
    return x < y ? -1 : x > y;
}

static const char *reached(bool yes)
{
    return yes ? "reached" : "NOT reached";
}

static int measure_variant(const struct bench *b, enum variant v, struct cost *median, struct pkb_error *err)
{
    struct cost costs[REPEAT];
    for (int i = 0; i < REPEAT; i++) {
        if (ours(b, v, &costs[i], err) < 0)
            return -1;
    }
    qsort(costs, REPEAT, sizeof(costs[0]), compare_costs);
    *median = costs[REPEAT / 2];
    printf("%s: %.2f s (limit %g s: %s; processor time %.2f s), %.0f MB (limit %g MB: %s)\n", titles[v], median->seconds,
           LIMIT_SECONDS, reached(median->seconds < LIMIT_SECONDS), median->cpu, median->megabytes, LIMIT_MEGABYTES,
           reached(median->megabytes < LIMIT_MEGABYTES));
    return 0;
}

static int measure(const struct bench *b, const char *script, struct pkb_error *err)
{
    struct cost costs[VARIANTS], peer = {0};
    char spec[128];
    size_t cells = 0;
    (void)snprintf(spec, sizeof(spec), "%s/spec.json", b->folder);
    if (write_store(b, err) < 0 || write_sweep(b, "plain", "", err) < 0 ||
        write_sweep(b, "where", "where = function(c) return c.world < 16 and c.family ~= 'none' and c.sample > 0 end", err) < 0)
        return -1;
    for (enum variant v = PLAIN; v < VARIANTS; v++) {
        if (measure_variant(b, v, &costs[v], err) < 0)
            return -1;
    }
    if (write_spec(b, spec, &cells, err) < 0 || naive(b, script, spec, &peer, err) < 0)
        return pkb_error_prefix(err, "python3 %s", script);
    printf("python3, nested loops: %.2f s (processor time %.2f s), %.0f MB\n", peer.seconds, peer.cpu, peer.megabytes);
    printf("RATIO plan_1M_time %.4f seconds of pkb's plan and save / of nested loops in Python (%zu cells)\n",
           costs[PLAIN].seconds / peer.seconds, cells);
    printf("RATIO plan_1M_where_time %.4f the same with a Lua function called for every cell\n",
           costs[WHERE].seconds / peer.seconds);
    printf("RATIO plan_1M_digests_time %.4f the same with the digest of every cell, which the peer makes too\n",
           costs[DIGESTS].seconds / peer.seconds);
    printf("RATIO plan_1M_memory %.3f peak memory of pkb's plan and save / of nested loops in Python that keep no cell\n",
           costs[PLAIN].megabytes / peer.megabytes);
    return 0;
}

static char *script_path(struct pkb_error *err)
{
    const char *given = getenv("PKB_BENCH_PEERS");
    return given ? pkb_format(err, "%s/plan_naive.py", given) : pkb_format(err, "%s/bench/plan_naive.py", PKB_SOURCE_DIR);
}

int main(int argc, char **argv)
{
    struct bench b = {.folder = "/tmp/pkb-bench-plan-XXXXXX", .models = argc > 1 ? atoi(argv[1]) : DEFAULT_MODELS};
    struct pkb_error err = {{0}}, ignored;
    if (b.models < 1 || b.models > 999 || !mkdtemp(b.folder)) {
        (void)fprintf(stderr, "usage: bench_plan [MODELS]\n");
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    char *script = script_path(&err);
    int rc = script ? measure(&b, script, &err) : -1;
    if (rc < 0)
        (void)fprintf(stderr, "bench_plan: %s\n", err.text);
    (void)pkb_remove_tree(b.folder, &ignored);
    free(script);
    return rc < 0 ? 1 : 0;
}
