/* SPDX-License-Identifier: Apache-2.0 */
/* bench_references [OPTION...]: the time of every reference on this machine's device, beside the roofline of a machine's description. Prints a
 * Markdown table, then `N ran, N failed, N refused`. Exits with 1 when one failed.
 *
 *   --backend NAME     host or cuda (default: cuda)
 *   --world N          ranks, on this node (default: 1)
 *   --dtype NAME       T (default: bf16)
 *   --shape NAME       paper or tiny (default: paper)
 *   --problems LIST    numbers or names, separated by commas (default: all)
 *   --topology NAME    whose roofline (a name of `pkb topo list`, or a file; default: none)
 *   --iterations N     timed calls (default: 20), after a quarter as many for warm-up
 *
 * Each rank is a process; PKB_COMM says how ranks communicate on cuda. The time of a call is the largest over the ranks, the table has
 * the median over the calls. Inputs are those of the hardened profile, the same in every call: caches may hold them. */
#include <getopt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "problems/problem.h"
#include "tests/support/world.h"
#include "topology/roofline.h"
#include "util/clock.h"

#define MAX_PROBLEMS 87
#define MAX_ITERATIONS 1000
#define WORLD_SECONDS 540

/* A table of embeddings that no memory here holds is cut; the traffic does not depend on it. */
static const struct {
    int problem;
    const char *param;
    double value;
} cuts[] = {{68, "V", 1e6}};

struct result {
    _Atomic int begun;                    /* ranks that have begun with it */
    _Atomic int done;                     /* ranks that are through */
    double ns[WORLD_MAX][MAX_ITERATIONS]; /* per rank and call */
    double init_seconds[WORLD_MAX];
    char text[WORLD_MAX][256]; /* why it failed, "" */
};

struct plan {
    const char *backend, *shape, *topology;
    int world, dtype, iterations;
    const struct problem *problems[MAX_PROBLEMS];
    int n, first;           /* the world begins with problems[first] */
    struct result *results; /* shared by all processes */
};

/* ---- one problem on one rank ----------------------------------------------------------------------------------------- */

static int make_setting(const struct plan *p, const struct problem *problem, int rank, struct problem_setting *s,
                        struct pkb_error *err)
{
    enum problem_shape shape = strcmp(p->shape, "paper") == 0 ? SHAPE_PAPER : SHAPE_TINY;
    problem_setting_init(s, problem, shape, p->dtype, rank, p->world);
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]) && shape == SHAPE_PAPER; i++)
        if (cuts[i].problem == problem->id && problem_setting_override(s, cuts[i].param, cuts[i].value, err) < 0)
            return -1;
    return problem_setting_check(s, err);
}

struct work {
    struct rt *rt;
    struct problem_setting setting;
    struct problem_inputs set; /* on the host */
    struct problem_tensor described[2][PROBLEM_MAX_TENSORS];
    pkb_tensor in[PROBLEM_MAX_TENSORS], out[PROBLEM_MAX_TENSORS];
    int n_in, n_out;
};

static size_t bytes_of(const pkb_tensor *t)
{
    size_t bytes = 0;
    (void)tensor_bytes(t, &bytes, NULL);
    return bytes;
}

static int make_inputs(struct work *w, double *seconds, struct pkb_error *err)
{
    int64_t start = pkb_now_ns();
    w->n_in = w->setting.problem->inputs(&w->setting, w->described[0]);
    w->n_out = w->setting.problem->outputs(&w->setting, w->described[1]);
    memcpy(w->set.params, w->setting.params, sizeof(w->set.params));
    for (int i = 0; i < w->n_in; i++) {
        w->set.in[i] = w->described[0][i].form;
        w->set.in[i].data = calloc(1, bytes_of(&w->set.in[i]) + 1);
        if (!w->set.in[i].data)
            return pkb_error_set(err, "out of memory");
    }
    w->setting.problem->init(&w->setting, &w->set);
    *seconds = (double)(pkb_now_ns() - start) * 1e-9;
    return 0;
}

static int place(struct work *w, struct pkb_error *err)
{
    for (int i = 0; i < w->n_in; i++) {
        w->in[i] = w->described[0][i].form;
        int rc = w->described[0][i].host ? rt_keep_shared(w->rt, &w->in[i], err) : rt_keep(w->rt, &w->in[i], err);
        if (rc < 0)
            return -1;
        rt_upload(w->rt, &w->in[i], w->set.in[i].data);
    }
    for (int k = 0; k < w->n_out; k++) {
        w->out[k] = w->described[1][k].form;
        if (rt_keep(w->rt, &w->out[k], err) < 0)
            return -1;
    }
    return rt_sync(w->rt, err);
}

static void call(struct work *w, int iteration)
{
    struct problem_call c = {
        .rt = w->rt, .world = rt_world(w->rt), .setting = &w->setting, .params = w->set.params, .in = w->in, .out = w->out};
    for (int k = 0; k < w->n_out; k++)
        if (w->described[1][k].in_place)
            rt_copy(w->rt, &w->out[k], &w->in[w->described[1][k].in_place - 1]);
    rt_barrier(w->rt, c.world);
    if (iteration >= 0)
        rt_event_record(w->rt, 2 * iteration);
    w->setting.problem->reference(&c);
    if (iteration >= 0)
        rt_event_record(w->rt, 2 * iteration + 1);
    rt_release_all(w->rt);
}

static int measure(struct work *w, int iterations, double *ns, struct pkb_error *err)
{
    if (place(w, err) < 0 || rt_events(w->rt, 2 * iterations, err) < 0)
        return -1;
    for (int i = 0; i < iterations / 4 + 1; i++)
        call(w, -1);
    if (rt_sync(w->rt, err) < 0)
        return -1;
    for (int i = 0; i < iterations; i++)
        call(w, i);
    if (rt_sync(w->rt, err) < 0)
        return -1;
    for (int i = 0; i < iterations; i++)
        ns[i] = rt_event_elapsed_ns(w->rt, 2 * i, 2 * i + 1);
    return rt_status(w->rt, err);
}

static int run_one(const struct rt_options *o, const struct plan *p, int number, struct pkb_error *err)
{
    struct result *r = &p->results[number];
    struct work *w = calloc(1, sizeof(*w));
    int rc = w ? make_setting(p, p->problems[number], o->rank, &w->setting, err) : pkb_error_set(err, "out of memory");
    atomic_fetch_add(&r->begun, 1);
    if (rc == 0)
        rc = make_inputs(w, &r->init_seconds[o->rank], err);
    if (rc == 0)
        w->rt = rt_open(p->backend, o, err);
    if (rc == 0)
        rc = w->rt ? measure(w, p->iterations, r->ns[o->rank], err) : -1;
    rt_close(w ? w->rt : NULL);
    for (int i = 0; w && i < w->n_in; i++)
        free(w->set.in[i].data);
    free(w);
    if (rc < 0)
        (void)snprintf(r->text[o->rank], sizeof(r->text[0]), "%.255s", err->text);
    atomic_fetch_add(&r->done, rc == 0);
    return rc;
}

/* ---- all problems ---------------------------------------------------------------------------------------------------- */

/* Every rank, from p->first on until one problem fails: what it leaves of communication and device is not to be trusted. */
static int run_rank(const struct rt_options *o, void *arg, struct pkb_error *err)
{
    const struct plan *p = arg;
    struct problem_setting s;
    for (int i = p->first; i < p->n; i++)
        if (make_setting(p, p->problems[i], o->rank, &s, NULL) == 0 && run_one(o, p, i, err) < 0)
            return -1;
    return 0;
}

static void run_all(struct plan *p)
{
    static struct world_rank ranks[WORLD_MAX];
    struct pkb_error err;
    while (p->first < p->n) {
        struct world_spec spec = {.world = p->world, .seconds = WORLD_SECONDS, .raw = run_rank, .arg = p};
        if (world_run_each(&spec, ranks, &err) < 0) {
            (void)fprintf(stderr, "bench_references: %s\n", err.text);
            exit(1);
        }
        int last = p->first;
        for (int i = p->first; i < p->n; i++)
            if (atomic_load(&p->results[i].begun) > 0)
                last = i;
        for (int q = 0; q < p->world; q++)
            if (ranks[q].end != WORLD_RETURNED)
                (void)snprintf(p->results[last].text[q], sizeof(p->results[last].text[q]), "%.255s", ranks[q].text);
        p->first = last + 1;
    }
}

/* ---- the table ------------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_ns(const struct plan *p, const struct result *r)
{
    static double slowest[MAX_ITERATIONS];
    for (int i = 0; i < p->iterations; i++) {
        slowest[i] = 0;
        for (int q = 0; q < p->world; q++)
            slowest[i] = r->ns[q][i] > slowest[i] ? r->ns[q][i] : slowest[i];
    }
    qsort(slowest, (size_t)p->iterations, sizeof(slowest[0]), by_value);
    return slowest[p->iterations / 2];
}

static void print_row(const struct plan *p, int i, const struct topology *t)
{
    struct problem_setting s;
    struct roofline roof;
    struct pkb_error err;
    double ns = median_ns(p, &p->results[i]);
    printf("| %s | %.4g |", p->problems[i]->name, ns / 1e3);
    if (t && make_setting(p, p->problems[i], 0, &s, &err) == 0 && roofline_for_setting(t, &s, 0, &roof, &err) == 0)
        printf(" %.4g | %s | %.1f %% |", roof.bound * 1e6, roofline_resource_name(roof.binds), 100 * roof.bound * 1e9 / ns);
    printf(" %.2f |\n", p->results[i].init_seconds[0]);
}

static const char *first_failure(const struct plan *p, int i)
{
    for (int q = 0; q < p->world; q++)
        if (p->results[i].text[q][0])
            return p->results[i].text[q];
    return "ended without a result";
}

static int print_all(const struct plan *p, const struct topology *t)
{
    int ran = 0, failed = 0, refused = 0;
    printf("| problem | time, us |%s inputs, s |\n|---|---|%s---|\n", t ? " bound, us | binds | utilisation |" : "",
           t ? "---|---|---|" : "");
    for (int i = 0; i < p->n; i++) {
        struct problem_setting s;
        struct pkb_error err;
        if (make_setting(p, p->problems[i], 0, &s, &err) < 0) {
            printf("%s does not run so: %s\n", p->problems[i]->name, err.text);
            refused++;
        } else if (atomic_load(&p->results[i].done) == p->world) {
            print_row(p, i, t);
            ran++;
        } else {
            printf("FAILED %s: %s\n", p->problems[i]->name, first_failure(p, i));
            failed++;
        }
    }
    printf("%d ran, %d failed, %d refused\n", ran, failed, refused);
    return failed;
}

/* ---- options --------------------------------------------------------------------------------------------------------- */

static void die(const char *what, const char *text)
{
    (void)fprintf(stderr, "bench_references: %s: %s\n", what, text);
    exit(2);
}

static int number(const char *name, const char *text, int max)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < 1 || value > max)
        die(name, "expected a positive number");
    return (int)value;
}

static void choose_problems(struct plan *p, char *list)
{
    for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
        const struct problem *problem = problem_by_name(name);
        if (!problem || p->n == MAX_PROBLEMS)
            die(name, "there is no such problem");
        p->problems[p->n++] = problem;
    }
}

static void parse(struct plan *p, int argc, char **argv)
{
    static const struct option options[] = {
        {"backend", required_argument, NULL, 'b'},    {"world", required_argument, NULL, 'w'},
        {"dtype", required_argument, NULL, 'd'},      {"shape", required_argument, NULL, 's'},
        {"problems", required_argument, NULL, 'p'},   {"topology", required_argument, NULL, 't'},
        {"iterations", required_argument, NULL, 'i'}, {NULL, 0, NULL, 0}};
    for (int key = 0; (key = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (key) {
        case 'b':
            p->backend = optarg;
            break;
        case 'w':
            p->world = number("--world", optarg, WORLD_MAX);
            break;
        case 'd':
            p->dtype = dtype_parse(optarg);
            break;
        case 's':
            p->shape = optarg;
            break;
        case 'p':
            choose_problems(p, optarg);
            break;
        case 't':
            p->topology = optarg;
            break;
        case 'i':
            p->iterations = number("--iterations", optarg, MAX_ITERATIONS);
            break;
        default:
            exit(2);
        }
    }
    if (p->dtype < 0)
        die("--dtype", "there is no such dtype");
    for (size_t i = 0; p->n == 0 && problem_registry[i]; i++)
        p->problems[i] = problem_registry[i];
    while (p->n < MAX_PROBLEMS && p->problems[p->n])
        p->n++;
}

int main(int argc, char **argv)
{
    struct plan p = {.backend = "cuda", .shape = "paper", .world = 1, .dtype = PKB_BF16, .iterations = 20};
    struct topology t;
    struct pkb_error err;
    parse(&p, argc, argv);
    if (p.topology && topology_find(p.topology, NULL, &t, &err) < 0)
        die("--topology", err.text);
    size_t size = (size_t)p.n * sizeof(struct result);
    p.results = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p.results == MAP_FAILED)
        die("memory", "cannot be had");
    run_all(&p);
    return print_all(&p, p.topology ? &t : NULL) > 0;
}
