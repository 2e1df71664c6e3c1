/* SPDX-License-Identifier: Apache-2.0 */
/* The run directory: created whole or not at all, opened with clear errors, locked by one driver; and what its records say. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "orchestrator/progress.h"
#include "orchestrator/run_topology.h"
#include "util/file.h"

struct fixture {
    char dir[256];
    char run[300];
    struct sweep *sweep;
    struct plan *plan;
};

static void write_text(const char *dir, const char *name, const char *text)
{
    struct pkb_error err;
    char *path = pkb_format(&err, "%s/%s", dir, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(pkb_mkdirs(path, &err), 0);
    *slash = '/';
    if (pkb_file_write(path, text, strlen(text), &err) < 0)
        fail_msg("%s", err.text);
    free(path);
}

static char *read_text(const char *dir, const char *name)
{
    struct pkb_error err;
    char *text, *path = pkb_format(&err, "%s/%s", dir, name);
    size_t size;
    if (pkb_file_read(path, 0, &text, &size, &err) < 0)
        fail_msg("%s", err.text);
    free(path);
    return text;
}

static bool exists(const char *dir, const char *name)
{
    char *path = pkb_format(NULL, "%s/%s", dir, name);
    bool found = pkb_file_exists(path);
    free(path);
    return found;
}

static int setup(void **state)
{
    struct pkb_error err;
    struct fixture *f = calloc(1, sizeof(*f));
    (void)snprintf(f->dir, sizeof(f->dir), "/tmp/pkb-test-rundir.XXXXXX");
    if (!mkdtemp(f->dir))
        return -1;
    (void)snprintf(f->run, sizeof(f->run), "%s/runs/one", f->dir);
    write_text(f->dir, "store/m/01_allreduce/1.c", "int one;\n");
    write_text(f->dir, "store/m/01_allreduce/2.c", "int two;\n");
    write_text(f->dir, "store/m/02_allgather/1.c", "int one;\n");
    write_text(
        f->dir, "s.lua",
        "return sweep { candidates = 'store', models = {'m'}, samples = 2, problems = {1, 2}, gpus = {2}, shapes = {'tiny'} }\n");
    char *path = pkb_format(NULL, "%s/s.lua", f->dir);
    f->sweep = sweep_load(path, &err);
    free(path);
    f->plan = f->sweep ? plan_make(f->sweep, 0, NULL, &err) : NULL;
    if (!f->plan) {
        print_error("%s\n", err.text);
        return -1;
    }
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    plan_destroy(f->plan);
    sweep_destroy(f->sweep);
    int rc = pkb_remove_tree(f->dir, NULL);
    free(f);
    return rc;
}

static struct rundir *create_on(struct fixture *f, const struct topology *machine, struct pkb_error *err)
{
    static char word[] = "pkb run";
    char *argv[] = {word, NULL};
    struct rundir_options o = {.path = f->run, .launcher = "local", .topology = machine, .argc = 1, .argv = argv};
    err->text[0] = '\0';
    return rundir_create(&o, f->sweep, f->plan, err);
}

static struct rundir *create(struct fixture *f, struct pkb_error *err)
{
    return create_on(f, NULL, err);
}

static void assert_says(const struct pkb_error *err, const char *part)
{
    if (!strstr(err->text, part))
        fail_msg("'%s' does not say '%s'", err->text, part);
}

/* ---- creating -------------------------------------------------------------------------------------------------------- */

static void test_create(void **state)
{
    struct fixture *f = *state;
    struct pkb_error err;
    assert_int_equal(setenv("NCCL_NVLS_ENABLE", "0", 1), 0);
    struct rundir *r = create(f, &err);
    if (!r)
        fail_msg("%s", err.text);
    assert_int_equal(unsetenv("NCCL_NVLS_ENABLE"), 0);
    assert_string_equal(r->name, "s");
    assert_string_equal(r->environment, "NCCL_NVLS_ENABLE=0");
    assert_true(r->path[0] == '/');
    for (size_t i = 0; i < f->plan->n_candidates; i++) {
        char *path = rundir_candidate(r, &f->plan->candidates[i], &err);
        char hex[PKB_DIGEST_HEX];
        assert_int_equal(pkb_digest_file(path, hex, &err), 0);
        assert_string_equal(hex, f->plan->candidates[i].digest);
        free(path);
    }
    struct plan *p = plan_load(r->path, &err);
    assert_non_null(p);
    assert_int_equal(p->n_cells, f->plan->n_cells);
    plan_destroy(p);
    rundir_destroy(r);
}

static void test_create_twice(void **state)
{
    struct fixture *f = *state;
    struct pkb_error err;
    rundir_destroy(create(f, &err));
    char *before = read_text(f->run, "run.json");
    assert_null(create(f, &err));
    assert_says(&err, "pkb resume");
    char *after = read_text(f->run, "run.json");
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void test_create_in_the_way(void **state)
{
    struct fixture *f = *state;
    struct pkb_error err;
    write_text(f->run, "mine", "precious");
    assert_null(create(f, &err));
    assert_says(&err, "not empty");
    assert_true(exists(f->run, "mine"));
    (void)snprintf(f->run, sizeof(f->run), "%s/s.lua/run", f->dir); /* below a file */
    assert_null(create(f, &err));
    assert_says(&err, "s.lua");
    (void)snprintf(f->run, sizeof(f->run), "/proc/pkb-run"); /* nobody can write there */
    assert_null(create(f, &err));
    assert_says(&err, "/proc/pkb-run");
}

/* A candidate that is not what was planned any more stops everything, and nothing is left. */
static void test_create_changed(void **state)
{
    struct fixture *f = *state;
    struct pkb_error err;
    write_text(f->dir, "store/m/01_allreduce/2.c", "int three;\n");
    assert_null(create(f, &err));
    assert_says(&err, "01_allreduce/2.c");
    assert_says(&err, "changed");
    assert_false(pkb_file_exists(f->run));
    assert_int_equal(unlink((char *)f->plan->candidates[0].path), 0);
    assert_int_equal(pkb_mkdirs(f->run, &err), 0); /* an empty folder of the user's stays, empty */
    assert_null(create(f, &err));
    assert_says(&err, "No such file");
    assert_true(pkb_file_exists(f->run));
    assert_int_equal(rmdir(f->run), 0);
}

/* ---- opening --------------------------------------------------------------------------------------------------------- */

static void test_open_missing(void **state)
{
    struct fixture *f = *state;
    struct pkb_error err;
    char path[400];
    rundir_destroy(create(f, &err));
    (void)snprintf(path, sizeof(path), "%s/runs/ona", f->dir);
    assert_null(rundir_open(path, &err));
    assert_says(&err, "no such run directory");
    assert_says(&err, "runs/one?");
    (void)snprintf(path, sizeof(path), "%s/runs/", f->dir);
    assert_null(rundir_open(path, &err));
    assert_says(&err, "run.json is missing; did you mean");
    assert_null(rundir_open("/nowhere/at/all", &err));
    assert_says(&err, "no such run directory");
    assert_null(rundir_open("", &err));
    assert_null(rundir_open("/", &err));
}

static void test_open_malformed(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "run.json"},
        {"{\"format\":1,\"name\":\"s\",", "run.json"},
        {"[]", "run.json"},
        {"{\"name\":\"s\",\"build\":\"b\",\"created\":\"t\",\"build_cache\":null}", "format"},
        {"{\"format\":\"1\",\"name\":\"s\",\"build\":\"b\",\"created\":\"t\",\"build_cache\":null}", "format"},
        {"{\"format\":0,\"name\":\"s\",\"build\":\"b\",\"created\":\"t\",\"build_cache\":null}", "format"},
        {"{\"format\":2,\"name\":\"s\",\"build\":\"b\",\"created\":\"t\",\"build_cache\":null}", "newer pkb"},
        {"{\"format\":1,\"build\":\"b\",\"created\":\"t\",\"build_cache\":null}", "name"},
        {"{\"format\":1,\"name\":\"s\",\"build\":7,\"created\":\"t\",\"build_cache\":null}", "build"},
        {"{\"format\":1,\"name\":\"s\",\"build\":\"b\",\"created\":\"t\"}", "build_cache"},
        {"{\"format\":1,\"name\":\"s\",\"build\":\"b\",\"created\":\"t\",\"build_cache\":[]}", "build_cache"},
    };
    struct fixture *f = *state;
    struct pkb_error err;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        write_text(f->run, "run.json", rows[i].text);
        assert_null(rundir_open(f->run, &err));
        assert_says(&err, "run.json");
        assert_says(&err, rows[i].says);
    }
}

/* ---- its machine ----------------------------------------------------------------------------------------------------- */

/* What is kept does not depend on files that may change or be gone. */
static void test_topology(void **state)
{
    struct fixture *f = *state;
    struct pkb_error err;
    struct topology given, kept;
    assert_int_equal(run_topology_choose("h100-sxm-8", "host", true, &given, &err), 1);
    struct rundir *r = create_on(f, &given, &err);
    assert_non_null(r);
    given.device.memory_gb = 1;
    assert_int_equal(run_topology_find(r, NULL, NULL, &kept, &err), 1);
    assert_string_equal(kept.name, "h100-sxm-8");
    assert_true(kept.device.memory_gb == 80 && kept.n_links == 1);
    assert_int_equal(run_topology_find(r, "a100-sxm-8", NULL, &kept, &err), 1);
    assert_string_equal(kept.name, "a100-sxm-8");
    assert_int_equal(run_topology_find(r, "no-such", NULL, &kept, &err), -1);
    assert_says(&err, "--topology: there is no topology 'no-such'");
    char *text = read_text(f->run, "run.json"), *at = strstr(text, "\"memory_gb\": 8");
    assert_non_null(at);
    at[strlen("\"memory_gb\": ")] = '9';
    write_text(f->run, "run.json", text);
    assert_int_equal(run_topology_find(r, NULL, NULL, &kept, &err), -1);
    assert_says(&err, "run.json: topology: digest: the content was changed");
    free(text);
    rundir_destroy(r);
}

static void test_topology_chosen(void **state)
{
    (void)state;
    static const struct {
        const char *name, *device;
        bool here;
        int want;
        const char *says;
    } rows[] = {
        {NULL, "host", true, 0, NULL},      {"none", "cuda", true, 0, NULL},
        {NULL, "cuda", false, 0, NULL},     {"h100-smx-8", "cuda", true, -1, "did you mean"},
        {"b200-8", "host", false, 1, NULL}, {"/nonexistent.yaml", "host", true, -1, "/nonexistent.yaml"},
    };
    struct topology t;
    struct pkb_error err;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(run_topology_choose(rows[i].name, rows[i].device, rows[i].here, &t, &err), rows[i].want);
        if (rows[i].says)
            assert_says(&err, rows[i].says);
        else
            assert_string_equal(err.text, "");
    }
}

static void test_no_topology(void **state)
{
    struct fixture *f = *state;
    struct pkb_error err;
    struct topology t;
    struct rundir *r = create(f, &err);
    assert_non_null(r);
    assert_int_equal(run_topology_find(r, NULL, NULL, &t, &err), 0);
    rundir_destroy(r);
}

/* ---- the lock -------------------------------------------------------------------------------------------------------- */

static void test_lock(void **state)
{
    struct fixture *f = *state;
    struct pkb_error err;
    bool driven;
    char who[200];
    struct rundir *a = create(f, &err), *b = rundir_open(f->run, &err);
    assert_int_equal(rundir_driver(b, &driven, who, sizeof(who), &err), 0);
    assert_false(driven);
    assert_string_equal(who, "");
    assert_int_equal(rundir_lock(a, &err), 0);
    assert_int_equal(rundir_lock(b, &err), -2);
    char pid[32];
    (void)snprintf(pid, sizeof(pid), "process %d ", getpid());
    assert_says(&err, pid);
    assert_int_equal(rundir_driver(b, &driven, who, sizeof(who), &err), 0);
    assert_true(driven);
    rundir_destroy(a);
    assert_int_equal(rundir_lock(b, &err), 0);
    rundir_destroy(b);
}

/* A driver that dies leaves the lock to what it started, and the next one waits for those. */
static void test_lock_of_the_dead(void **state)
{
    struct fixture *f = *state;
    struct pkb_error err;
    struct rundir *r = create(f, &err);
    int status, pipefd[2];
    char byte = 0;
    assert_int_equal(pipe2(pipefd, O_CLOEXEC), 0);
    pid_t driver = fork();
    if (driver == 0) {
        struct rundir *mine = rundir_open(f->run, &err);
        if (!mine || rundir_lock(mine, &err) < 0)
            _exit(1);
        if (fork() == 0) { /* inherits the lock, outlives the driver */
            if (write(pipefd[1], &byte, 1) != 1)
                _exit(1);
            (void)usleep(300000);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(driver, &status, 0), driver);
    assert_int_equal(status, 0);
    assert_int_equal(read(pipefd[0], &byte, 1), 1);
    assert_int_equal(rundir_lock(r, &err), 0);
    (void)close(pipefd[0]);
    (void)close(pipefd[1]);
    rundir_destroy(r);
}

static void test_lock_garbage(void **state)
{
    static const char *const owners[] = {"", "x", "host", "host 12", "\n\n", "a b c d e"};
    struct fixture *f = *state;
    struct pkb_error err;
    struct rundir *r = create(f, &err);
    for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
        write_text(f->run, "lock", owners[i]);
        char *path = pkb_format(NULL, "%s/lock", f->run);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        free(path);
        assert_int_equal(flock(fd, LOCK_EX), 0);
        assert_int_equal(rundir_lock(r, &err), -2);
        (void)close(fd);
    }
    assert_int_equal(rundir_lock(r, &err), 0);
    rundir_destroy(r);
}

/* ---- progress -------------------------------------------------------------------------------------------------------- */

static void digest_of(const struct fixture *f, size_t cell, char hex[PKB_DIGEST_HEX])
{
    struct pkb_error err;
    struct pkb_digest *d = pkb_digest_create(&err);
    assert_int_equal(plan_cell_digest(f->plan, &f->plan->cells[cell], d, hex, &err), 0);
    pkb_digest_destroy(d);
}

static void append(struct fixture *f, struct record_log *log, size_t cell, enum outcome outcome)
{
    struct pkb_error err;
    const struct plan_cell *c = &f->plan->cells[cell];
    const struct plan_setting *s = &f->plan->settings[c->setting];
    struct record r = {.sample = f->plan->candidates[c->candidate].sample,
                       .world = s->world,
                       .nodes = 1,
                       .outcome = outcome,
                       .rank = -1,
                       .attempt = 1,
                       .started = "2026-01-01T00:00:00Z"};
    digest_of(f, cell, r.cell);
    memcpy(r.setting, s->digest, sizeof(r.setting));
    memcpy(r.candidate, f->plan->candidates[c->candidate].digest, sizeof(r.candidate));
    (void)snprintf(r.model, sizeof(r.model), "m");
    (void)snprintf(r.problem, sizeof(r.problem), "%s", s->problem->name);
    (void)snprintf(r.family, sizeof(r.family), "%s", s->problem->family);
    (void)snprintf(r.dtype, sizeof(r.dtype), "bf16");
    (void)snprintf(r.shape, sizeof(r.shape), "tiny");
    (void)snprintf(r.device, sizeof(r.device), "host");
    json_t *v = record_encode(&r);
    assert_non_null(v);
    if (record_log_append(log, v, &err) < 0)
        fail_msg("%s", err.text);
    json_decref(v);
}

static void test_progress(void **state)
{
    struct fixture *f = *state;
    struct pkb_error err;
    char hex[PKB_DIGEST_HEX];
    rundir_destroy(create(f, &err));
    struct record_log *log = record_log_create(f->run, 0, 1, &err);
    assert_non_null(log);
    append(f, log, 0, OUTCOME_INFRA_ERROR);
    append(f, log, 1, OUTCOME_CRASH);
    append(f, log, 1, OUTCOME_CORRECT); /* a second final record never counts */
    record_log_close(log);
    log = record_log_create(f->run, 0, 2, &err);
    append(f, log, 0, OUTCOME_CORRECT);
    record_log_close(log);
    write_text(f->run, "records/shard-000000.003.jsonl", "not a record\n{\"kind\":\"cell\"}\n{\"torn");
    struct progress *p = progress_create(f->plan, &err);
    assert_int_equal(p->counts[PROGRESS_NO_RECORD], f->plan->n_cells);
    assert_int_equal(progress_read(p, f->run, &err), 0);
    assert_int_equal(p->final, 2);
    assert_int_equal(p->outcome[0], OUTCOME_CORRECT);
    assert_int_equal(p->outcome[1], OUTCOME_CRASH);
    assert_int_equal(p->bad_lines, 2);
    assert_int_equal(p->counts[OUTCOME_INFRA_ERROR], 0);
    assert_int_equal(progress_missing(p, &f->plan->shards[0]), f->plan->n_cells - 2);
    digest_of(f, 2, hex);
    progress_note(p, hex, OUTCOME_DEADLOCK);
    progress_note(p, "nonsense", OUTCOME_CORRECT);
    progress_note(p, hex, -1);
    progress_note(p, hex, OUTCOME_COUNT);
    assert_int_equal(p->final, 3);
    progress_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_create, setup, teardown),
        cmocka_unit_test_setup_teardown(test_create_twice, setup, teardown),
        cmocka_unit_test_setup_teardown(test_create_in_the_way, setup, teardown),
        cmocka_unit_test_setup_teardown(test_create_changed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_open_missing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_open_malformed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_topology, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_topology, setup, teardown),
        cmocka_unit_test(test_topology_chosen),
        cmocka_unit_test_setup_teardown(test_lock, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lock_of_the_dead, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lock_garbage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_progress, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
