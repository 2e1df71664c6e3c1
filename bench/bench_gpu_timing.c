/* SPDX-License-Identifier: Apache-2.0 */
/* On a GPU, one rank, shape paper, bf16, 500 warm-up and 100 timed iterations:
 *
 *  - what a cell of problem 13 takes from `pkb eval` to the verdict with a warm build cache, and where that time goes;
 *  - what the timed loop adds to what it measures: the same compiled candidate in a bare loop of this program, with a pair of events
 *    around each call and as many buffers in turn, which are refilled outside the intervals as pkb does (what a call meets in the
 *    caches is part of the conditions), and, for comparison, without that. Candidates without a barrier, so that both do the same.
 *
 * The bare loop comes last: until then this process has no context on the GPU, which would count as somebody else's. */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <glob.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PKB_NO_EXPORTS
#include <pkb/candidate.h>

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
#define MOST_TENSORS 3
#define SOURCES 3 /* sets of inputs that buffers are refilled from */

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

/* A problem, a candidate without a barrier in its solution, and its tensors in the shape paper. */
static const struct subject {
    const char *problem, *candidate;
    int n_in;
    int64_t shape[MOST_TENSORS][2]; /* inputs, then the output; a vector has 0 in the second place */
} subjects[] = {
    {"13", "examples/candidates/careless/13_gemm_allreduce/1.cu", 2, {{1024, 512}, {512, 1024}, {1024, 1024}}},
    {"18", "examples/candidates/careless/18_tp_rms_norm/2.cu", 2, {{1024, 1024}, {1024, 0}, {1024, 1024}}},
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

static void need(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    (void)pkb_error_set(&error, "%s", cudaGetErrorString(status));
    die(what);
}

static int no_barrier(const pkb_context *ctx)
{
    (void)ctx;
    return 0;
}

static int local_memory(const pkb_context *ctx, size_t bytes, pkb_symm *symm)
{
    static void *peers[1];
    (void)ctx;
    if (cudaMalloc(&symm->local, bytes) != cudaSuccess)
        return -1;
    peers[0] = symm->local;
    symm->size = bytes;
    symm->peers = peers;
    symm->multicast = NULL;
    return 0;
}

struct bare {
    int (*setup)(const pkb_context *, const pkb_tensor *, const pkb_tensor *);
    int (*solution)(const pkb_context *, const pkb_tensor *, pkb_tensor *);
    bool refill;
    int n_frames;
    pkb_tensor (*frames)[MOST_TENSORS];
    pkb_context context;
    cudaEvent_t events[2 * TIMED];
};

static void load(struct bare *b, const char *cache)
{
    char *pattern = text_of("%s/*/object.so", cache);
    glob_t paths;
    if (glob(pattern, 0, NULL, &paths) != 0)
        die("no compiled candidate");
    void *object = dlopen(paths.gl_pathv[0], RTLD_NOW | RTLD_LOCAL), *setup, *solution;
    if (!object) {
        (void)pkb_error_set(&error, "%s", dlerror());
        die("loading a candidate");
    }
    setup = dlsym(object, "pkb_setup");
    solution = dlsym(object, "pkb_solution");
    memcpy(&b->setup, &setup, sizeof(setup));
    memcpy(&b->solution, &solution, sizeof(solution));
    globfree(&paths);
    free(pattern);
}

/* A tensor of small bf16 numbers. */
static pkb_tensor make_tensor(const int64_t shape[2], unsigned seed)
{
    pkb_tensor t = {.dtype = PKB_BF16, .ndim = shape[1] ? 2 : 1, .shape = {shape[0], shape[1]}};
    size_t n = (size_t)shape[0] * (size_t)(shape[1] ? shape[1] : 1);
    uint16_t *host = malloc(n * sizeof(*host));
    if (!host)
        die("no memory");
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        host[i] = (uint16_t)((seed >> 16 & 0x8000) | 0x3e00 | (seed >> 20 & 0x1ff)); /* +-0.125 to 0.5 */
    }
    need(cudaMalloc(&t.data, n * sizeof(*host)), "memory");
    need(cudaMemcpy(t.data, host, n * sizeof(*host), cudaMemcpyHostToDevice), "upload");
    free(host);
    return t;
}

static void make_frames(struct bare *b, const struct subject *s)
{
    int cache = 0;
    size_t bytes = 0;
    need(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, 0), "L2");
    for (int k = 0; k <= s->n_in; k++)
        bytes += 2 * (size_t)s->shape[k][0] * (size_t)(s->shape[k][1] ? s->shape[k][1] : 1);
    b->n_frames = (int)(3 * (size_t)cache / bytes) + 2;
    b->frames = calloc((size_t)b->n_frames + SOURCES, sizeof(*b->frames));
    if (!b->frames)
        die("no memory");
    for (int f = 0; f < b->n_frames + SOURCES; f++)
        for (int k = 0; k <= s->n_in; k++)
            b->frames[f][k] = make_tensor(s->shape[k], (unsigned)(7 * f + k));
}

static void call(struct bare *b, const struct subject *s, int iteration)
{
    pkb_tensor *t = b->frames[iteration % b->n_frames];
    if (b->solution(&b->context, t, t + s->n_in) != 0)
        die("the solution");
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* New inputs and other outputs than the result, in the order of the stream. */
static void refill(const struct bare *b, const struct subject *s, int iteration)
{
    const pkb_tensor *to = b->frames[iteration % b->n_frames], *from = b->frames[b->n_frames + iteration % SOURCES];
    for (int k = 0; b->refill && k <= s->n_in; k++) {
        size_t bytes = 2 * (size_t)s->shape[k][0] * (size_t)(s->shape[k][1] ? s->shape[k][1] : 1);
        if (k < s->n_in)
            need(cudaMemcpyAsync(to[k].data, from[k].data, bytes, cudaMemcpyDeviceToDevice, b->context.stream), "copy");
        else
            need(cudaMemsetAsync(to[k].data, 0xff, bytes, b->context.stream), "fill");
    }
}

/* Median nanoseconds of a call. */
static double bare_loop(const struct subject *s, const char *cache, bool refilled)
{
    struct bare b = {
        .context = {.abi_version = PKB_ABI_VERSION, .size = sizeof(pkb_context), .world = 1, .local_world = 1, .nodes = 1}};
    cudaStream_t stream;
    double ns[TIMED];
    need(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    b.context.stream = stream;
    b.context.barrier = no_barrier;
    b.context.symm_alloc = local_memory;
    load(&b, cache);
    make_frames(&b, s);
    for (int i = 0; i < 2 * TIMED; i++)
        need(cudaEventCreate(&b.events[i]), "events");
    if (b.setup && b.setup(&b.context, b.frames[0], b.frames[0] + s->n_in) != 0)
        die("pkb_setup");
    b.refill = refilled;
    for (int i = 0; i < WARMUP; i++) {
        call(&b, s, i);
        refill(&b, s, i);
    }
    need(cudaDeviceSynchronize(), "warm-up");
    for (int i = 0; i < TIMED; i++) {
        need(cudaEventRecord(b.events[2 * i], stream), "event");
        call(&b, s, i);
        need(cudaEventRecord(b.events[2 * i + 1], stream), "event");
        refill(&b, s, i);
    }
    need(cudaDeviceSynchronize(), "loop");
    for (int i = 0; i < TIMED; i++) {
        float ms = 0;
        need(cudaEventElapsedTime(&ms, b.events[2 * i], b.events[2 * i + 1]), "events");
        ns[i] = ms * 1e6;
    }
    free(b.frames);
    return median(ns, TIMED);
}

/* ---- all of it --------------------------------------------------------------------------------------------------------- */

int main(void)
{
    char dir[] = "/tmp/pkb-bench-gpu.XXXXXX";
    double ours[N_SUBJECTS];
    int missed = 0;
    if (!mkdtemp(dir))
        die("mkdtemp");
    double wall = measure_wall(dir);
    for (size_t i = 0; i < N_SUBJECTS; i++) {
        char *cache = text_of("%s/cache-%zu", dir, i), *run = text_of("%s/run-%zu", dir, i);
        (void)evaluate(subjects[i].problem, subjects[i].candidate, cache, run);
        struct found f = read_records(run);
        ours[i] = f.time.median;
        json_decref(f.cell);
        json_decref(f.baseline);
        free(cache);
        free(run);
    }
    for (size_t i = 0; i < N_SUBJECTS; i++) {
        char *cache = text_of("%s/cache-%zu", dir, i);
        double bare = bare_loop(&subjects[i], cache, true), ratio = ours[i] / bare;
        double still = bare_loop(&subjects[i], cache, false);
        missed += fabs(ratio - 1) > OVERHEAD_TARGET;
        (void)printf(
            "RATIO gpu_timing_%s %.4f median of a call in the timed loop, %.2f us, against a bare event loop, %.2f us (%.2f us "
            "without refilling)\n",
            subjects[i].problem, ratio, ours[i] / 1e3, bare / 1e3, still / 1e3);
        free(cache);
    }
    (void)printf("RATIO gpu_cell_wall %.3f seconds of one cell of problem 13, %.3f, against the %.0f that it may take\n",
                 wall / WALL_TARGET, wall, WALL_TARGET);
    if (pkb_remove_tree(dir, &error) != 0)
        die("cleaning up");
    return missed > 0 || wall > WALL_TARGET;
}
