/* SPDX-License-Identifier: Apache-2.0 */
/* Sweep files: the rows of a table are the files of tests/sweeps, whose first line says what must come of them. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "sweeps/lua.h"
#include "sweeps/pattern.h"
#include "sweeps/source.h"
#include "sweeps/sweep.h"
#include "util/file.h"

#define EXPECT "-- expect: "

static char *folder(void)
{
    const char *top = getenv("srcdir");
    char *path = pkb_format(NULL, "%s/tests/sweeps", top ? top : ".");
    assert_non_null(path);
    return path;
}

/* Loads text as a sweep file of tests/sweeps. */
static struct sweep *load(const char *text, struct pkb_error *err)
{
    char *base = folder();
    char *path = pkb_format(NULL, "%s/text.lua", base);
    struct sweep *s = sweep_load_text(path, text, strlen(text), err);
    free(path);
    free(base);
    return s;
}

static struct sweep *load_good(const char *name)
{
    struct pkb_error err = {""};
    char *base = folder();
    char *path = pkb_format(NULL, "%s/%s", base, name);
    struct sweep *s = sweep_load(path, &err);
    if (!s)
        fail_msg("%s", err.text);
    free(path);
    free(base);
    return s;
}

/* ---- files --------------------------------------------------------------------------------------------------------- */

static int is_lua(const struct dirent *e)
{
    size_t n = strlen(e->d_name);
    return n > 4 && strcmp(e->d_name + n - 4, ".lua") == 0;
}

/* 1 when the file does what its first line says. */
static int try_file(const char *base, const char *name)
{
    struct pkb_error err = {""};
    char *text = NULL, *path = pkb_format(NULL, "%s/%s", base, name);
    size_t size;
    assert_int_equal(pkb_file_read(path, 0, &text, &size, &err), 0);
    assert_int_equal(strncmp(text, EXPECT, strlen(EXPECT)), 0);
    char *expected = text + strlen(EXPECT);
    expected[strcspn(expected, "\n")] = '\0';
    struct sweep *s = sweep_load(path, &err);
    int ok = s ? strcmp(expected, "ok") == 0 : strstr(err.text, expected) != NULL;
    if (!s && (strncmp(err.text, "sweep ", 6) != 0 || !strstr(err.text, name)))
        ok = 0;
    if (!ok)
        print_error("%s: expected \"%s\", found \"%s\"\n", name, expected, s ? "ok" : err.text);
    sweep_destroy(s);
    free(text);
    free(path);
    return ok;
}

static void test_files(void **state)
{
    struct dirent **names;
    char *base = folder();
    int n = scandir(base, &names, is_lua, alphasort), good = 0;
    (void)state;
    assert_true(n >= 120);
    for (int i = 0; i < n; i++) {
        good += try_file(base, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    free(base);
    assert_int_equal(good, n);
}

/* ---- values -------------------------------------------------------------------------------------------------------- */

static void test_defaults(void **state)
{
    struct sweep *s = load_good("good-minimal.lua");
    (void)state;
    assert_string_equal(s->name, "good-minimal");
    assert_int_equal(s->n_problems, 1);
    assert_string_equal(s->problems[0]->name, "01_allreduce");
    assert_int_equal(s->n_models, 3);
    assert_string_equal(s->models[0], "alpha");
    assert_string_equal(s->models[2], "twice");
    assert_false(s->models_named[0]);
    assert_int_equal(s->n_samples, 3);
    assert_int_equal(s->samples[2], 3);
    assert_int_equal(s->n_worlds, 1);
    assert_int_equal(s->worlds[0], 8);
    assert_int_equal(s->n_dtypes, 1);
    assert_int_equal(s->dtypes[0], PKB_BF16);
    assert_int_equal(s->n_shapes, 1);
    assert_string_equal(s->shapes[0].name, "paper");
    assert_string_equal(s->device, "host");
    assert_int_equal(s->trials, 5);
    assert_int_equal(s->seed, 1);
    assert_int_equal(s->inputs, PROFILE_HARDENED);
    assert_int_equal(s->tolerance, PROFILE_HARDENED);
    assert_true(s->atol == 0.01 && s->rtol == 0.01);
    assert_int_equal(s->warmup, 500);
    assert_int_equal(s->iterations, 100);
    assert_true(s->limit_seconds == 120);
    assert_int_equal(s->limit_memory_mb, 8192);
    assert_null(s->slurm);
    assert_false(s->has_where || s->has_time);
    sweep_destroy(s);
}

static void test_every_field(void **state)
{
    struct sweep *s = load_good("good-all.lua");
    (void)state;
    assert_string_equal(s->name, "every-field");
    assert_int_equal(s->n_samples, 2);
    assert_int_equal(s->worlds[0], 2);
    assert_string_equal(s->shapes[0].name, "one");
    assert_int_equal(s->shapes[0].base, SHAPE_PAPER);
    assert_int_equal(s->shapes[0].n_overrides, 1);
    assert_string_equal(s->shapes[0].overrides[0].param, "M");
    assert_true(s->shapes[0].overrides[0].value == 8);
    assert_int_equal(s->trials, 7);
    assert_true(s->seed == INT64_MAX);
    assert_int_equal(s->inputs, PROFILE_PKB);
    assert_int_equal(s->tolerance, PROFILE_PKB);
    assert_true(s->atol == 0.5 && s->rtol == 0);
    assert_int_equal(s->warmup, 0);
    assert_int_equal(s->iterations, 1000);
    assert_true(s->limit_seconds == 0.5);
    assert_int_equal(s->limit_memory_mb, 0);
    assert_true(s->has_where && s->has_time);
    assert_string_equal(json_string_value(json_object_get(s->slurm, "partition")), "gpu");
    assert_int_equal(json_array_size(json_object_get(s->slurm, "array")), 2);
    sweep_destroy(s);
}

/* Lists are sets, sorted, however they are written. */
static void test_sets(void **state)
{
    struct sweep *s = load_good("good-lists.lua");
    (void)state;
    for (int i = 1; i < s->n_problems; i++)
        assert_true(s->problems[i - 1]->id < s->problems[i]->id);
    assert_int_equal(s->n_models, 2);
    assert_true(s->models_named[0]);
    assert_false(s->models_named[1]);
    assert_int_equal(s->n_samples, 2);
    assert_int_equal(s->samples[0], 1);
    assert_int_equal(s->samples[1], 3);
    assert_int_equal(s->n_worlds, 2);
    assert_int_equal(s->worlds[0], 2);
    assert_int_equal(s->worlds[1], 4);
    assert_int_equal(s->n_dtypes, 2);
    assert_int_equal(s->dtypes[0], PKB_BF16);
    assert_int_equal(s->n_shapes, 3);
    assert_string_equal(s->shapes[0].name, "paper");
    assert_string_equal(s->shapes[2].name, "wide");
    assert_int_equal(s->shapes[2].base, SHAPE_TINY);
    sweep_destroy(s);
}

static void test_problems_all(void **state)
{
    struct pkb_error err = {""};
    struct sweep *s = load("return sweep { candidates = 'store', problems = problems.all }", &err);
    int n = 0;
    (void)state;
    while (problem_registry[n])
        n++;
    assert_non_null(s);
    assert_int_equal(s->n_problems, n);
    sweep_destroy(s);
}

/* ---- functions ----------------------------------------------------------------------------------------------------- */

static struct sweep_cell some_cell(void)
{
    return (struct sweep_cell){.problem = problem_by_id(1),
                               .model = "alpha",
                               .shape = "tiny",
                               .device = "host",
                               .sample = 3,
                               .world = 4,
                               .dtype = PKB_BF16};
}

static struct sweep *load_function(const char *field, const char *body)
{
    struct pkb_error err = {""};
    char *text = pkb_format(&err, "return sweep { candidates = 'store', problems = 1, %s = function(cell) %s end }", field, body);
    struct sweep *s = load(text, &err);
    if (!s)
        fail_msg("%s", err.text);
    free(text);
    return s;
}

static void test_where(void **state)
{
    static const struct {
        const char *body, *expected; /* "true", "false", or a part of the error */
    } rows[] = {
        {"return true", "true"},
        {"return false", "false"},
        {"return cell.problem == '01_allreduce' and cell.id == 1 and cell.family == 'collective' and cell.model == 'alpha' "
         "and cell.sample == 3 and cell.world == 4 and cell.dtype == 'bf16' and cell.shape == 'tiny' and cell.device == 'host'",
         "true"},
        {"return cell.model:match('^al') ~= nil and #cell.problem:gsub('_', '') == 11", "true"},
        {"return cell.nothing == nil", "true"},
        {"cell.world = 99 cell.model = nil cell.extra = 1 return true", "true"},
        {"return cell.world", "where: expected true or false, found number"},
        {"", "where: expected true or false, found nil; is 'return' missing?"},
        {"return cell.nothing > 1", "where: line 1: attempt to compare number with nil"},
        {"error('mine')", "where: line 1: mine"},
        {"error({})", "where: an error was raised with a table instead of a text"},
        {"while true do end", "where: line 1: stopped after 100000 instructions"},
        {"return (('a'):rep(40):find(('a?'):rep(40))) ~= nil", "where: line 1: stopped after 100000 instructions"},
        {"local s = ('x'):rep(1 << 20) .. ('y'):rep(100) return true", "where: stopped: a string would be longer than 1 MiB"},
        {"return io.open('x') ~= nil", "sweep files have no 'io'"},
        {"return sweep {}", "sweep was already called in line 1"},
        {"local function f() return 1 + f() end return f()", "where: "},
    };
    struct sweep_cell cell = some_cell();
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pkb_error err = {""};
        bool keep = false;
        struct sweep *s = load_function("where", rows[i].body);
        const char *found = sweep_where(s, &cell, &keep, &err) < 0 ? err.text : (keep ? "true" : "false");
        if (!strstr(found, rows[i].expected))
            fail_msg("%s: expected \"%s\", found \"%s\"", rows[i].body, rows[i].expected, found);
        if (err.text[0])
            assert_non_null(strstr(err.text, "(for 01_allreduce, model alpha, sample 3, 4 ranks, bf16, tiny)"));
        sweep_destroy(s);
    }
}

/* What one call writes into its cell is not there in the next. */
static void test_cell_is_fresh(void **state)
{
    struct pkb_error err = {""};
    struct sweep_cell cell = some_cell();
    struct sweep *s =
        load_function("where", "local ok = cell.world == 4 and cell.model == 'alpha' cell.world = 1 cell.model = 2 return ok");
    (void)state;
    for (int i = 0; i < 3; i++) {
        bool keep = false;
        assert_int_equal(sweep_where(s, &cell, &keep, &err), 0);
        assert_true(keep);
    }
    sweep_destroy(s);
}

/* The device and its limits are what the environment says: no GPU is needed for that. */
static void test_machine(void **state)
{
    static const char text[] = "assert(machine.ranks >= machine.gpus, machine.gpus)\n"
                               "return sweep { candidates = \"store\", problems = { 1 }, device = machine.device }\n";
    static const struct {
        const char *wanted, *device; /* NULL: an error */
    } rows[] = {{"host", "host"}, {"cuda", "cuda"}, {"", "host"}, {"gpu", NULL}, {"CUDA", NULL}, {"host ", NULL}};
    (void)state;
    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "", 1), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pkb_error err = {""};
        assert_int_equal(setenv("PKB_DEVICE", rows[i].wanted, 1), 0);
        struct sweep *s = load(text, &err);
        if ((s != NULL) != (rows[i].device != NULL))
            fail_msg("PKB_DEVICE=%s: %s", rows[i].wanted, err.text);
        if (s)
            assert_string_equal(s->device, rows[i].device);
        else
            assert_non_null(strstr(err.text, "expected host or cuda"));
        sweep_destroy(s);
    }
    (void)unsetenv("PKB_DEVICE");
    (void)unsetenv("CUDA_VISIBLE_DEVICES");
}

static void test_time(void **state)
{
    static const struct {
        const char *body;
        double expected; /* negative: an error */
    } rows[] = {{"return 30", 30},   {"return cell.world / 8", 0.5},
                {"return 0", 0},     {"return -1", -1},
                {"return 0/0", -1},  {"return math.huge", -1},
                {"return '3'", -1},  {"", -1},
                {"return true", -1}, {"return 1e10", -1}};
    struct sweep_cell cell = some_cell();
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pkb_error err = {""};
        double seconds = -1;
        struct sweep *s = load_function("time", rows[i].body);
        int rc = sweep_time(s, &cell, &seconds, &err);
        assert_int_equal(rc, rows[i].expected < 0 ? -1 : 0);
        if (rc == 0)
            assert_true(seconds == rows[i].expected);
        else
            assert_non_null(strstr(err.text, ": time: "));
        sweep_destroy(s);
    }
}

static void test_without_functions(void **state)
{
    struct pkb_error err = {""};
    struct sweep_cell cell = some_cell();
    struct sweep *s = load_good("good-minimal.lua");
    bool keep = false;
    double seconds = 3;
    (void)state;
    assert_int_equal(sweep_where(s, &cell, &keep, &err), 0);
    assert_true(keep);
    assert_int_equal(sweep_time(s, &cell, &seconds, &err), 0);
    assert_true(seconds == 0);
    sweep_destroy(s);
}

/* A state must not grow with the calls. */
static void test_calls_keep_memory(void **state)
{
    struct pkb_error err = {""};
    struct sweep_cell cell = some_cell();
    struct sweep *s = load_function("where", "local t = {} for i = 1, 20 do t[i] = cell.model .. i end return #t == 20");
    struct rusage before, after;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        bool keep = false;
        if (i == 2000)
            assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
        assert_int_equal(sweep_where(s, &cell, &keep, &err), 0);
    }
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    sweep_destroy(s);
    assert_true(after.ru_maxrss - before.ru_maxrss < 16 * 1024);
}

/* ---- bytes --------------------------------------------------------------------------------------------------------- */

static void test_bytecode(void **state)
{
    static const char text[] = "\x1bLua\x54\x00\x19\x93\r\n\x1a\n";
    struct pkb_error err = {""};
    (void)state;
    assert_null(sweep_load_text("x.lua", text, sizeof(text) - 1, &err));
    assert_non_null(strstr(err.text, "attempt to load a binary chunk"));
}

static void test_large_file(void **state)
{
    struct pkb_error err = {""};
    size_t size = SWEEP_STRING + 1;
    char *text = malloc(size + 1);
    (void)state;
    assert_non_null(text);
    memset(text, ' ', size);
    text[size] = '\0';
    assert_null(sweep_load_text("x.lua", text, size, &err));
    assert_non_null(strstr(err.text, "sweep x.lua: 1048577 bytes, more than the limit of 1 MiB"));
    free(text);
    assert_null(sweep_load("/nonexistent/x.lua", &err));
    assert_non_null(strstr(err.text, "sweep: /nonexistent/x.lua: No such file or directory"));
}

/* Every prefix and many single-byte changes of a sweep: an answer or an error, never anything else. */
static void test_damaged_texts(void **state)
{
    struct pkb_error err = {""};
    char *base = folder(), *path = pkb_format(NULL, "%s/good-all.lua", base), *text = NULL;
    size_t size;
    int errors = 0, tried = 0;
    uint32_t random = 1;
    (void)state;
    assert_int_equal(pkb_file_read(path, 0, &text, &size, &err), 0);
    for (size_t i = 0; i < size; i += 3, tried++) {
        struct sweep *s = sweep_load_text(path, text, i, &err);
        errors += s == NULL;
        sweep_destroy(s);
    }
    for (int i = 0; i < 1000; i++, tried++) {
        random = random * 1664525 + 1013904223;
        size_t at = (random >> 8) % size;
        char saved = text[at];
        text[at] = (char)(random >> 24);
        struct sweep *s = sweep_load_text(path, text, size, &err);
        errors += s == NULL;
        sweep_destroy(s);
        text[at] = saved;
    }
    assert_true(errors > tried / 2 && errors < tried);
    free(text);
    free(path);
    free(base);
}

/* ---- parts --------------------------------------------------------------------------------------------------------- */

static void test_source_lines(void **state)
{
    static const char text[] = "-- sweep { models = 1 }\n"         /* 1 */
                               "local models = sweep\n"            /* 2 */
                               "return sweep {\n"                  /* 3 */
                               "  where = function(cell)\n"        /* 4 */
                               "    local gpus = { models = 3 }\n" /* 5 */
                               "    return gpus == models\n"       /* 6 */
                               "  end, text = 'models = {',\n"     /* 7 */
                               "  models = { 'a', --[[ 'b', ]]\n"  /* 8 */
                               "    [[b]], 'c' }, seed = 'c',\n"   /* 9 */
                               "  gpus = 2\n"                      /* 10 */
                               "}\n";
    static const struct {
        const char *field, *entry;
        int line;
    } rows[] = {{"models", NULL, 8}, {"models", "a", 8}, {"models", "c", 9},  {"models", "zz", 8}, {"seed", NULL, 9},
                {"gpus", NULL, 10},  {"where", NULL, 4}, {"absent", NULL, 3}, {"cell", NULL, 3},   {"text", NULL, 7}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(sweep_source_line(text, sizeof(text) - 1, 3, rows[i].field, rows[i].entry), rows[i].line);
    for (size_t n = 0; n < sizeof(text); n++) /* no text sends it past the end */
        assert_true(sweep_source_line(text, n, 3, "models", "c") >= 3);
}

static void test_pattern_work(void **state)
{
    (void)state;
    assert_true(sweep_pattern_work("^(%d+)_(.*)$", 12, 40) < 10000);
    assert_true(sweep_pattern_work("gemm", 4, 40) < 10);
    assert_true(sweep_pattern_work("[a-z%]*+?-]", 11, 40) < 100); /* no loop in a set */
    assert_true(sweep_pattern_work("a*a*a*a*a*b", 11, 10000) > 1e15);
    assert_true(sweep_pattern_work("a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?", 40, 20) > 1e5);
    assert_true(sweep_pattern_work("%b()%1", 6, 10000) > 100 * sweep_pattern_work("()", 2, 10000));
    assert_true(sweep_pattern_work("[", 1, 10) > 0);
    assert_true(sweep_pattern_work("%", 1, 10) > 0);
    assert_true(sweep_pattern_work("", 0, 0) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_field),
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_problems_all),
        cmocka_unit_test(test_where),
        cmocka_unit_test(test_cell_is_fresh),
        cmocka_unit_test(test_machine),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_without_functions),
        cmocka_unit_test(test_calls_keep_memory),
        cmocka_unit_test(test_bytecode),
        cmocka_unit_test(test_large_file),
        cmocka_unit_test(test_damaged_texts),
        cmocka_unit_test(test_source_lines),
        cmocka_unit_test(test_pattern_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
