/* SPDX-License-Identifier: Apache-2.0 */
/* What a cell costs beyond the time inside the solution: 4 ranks, tiny shape, warm build cache.
 *
 * Runs a sweep of one setting with CELLS different copies of a correct candidate through `pkb run`, once to fill the build cache and
 * once to measure. The clock is outside: when each record's line appears in the record file. A cell costs the time from the line
 * before to its own, less its timed iterations. The reference runs of the setting are before the first line and not counted.
 *
 * Peer, in the same run: a script that is relaunched for every trial, reference and candidate, by `mpirun -n 4` where there is
 * one, else by pkb-launch-local. It starts no reference library and compares nothing, so it is a lower bound. */
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results/record.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/paths.h"
#include "util/process.h"

#define CELLS 40
#define RANKS "4"
#define LAUNCHES 10 /* per cell: reference and candidate, five trials each */
#define PEERS 5     /* cells of the peer */
#define TARGET_MS 150.0
#define LIMIT_MS 300000

static struct pkb_error error;

static void die(const char *what)
{
    (void)fprintf(stderr, "bench_cell: %s: %s\n", what, error.text);
    exit(1);
}

/* A formatted string. The caller frees. */
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

/* A store with one model per copy, which differ in their first line. */
static void write_store(const char *dir, const char *source)
{
    char *text;
    size_t size;
    if (pkb_file_read(source, 1 << 20, &text, &size, &error) != 0)
        die("the candidate");
    for (long i = 0; i < CELLS; i++) {
        char *folder = text_of("%s/store/copy%02ld/01_allreduce", dir, i), *file = text_of("%s/1.c", folder);
        char *copy = text_of("/* Copy %ld. */\n%s", i, text);
        if (pkb_mkdirs(folder, &error) != 0 || pkb_file_write(file, copy, strlen(copy), &error) != 0)
            die("the store");
        free(copy);
        free(file);
        free(folder);
    }
    free(text);
}

static char *write_sweep(const char *dir)
{
    static const char text[] = "return sweep { name = \"bench\", candidates = \"store\", problems = { \"01_allreduce\" },\n"
                               "  models = models.all, samples = 1, gpus = { " RANKS " }, dtypes = { \"bf16\" },\n"
                               "  shapes = { \"tiny\" }, trials = 5, iterations = { warmup = 5, timed = 20 } }\n";
    char *path = text_of("%s/bench.lua", dir);
    if (pkb_file_write(path, text, strlen(text), &error) != 0)
        die("the sweep");
    return path;
}

/* Complete lines of the first record file that are records of cells; their arrival goes to times. */
struct watch {
    char *path;
    long lines;
    int64_t times[2 * CELLS];
};

static void watch_records(struct watch *w)
{
    static char data[1 << 22];
    int fd = open(w->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t size = read(fd, data, sizeof(data));
    (void)close(fd);
    long lines = 0;
    for (ssize_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    for (; w->lines < lines && w->lines < 2 * CELLS; w->lines++)
        w->times[w->lines] = pkb_now_ns();
}

static void run_sweep(const char *dir, const char *sweep, const char *run, struct watch *w)
{
    char *pkb = pkb_path(PKB_PATH_BIN, "pkb", &error), *cache = text_of("%s/cache", dir);
    const char *argv[] = {pkb, "run", sweep, "--launcher=local", "--run", run, "--build-cache", cache, "--quiet", "--json", NULL};
    struct process_spec spec = {.argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = STDERR_FILENO};
    struct process p;
    int status, done;
    if (!pkb || process_spawn(&spec, &p, &error) != 0)
        die("pkb run");
    int64_t began = pkb_now_ns();
    while ((done = process_wait(&p, 1, &status, &error)) == 0) {
        watch_records(w);
        if (pkb_now_ns() - began > LIMIT_MS * INT64_C(1000000)) {
            process_kill(&p);
            (void)pkb_error_set(&error, "took longer than %d s", LIMIT_MS / 1000);
            die("pkb run");
        }
    }
    watch_records(w);
    if (done < 0 || status != 0)
        die("pkb run failed");
    free(cache);
    free(pkb);
}

/* Visits records; keeps what the timed iterations took, or -1 for lines that are not records of cells. */
struct inside {
    int n;
    double ns[2 * CELLS];
};

static int visit(void *arg, int64_t line, json_t *value, const char *reason)
{
    struct inside *in = arg;
    struct record r;
    const char *kind = value ? json_string_value(json_object_get(value, "kind")) : reason;
    (void)line;
    if (in->n == 2 * CELLS)
        return 1;
    in->ns[in->n] = -1;
    if (kind && strcmp(kind, "cell") == 0) {
        if (record_decode(value, &r, &error) != 0)
            die("a record");
        if (r.outcome != OUTCOME_CORRECT) {
            (void)pkb_error_set(&error, "%s: %s", outcome_name(r.outcome), r.detail);
            die("a cell");
        }
        in->ns[in->n] = r.time.mean * r.time.iterations;
        record_clear(&r);
    }
    in->n++;
    return 0;
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

/* Milliseconds, one per cell but the first; returns how many. */
static int overheads(const struct watch *w, const struct inside *in, double *ms)
{
    int n = 0;
    for (int i = 1; i < in->n && i < w->lines; i++)
        if (in->ns[i] >= 0 && in->ns[i - 1] >= 0)
            ms[n++] = ((double)(w->times[i] - w->times[i - 1]) - in->ns[i]) / 1e6;
    return n;
}

/* Where a program of this name is on PATH. The caller frees; NULL: nowhere. */
static char *find_program(const char *name)
{
    const char *path = getenv("PATH");
    for (const char *p = path ? path : ""; *p; p += strcspn(p, ":"), p += *p == ':') {
        char *file = text_of("%.*s/%s", (int)strcspn(p, ":"), p, name);
        if (access(file, X_OK) == 0)
            return file;
        free(file);
    }
    return NULL;
}

static char *an_object(const char *dir)
{
    char *command = text_of("ls -d '%s'/cache/*/object.so | head -n 1", dir), line[PATH_MAX] = "";
    FILE *f = popen(command, "re");
    if (!f || !fgets(line, sizeof(line), f) || pclose(f) != 0)
        die("no compiled candidate in the cache");
    free(command);
    line[strcspn(line, "\n")] = '\0';
    return strdup(line);
}

/* Milliseconds for LAUNCHES launches. */
static double relaunch(const char *launcher, int is_mpirun, const char *trial, const char *object)
{
    const char *mpirun[] = {launcher, "--allow-run-as-root", "--oversubscribe", "-n", RANKS, trial, object, NULL};
    const char *local[] = {launcher, "-n", RANKS, trial, object, NULL};
    struct process_spec spec = {.argv = is_mpirun ? mpirun : local, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = STDERR_FILENO};
    int64_t began = pkb_now_ns();
    for (int i = 0; i < LAUNCHES; i++) {
        int status;
        if (process_run(&spec, LIMIT_MS, &status, &error) != 0 || status != 0)
            die("a relaunch failed");
    }
    return (double)(pkb_now_ns() - began) / 1e6;
}

static double measure_peer(const char *dir, const char **name)
{
    char *mpirun = find_program("mpirun"), *local = pkb_path(PKB_PATH_LIBEXEC, "pkb-launch-local", &error);
    char self[PATH_MAX], *object = an_object(dir);
    double ms[PEERS];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - sizeof("relaunch_trial"));
    if (n <= 0 || !local || !object)
        die("the peer");
    self[n] = '\0';
    strcpy(strrchr(self, '/') + 1, "relaunch_trial");
    *name = mpirun ? "mpirun -n " RANKS : "pkb-launch-local -n " RANKS;
    for (int i = 0; i < PEERS; i++)
        ms[i] = relaunch(mpirun ? mpirun : local, mpirun != NULL, self, object);
    free(object);
    free(local);
    free(mpirun);
    return median(ms, PEERS);
}

static double measure_cells(const char *dir)
{
    static struct watch cold, warm;
    static struct inside inside;
    char *source = pkb_path(PKB_PATH_SHARE, "examples/candidates/direct/01_allreduce/1.c", &error);
    char *sweep = write_sweep(dir), *first = text_of("%s/first", dir), *second = text_of("%s/second", dir);
    double ms[2 * CELLS];
    if (!source)
        die("paths");
    write_store(dir, source);
    cold.path = text_of("%s/records/shard-000000.001.jsonl", first);
    warm.path = text_of("%s/records/shard-000000.001.jsonl", second);
    run_sweep(dir, sweep, first, &cold);
    run_sweep(dir, sweep, second, &warm);
    if (record_file_read(warm.path, visit, &inside, &error) < 0)
        die("the records");
    int n = overheads(&warm, &inside, ms);
    if (n < CELLS / 2) {
        (void)pkb_error_set(&error, "%d of %d", n, CELLS);
        die("too few cells were seen");
    }
    double middle = median(ms, n);
    (void)printf("%d cells, overhead in ms: median %.1f, min %.1f, max %.1f; target: below %.0f: %s\n", n, middle, ms[0],
                 ms[n - 1], TARGET_MS, middle < TARGET_MS ? "met" : "MISSED");
    free(cold.path);
    free(warm.path);
    free(source);
    free(sweep);
    free(first);
    free(second);
    return middle;
}

int main(void)
{
    char dir[] = "/tmp/pkb-bench-cell.XXXXXX";
    const char *peer_name;
    if (!mkdtemp(dir))
        die("mkdtemp");
    double ours = measure_cells(dir), peer = measure_peer(dir, &peer_name);
    (void)printf("%d relaunches by %s: %.1f ms\n", LAUNCHES, peer_name, peer);
    (void)printf("RATIO cell_overhead %.3f ms per cell beyond the solution, %.1f against %d launches by %s, %.1f\n", ours / peer,
                 ours, LAUNCHES, peer_name, peer);
    if (pkb_remove_tree(dir, &error) != 0)
        die("cleaning up");
    return ours < TARGET_MS ? 0 : 1;
}
