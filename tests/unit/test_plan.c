/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: what they hold, that they survive being written and read, and that damaged ones are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sweeps/plan.h"
#include "sweeps/plan_parts.h"
#include "util/file.h"

/* A folder of the test's own with a store: models a (all samples), b (sample 1 only), c (for GPUs), none. */
static char *make_store(void)
{
    static const char *const files[] = {
        "store/a/01_allreduce/1.c",      "store/a/01_allreduce/2.c",
        "store/a/01_allreduce/3.c",      "store/a/13_gemm_allreduce/1.c",
        "store/a/13_gemm_allreduce/2.c", "store/a/13_gemm_allreduce/3.c",
        "store/b/01_allreduce/1.c",      "store/c/01_allreduce/1.cu",
        "store/c/01_allreduce/2.py",     "store/none/README",
    };
    struct pkb_error err = {""};
    char *base = strdup("/tmp/pkb-test-plan.XXXXXX");
    assert_non_null(mkdtemp(base));
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char *path = pkb_format(&err, "%s/%s", base, files[i]);
        char *slash = strrchr(path, '/');
        *slash = '\0';
        assert_int_equal(pkb_mkdirs(path, &err), 0);
        *slash = '/';
        assert_int_equal(pkb_file_write(path, files[i], strlen(files[i]), &err), 0);
        free(path);
    }
    return base;
}

static int setup(void **state)
{
    *state = make_store();
    return 0;
}

static int teardown(void **state)
{
    struct pkb_error err;
    int rc = pkb_remove_tree(*state, &err);
    free(*state);
    return rc;
}

/* The plan of a sweep with these fields; NULL with the error set. */
static struct plan *try_plan(const char *base, const char *fields, double shard_seconds, struct pkb_error *err)
{
    char *text = pkb_format(err, "return sweep { candidates = 'store', %s }", fields);
    char *path = pkb_format(err, "%s/test.lua", base);
    struct sweep *s = sweep_load_text(path, text, strlen(text), err);
    struct plan *p = s ? plan_make(s, shard_seconds, err) : NULL;
    sweep_destroy(s);
    free(path);
    free(text);
    return p;
}

static struct plan *get_plan(const char *base, const char *fields, double shard_seconds)
{
    struct pkb_error err = {""};
    struct plan *p = try_plan(base, fields, shard_seconds, &err);
    if (!p)
        fail_msg("%s: %s", fields, err.text);
    return p;
}

static uint64_t skipped(const struct plan *p)
{
    uint64_t n = 0;
    for (size_t i = 0; i < p->n_skips; i++)
        n += p->skips[i].count;
    return n;
}

/* ---- what must hold of every plan ---------------------------------------------------------------------------------- */

static int compare_cells(const struct plan *p, const struct plan_cell *x, const struct plan_cell *y)
{
    const struct plan_candidate *a = &p->candidates[x->candidate], *b = &p->candidates[y->candidate];
    int world = p->settings[x->setting].world - p->settings[y->setting].world;
    if (world || x->setting != y->setting)
        return world ? world : (x->setting < y->setting ? -1 : 1);
    int model = strcmp(a->model, b->model);
    return model ? model : a->sample - b->sample;
}

static void check_order(const struct plan *p)
{
    for (size_t i = 0; i < p->n_cells; i++) {
        assert_true(p->cells[i].setting < p->n_settings && p->cells[i].candidate < p->n_candidates);
        assert_ptr_equal(p->settings[p->cells[i].setting].problem, p->candidates[p->cells[i].candidate].problem);
        if (i)
            assert_true(compare_cells(p, &p->cells[i - 1], &p->cells[i]) < 0);
    }
}

static void check_used(const struct plan *p)
{
    bool *used = calloc(p->n_settings + p->n_candidates, sizeof(*used));
    assert_non_null(used);
    for (size_t i = 0; i < p->n_cells; i++) {
        used[p->cells[i].setting] = true;
        used[p->n_settings + p->cells[i].candidate] = true;
    }
    for (size_t i = 0; i < p->n_settings + p->n_candidates; i++)
        assert_true(used[i]);
    free(used);
}

/* Shards cover the cells, have one world size, and split a setting only where it is larger than a shard. */
static void check_shards(const struct plan *p, double seconds)
{
    uint64_t next = 0;
    for (size_t i = 0; i < p->n_shards; i++) {
        const struct plan_shard *s = &p->shards[i];
        assert_int_equal(s->id, i);
        assert_int_equal(s->first, next);
        assert_true(s->count > 0);
        for (uint64_t c = s->first; c < s->first + s->count; c++)
            assert_int_equal(p->settings[p->cells[c].setting].world, s->world);
        assert_true(s->seconds <= seconds * 1.0001 || s->count == 1);
        next += s->count;
    }
    assert_int_equal(next, p->n_cells);
}

static void check_plan(const struct plan *p, double seconds)
{
    check_order(p);
    check_used(p);
    check_shards(p, seconds);
}

/* ---- expansion ----------------------------------------------------------------------------------------------------- */

static void test_counts(void **state)
{
    static const struct {
        const char *fields;
        uint64_t cells, settings, candidates, skipped;
    } rows[] = {
        {"problems = 1, models = 'a', gpus = 2", 3, 1, 3, 0},
        {"problems = { 1, 13 }, models = 'a', gpus = { 2, 4 }", 12, 4, 6, 0},
        {"problems = { 1, 13 }, models = { 'a', 'b' }, gpus = 2", 7, 2, 7, 5},
        {"problems = { 1, 13 }, gpus = 2", 7, 2, 7, 17}, /* a b c none */
        {"problems = 1, models = '*', gpus = 2, device = 'cuda'", 2, 1, 2, 10},
        {"problems = 1, models = 'a', gpus = { 1, 2, 4 }, dtypes = { 'f32', 'bf16' }, shapes = { 'tiny', 'paper' }", 36, 12, 3,
         0},
        {"problems = 1, models = 'a', samples = { 2 }, gpus = 2", 1, 1, 1, 0},
        {"problems = 1, models = 'a', samples = 5, gpus = 2", 3, 1, 3, 2},
        {"problems = { 1, 12 }, models = 'a', gpus = 3", 3, 1, 3, 3}, /* K % 3 */
        {"problems = { 1, 13 }, models = 'a', gpus = 2, shapes = { { name = 'k', K = 64 } }", 3, 1, 3, 3},
        {"problems = 1, models = 'a', gpus = { 2, 4 }, where = function(c) return c.world == 4 and c.sample > 1 end", 2, 1, 2, 4},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct plan *p = get_plan(*state, rows[i].fields, 0);
        check_plan(p, 600);
        if (p->n_cells != rows[i].cells || p->n_settings != rows[i].settings || p->n_candidates != rows[i].candidates ||
            skipped(p) != rows[i].skipped)
            fail_msg("%s: %zu cells, %zu settings, %zu candidates, %llu left out", rows[i].fields, p->n_cells, p->n_settings,
                     p->n_candidates, (unsigned long long)skipped(p));
        plan_destroy(p);
    }
}

static void test_reasons(void **state)
{
    static const struct {
        const char *fields, *model;
        int id, world;
        uint64_t count;
        const char *reason;
    } rows[] = {
        {"problems = { 1, 13 }, models = { 'a', 'b' }, gpus = { 2, 4 }", "b", 13, 0, 6, "no candidate"},
        {"problems = { 1, 13 }, models = { 'a', 'b' }, gpus = { 2, 4 }", "b", 1, 0, 4, "no candidate"},
        {"problems = 1, gpus = 2", "c", 1, 0, 2, "no .c candidate; what is there is for another device"},
        {"problems = 1, gpus = 2", "c", 1, 0, 1, "no candidate"},
        {"problems = 1, gpus = 2, device = 'cuda'", "a", 1, 0, 3, "no .cu or .py candidate; what is there is for another device"},
        {"problems = { 1, 12 }, models = 'a', gpus = { 2, 3 }", NULL, 12, 3, 3, "K = 512 is not divisible by 3 ranks"},
        {"problems = 1, models = 'a', gpus = { 2, 4 }, where = function(c) return c.world == 4 end", NULL, 1, 2, 3,
         "left out by where"},
        {"problems = { 1, 13 }, models = 'a', gpus = 2, shapes = { { name = 'k', K = 64 } }", NULL, 1, 2, 3,
         "has none of the parameters of shape \"k\""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct plan *p = get_plan(*state, rows[i].fields, 0);
        size_t k = 0;
        for (; k < p->n_skips; k++) {
            const struct plan_skip *s = &p->skips[k];
            bool same_model = rows[i].model ? s->model && strcmp(s->model, rows[i].model) == 0 : !s->model;
            if (same_model && s->problem->id == rows[i].id && s->world == rows[i].world && s->count == rows[i].count &&
                strcmp(s->reason, rows[i].reason) == 0)
                break;
        }
        if (k == p->n_skips)
            fail_msg("%s: no \"%s\"", rows[i].fields, rows[i].reason);
        plan_destroy(p);
    }
}

static void test_refused(void **state)
{
    static const struct {
        const char *fields, *expected;
    } rows[] = {
        {"problems = 1, models = 'none'", "model \"none\" has no candidate for device host"},
        {"problems = 1, models = 'none'", "store/none/01_allreduce/1.c"},
        {"problems = 1, models = 'c', gpus = 2", "model \"c\" has no candidate for device host"},
        {"problems = 2, models = 'b'", "model \"b\" has no candidate"},
        {"problems = 1, models = 'nobody'", "models: \"nobody\" is not a folder"},
        {"problems = 12, models = '*', gpus = 3",
         "there is no cell to run: all 12 are left out, 12 of them for 12_allgather_gemm: K = 512"},
        {"problems = 1, models = 'a', where = function() return false end",
         "all 3 are left out, 3 of them for 01_allreduce: left out by where"},
        {"problems = 2", "there is no cell to run: all 12 are left out, 3 of them for 02_allgather, model a: no candidate"},
        {"problems = 1, models = 'a', where = function(c) return c.wrld > 1 end", "where: line 1: attempt to compare"},
        {"problems = 1, models = 'a', time = function(c) return -1 end", "time: expected seconds from 0 to 1e9"},
        {"problems = 1, models = 'a', time = function(c) end", "time: expected a number of seconds, found nil"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pkb_error err = {""};
        struct plan *p = try_plan(*state, rows[i].fields, 0, &err);
        if (p || !strstr(err.text, rows[i].expected))
            fail_msg("%s: %s", rows[i].fields, p ? "was accepted" : err.text);
    }
}

static void write_file(const char *base, const char *name)
{
    struct pkb_error err = {""};
    char *path = pkb_format(&err, "%s/%s", base, name);
    if (pkb_file_write(path, name, strlen(name), &err) < 0)
        fail_msg("%s", err.text);
    free(path);
}

static void remove_path(const char *base, const char *name)
{
    char *path = pkb_format(NULL, "%s/%s", base, name);
    struct pkb_error err;
    assert_int_equal(pkb_remove_tree(path, &err), 0);
    free(path);
}

static void test_store_mistakes(void **state)
{
    struct pkb_error err = {""};
    char *path = pkb_format(NULL, "%s/store/b/01_allreduce/2.c", (char *)*state);
    write_file(*state, "store/c/01_allreduce/2.cu");
    assert_null(try_plan(*state, "problems = 1, models = 'c', device = 'cuda'", 0, &err));
    assert_non_null(strstr(err.text, "store/c/01_allreduce holds 2.cu and 2.py, two candidates for one sample"));
    remove_path(*state, "store/c/01_allreduce/2.cu");

    write_file(*state, "store/b/01_allreduce/1.cu"); /* for another device: no conflict */
    struct plan *p = get_plan(*state, "problems = 1, models = 'b', gpus = 2", 0);
    assert_int_equal(p->n_cells, 1);
    plan_destroy(p);
    remove_path(*state, "store/b/01_allreduce/1.cu");

    assert_int_equal(pkb_mkdirs(path, &err), 0);
    assert_null(try_plan(*state, "problems = 1, models = 'b'", 0, &err));
    assert_non_null(strstr(err.text, "store/b/01_allreduce/2.c is not a regular file"));
    remove_path(*state, "store/b/01_allreduce/2.c");

    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_null(try_plan(*state, "problems = 1, models = 'b'", 0, &err));
    assert_non_null(strstr(err.text, "store/b/01_allreduce/2.c is not a regular file"));
    assert_int_equal(unlink(path), 0);

    write_file(*state, "store/b/01_allreduce/2.c");
    assert_int_equal(truncate(path, (off_t)17 << 20), 0);
    assert_null(try_plan(*state, "problems = 1, models = 'b'", 0, &err));
    assert_non_null(strstr(err.text, "more than the limit of 16 MiB"));
    assert_int_equal(unlink(path), 0);
    free(path);
}

/* ---- the sweeps that come with pkb --------------------------------------------------------------------------------- */

static char *shipped(const char *name)
{
    const char *top = getenv("srcdir");
    char *path = pkb_format(NULL, "%s/sweeps/%s", top ? top : ".", name);
    assert_non_null(path);
    return path;
}

static void test_quick(void **state)
{
    struct pkb_error err = {""};
    char *path = shipped("quick.lua");
    struct sweep *s = sweep_load(path, &err);
    (void)state;
    struct plan *p = s ? plan_make(s, 0, &err) : NULL;
    if (!p)
        fail_msg("%s", err.text);
    check_plan(p, 600);
    assert_int_equal(p->n_candidates, 54); /* 3 models, 6 problems, 3 samples: none is missing */
    assert_int_equal(p->n_cells, 108);
    plan_destroy(p);
    sweep_destroy(s);
    free(path);
}

/* paper and scaling name a store that users bring: here one with a single candidate of each model. */
static void test_for_clusters(void **state)
{
    static const char *const models[] = {"claude-opus-4.7", "deepseek-v4-pro", "gemini-3-pro",
                                         "glm-5.1",         "gpt-5.5",         "qwen3-coder"};
    static const struct {
        const char *name;
        size_t cells;
    } rows[] = {{"paper.lua", 6}, {"scaling.lua", 6 * (4 * 3 + 1)}};
    struct pkb_error err = {""};
    char file[256];
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        (void)snprintf(file, sizeof(file), "%s/candidates/%s/01_allreduce", (char *)*state, models[i]);
        assert_int_equal(pkb_mkdirs(file, &err), 0);
        (void)snprintf(file, sizeof(file), "candidates/%s/01_allreduce/1.cu", models[i]);
        write_file(*state, file);
    }
    (void)snprintf(file, sizeof(file), "%s/sweeps", (char *)*state);
    assert_int_equal(pkb_mkdirs(file, &err), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *path = shipped(rows[i].name), *text;
        size_t size;
        assert_int_equal(pkb_file_read(path, 0, &text, &size, &err), 0);
        (void)snprintf(file, sizeof(file), "%s/sweeps/%s", (char *)*state, rows[i].name);
        struct sweep *s = sweep_load_text(file, text, size, &err);
        struct plan *p = s ? plan_make(s, 0, &err) : NULL;
        if (!p)
            fail_msg("%s", err.text);
        check_plan(p, 600);
        assert_int_equal(p->n_cells, rows[i].cells);
        plan_destroy(p);
        sweep_destroy(s);
        free(text);
        free(path);
    }
}

/* ---- shards -------------------------------------------------------------------------------------------------------- */

static void test_shards(void **state)
{
    static const struct {
        const char *time;
        double seconds;
        size_t shards;
    } rows[] = {
        {"return 10", 600, 2}, /* one per world size */
        {"return 10", 60, 2},  /* 60 s per world size fit exactly */
        {"return 10", 30, 4},  /* one per setting */
        {"return 10", 59, 4},  /* a setting is not split */
        {"return 10", 20, 8},  /* settings of 30 s are: 2 + 1 cells */
        {"return 10", 5, 12},  /* one per cell */
        {"return 0", 1, 2},    /* no time at all */
        {"return cell.world == 4 and 100 or 1", 50, 7},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pkb_error err;
        char *fields =
            pkb_format(&err, "problems = { 1, 13 }, models = 'a', gpus = { 2, 4 }, time = function(cell) %s end", rows[i].time);
        struct plan *p = get_plan(*state, fields, rows[i].seconds);
        check_plan(p, rows[i].seconds);
        if (p->n_shards != rows[i].shards)
            fail_msg("%s, %g s: %zu shards", rows[i].time, rows[i].seconds, p->n_shards);
        plan_destroy(p);
        free(fields);
    }
}

static void test_estimate(void **state)
{
    struct plan *small = get_plan(*state, "problems = 13, models = 'a', gpus = 2, shapes = 'tiny'", 0);
    struct plan *large = get_plan(*state, "problems = 13, models = 'a', gpus = 2, shapes = 'paper'", 0);
    struct plan *limited =
        get_plan(*state, "problems = 13, models = 'a', gpus = 2, shapes = 'paper', limits = { seconds = 1 }", 0);
    assert_true(small->shards[0].seconds > 0);
    assert_true(large->shards[0].seconds > 10 * small->shards[0].seconds);
    assert_true(limited->shards[0].seconds <= 3);
    plan_destroy(small);
    plan_destroy(large);
    plan_destroy(limited);
}

/* ---- digests ------------------------------------------------------------------------------------------------------- */

static void digest_of(const struct plan *p, size_t cell, char hex[PKB_DIGEST_HEX])
{
    struct pkb_error err;
    struct pkb_digest *d = pkb_digest_create(&err);
    assert_non_null(d);
    assert_int_equal(plan_cell_digest(p, &p->cells[cell], d, hex, &err), 0);
    pkb_digest_destroy(d);
}

#define STABLE "problems = 1, models = 'a', samples = { 1 }, gpus = 2, shapes = 'tiny'"

/* Records of finished runs refer to these: a change needs a new format. */
static void test_digests_are_stable(void **state)
{
    char hex[PKB_DIGEST_HEX];
    struct plan *p = get_plan(*state, STABLE, 0);
    digest_of(p, 0, hex);
    assert_string_equal(p->settings[0].digest, "18ed4fce33ef155ac9742eba1bf057c3712d4aa197319900bf365909f80562c9");
    assert_string_equal(p->candidates[0].digest, "877e684c84946c432f07b5c015226b61e93a32e084b1d372ded843f607eecedc");
    assert_string_equal(hex, "d1e56ab5762887ac33bc6b38fc4be58a289634949feac7275375ff17ff522748");
    plan_destroy(p);
}

/* Everything that determines an evaluation changes the digest; limits and names do not. */
static void test_digests_tell_apart(void **state)
{
    static const struct {
        const char *fields;
        bool same;
    } rows[] = {
        {STABLE ", limits = { seconds = 7, memory_mb = 77 }", true},
        {STABLE ", name = 'other', time = function() return 3 end", true},
        {STABLE ", trials = 4", false},
        {STABLE ", seed = 2", false},
        {STABLE ", inputs = 'pkb'", false},
        {STABLE ", tolerance = 'pkb'", false},
        {STABLE ", tolerance = { atol = 0.1 }", false},
        {STABLE ", tolerance = { rtol = 0.1 }", false},
        {STABLE ", iterations = { warmup = 1 }", false},
        {STABLE ", iterations = { timed = 1 }", false},
        {"problems = 1, models = 'a', samples = { 1 }, gpus = 4, shapes = 'tiny'", false},
        {"problems = 1, models = 'a', samples = { 1 }, gpus = 2, shapes = 'paper'", false},
        {"problems = 1, models = 'a', samples = { 2 }, gpus = 2, shapes = 'tiny'", false},
        {"problems = 1, models = 'b', samples = { 1 }, gpus = 2, shapes = 'tiny'", false},
        {"problems = 13, models = 'a', samples = { 1 }, gpus = 2, shapes = 'tiny'", false},
        {"problems = 1, models = 'a', samples = { 1 }, gpus = 2, shapes = 'tiny', dtypes = 'f32'", false},
        {"problems = 1, models = 'a', samples = { 1 }, gpus = 2, shapes = { { name = 'x', base = 'tiny', M = 8 } }", false},
    };
    char first[PKB_DIGEST_HEX], hex[PKB_DIGEST_HEX];
    struct plan *p = get_plan(*state, STABLE, 0);
    digest_of(p, 0, first);
    plan_destroy(p);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        p = get_plan(*state, rows[i].fields, 0);
        digest_of(p, 0, hex);
        if ((strcmp(hex, first) == 0) != rows[i].same)
            fail_msg("%s: the digest is %s", rows[i].fields, rows[i].same ? "another" : "the same");
        plan_destroy(p);
    }
}

/* ---- files --------------------------------------------------------------------------------------------------------- */

#define ROUND_TRIP                                                                                                               \
    "problems = { 1, 12, 13 }, models = { 'a', 'b' }, gpus = { 2, 3, 4 }, shapes = { 'tiny', { name = 'w', N = 100 } }, "        \
    "seed = 9007199254740993, tolerance = { atol = 0.1, rtol = 1e-9 }, time = function() return 11 end"

static void same_cells(const struct plan *a, const struct plan *b, uint64_t first, uint64_t count)
{
    assert_int_equal(b->n_cells, count);
    assert_int_equal(b->first_cell, first);
    assert_memory_equal(a->cells + first, b->cells, count * sizeof(*a->cells));
}

static void same_settings(const struct plan *a, const struct plan *b)
{
    assert_int_equal(a->n_settings, b->n_settings);
    for (size_t i = 0; i < a->n_settings; i++) {
        const struct plan_setting *x = &a->settings[i], *y = &b->settings[i];
        assert_ptr_equal(x->problem, y->problem);
        assert_memory_equal(x->params, y->params, sizeof(x->params));
        assert_true(x->world == y->world && x->dtype == y->dtype && x->trials == y->trials && x->warmup == y->warmup);
        assert_true(x->iterations == y->iterations && x->seed == y->seed && x->inputs == y->inputs);
        assert_true(x->tolerance == y->tolerance && x->atol == y->atol && x->rtol == y->rtol);
        assert_true(x->limit_seconds == y->limit_seconds && x->limit_memory_mb == y->limit_memory_mb);
        assert_string_equal(x->shape, y->shape);
        assert_string_equal(x->device, y->device);
        assert_string_equal(x->digest, y->digest);
    }
}

static void same_rest(const struct plan *a, const struct plan *b)
{
    assert_int_equal(a->n_candidates, b->n_candidates);
    for (size_t i = 0; i < a->n_candidates; i++) {
        const struct plan_candidate *x = &a->candidates[i], *y = &b->candidates[i];
        assert_ptr_equal(x->problem, y->problem);
        assert_int_equal(x->sample, y->sample);
        assert_string_equal(x->model, y->model);
        assert_string_equal(x->path, y->path);
        assert_string_equal(x->kind, y->kind);
        assert_string_equal(x->digest, y->digest);
    }
    assert_int_equal(a->n_shards, b->n_shards);
    for (size_t i = 0; i < a->n_shards; i++) {
        assert_int_equal(a->shards[i].first, b->shards[i].first);
        assert_int_equal(a->shards[i].count, b->shards[i].count);
        assert_true(a->shards[i].seconds == b->shards[i].seconds);
    }
    assert_int_equal(a->n_skips, b->n_skips);
    for (size_t i = 0; i < a->n_skips; i++) {
        assert_int_equal(a->skips[i].count, b->skips[i].count);
        assert_string_equal(a->skips[i].reason, b->skips[i].reason);
        assert_true(!a->skips[i].model == !b->skips[i].model);
    }
}

static void test_round_trip(void **state)
{
    struct pkb_error err = {""};
    struct plan *p = get_plan(*state, ROUND_TRIP, 40);
    assert_true(p->n_shards > 3 && p->n_skips > 0);
    assert_int_equal(plan_save(p, *state, &err), 0);
    struct plan *q = plan_load(*state, &err);
    if (!q)
        fail_msg("%s", err.text);
    same_cells(p, q, 0, p->n_cells);
    same_settings(p, q);
    same_rest(p, q);
    plan_destroy(q);
    for (size_t i = 0; i < p->n_shards; i++) {
        q = plan_load_shard(*state, (int)i, &err);
        if (!q)
            fail_msg("%s", err.text);
        same_cells(p, q, p->shards[i].first, p->shards[i].count);
        same_settings(p, q);
        same_rest(p, q);
        plan_destroy(q);
    }
    assert_null(plan_load_shard(*state, (int)p->n_shards, &err));
    assert_non_null(strstr(err.text, "there is no shard"));
    assert_null(plan_load_shard(*state, -1, &err));
    plan_destroy(p);
}

static void test_missing_files(void **state)
{
    struct pkb_error err = {""};
    struct plan *p = get_plan(*state, STABLE, 0);
    assert_null(plan_load("/nonexistent", &err));
    assert_non_null(strstr(err.text, "plan of /nonexistent: /nonexistent/plan/plan.json: No such file"));
    assert_int_equal(plan_save(p, *state, &err), 0);
    remove_path(*state, "plan/cells");
    assert_null(plan_load(*state, &err));
    assert_non_null(strstr(err.text, "plan/cells: No such file"));
    assert_null(plan_load_shard(*state, 0, &err));
    assert_int_equal(plan_save(p, "/proc/1", &err), -1);
    plan_destroy(p);
}

/* The three files of a saved plan; `text` owns what `plan` points to. */
struct texts {
    char *text[3];
    struct plan_texts plan;
};

static struct texts saved_texts(const char *base, const char *fields)
{
    static const char *const names[] = {"plan.json", "shards", "cells"};
    struct pkb_error err = {""};
    struct texts t;
    size_t size[3];
    struct plan *p = get_plan(base, fields, 40);
    assert_int_equal(plan_save(p, base, &err), 0);
    plan_destroy(p);
    for (int i = 0; i < 3; i++) {
        char *path = pkb_format(&err, "%s/plan/%s", base, names[i]);
        assert_int_equal(pkb_file_read(path, 0, &t.text[i], &size[i], &err), 0);
        free(path);
    }
    t.plan = (struct plan_texts){t.text[0], t.text[1], t.text[2], size[0], size[1], size[2]};
    return t;
}

static void free_texts(struct texts *t)
{
    for (int i = 0; i < 3; i++)
        free(t->text[i]);
}

static bool accepted(const struct plan_texts *t, struct pkb_error *err)
{
    struct plan *p = plan_load_text(t, err);
    plan_destroy(p);
    return p != NULL;
}

/* Every single damage to the text of `size` bytes is noticed, and every missing end. */
static void check_damage(const struct plan_texts *t, char *text, size_t *size)
{
    static const char other[] = {'0', '9', '\n'};
    struct pkb_error err = {""};
    assert_true(accepted(t, &err));
    for (size_t i = 0; i < *size; i++) {
        char saved = text[i];
        for (size_t k = 0; k < sizeof(other); k++) {
            text[i] = other[k];
            if (other[k] != saved)
                assert_false(accepted(t, &err));
        }
        text[i] = saved;
    }
    for (size_t whole = *size; (*size)-- > 0;)
        assert_true(*size == whole || !accepted(t, &err));
}

static void test_damaged_cells(void **state)
{
    struct texts t = saved_texts(*state, ROUND_TRIP);
    check_damage(&t.plan, t.text[2], &t.plan.cells_size);
    free_texts(&t);
}

static void test_damaged_shards(void **state)
{
    struct texts t = saved_texts(*state, ROUND_TRIP);
    check_damage(&t.plan, t.text[1], &t.plan.shards_size);
    free_texts(&t);
}

/* Damage to plan.json is refused or changes nothing but texts: it never reads outside, which the sanitizers watch. */
static void test_damaged_index(void **state)
{
    struct pkb_error err = {""};
    struct texts t = saved_texts(*state, ROUND_TRIP);
    uint32_t random = 7;
    int refused = 0;
    size_t whole = t.plan.json_size;
    for (int i = 0; i < 3000; i++) {
        random = random * 1664525 + 1013904223;
        size_t at = (random >> 4) % whole;
        char saved = t.text[0][at];
        t.text[0][at] = i % 2 ? (char)(saved ^ (1 << (random >> 29))) : "0123456789-.,:\"[]{}e "[(random >> 24) % 21];
        refused += !accepted(&t.plan, &err);
        t.text[0][at] = saved;
    }
    assert_true(refused > 1500);
    for (t.plan.json_size = 0; t.plan.json_size + 1 < whole; t.plan.json_size += 37)
        assert_false(accepted(&t.plan, &err));
    t.plan.json_size = whole;
    assert_true(accepted(&t.plan, &err));
    free_texts(&t);
}

/* Replaces the first `from` of the index by `to`. */
static char *replaced(const char *json, const char *from, const char *to)
{
    const char *at = strstr(json, from);
    if (!at)
        fail_msg("there is no %s in the plan", from);
    return pkb_format(NULL, "%.*s%s%s", (int)(at - json), json, to, at + strlen(from));
}

static void test_wrong_index(void **state)
{
    static const struct {
        const char *from, *to, *expected;
    } rows[] = {
        {"\"format\":1", "\"format\":2", "plan.json: format 2 is of a newer pkb"},
        {"\"format\":1", "\"format\":\"1\"", "plan.json: format: expected an integer"},
        {"\"format\":1,", "", "plan.json: format: missing"},
        {"\"cells\":3", "\"cells\":4", "shards: they hold 3 cells, not 4"},
        {"\"cells\":3", "\"cells\":0", "cells: 0 is outside 1.."},
        {"\"cells\":3", "\"cells\":99999999999", "cells: 99999999999 is outside"},
        {"\"shards\":1", "\"shards\":0", "shards: 0 is outside 1..3"},
        {"\"shards\":1", "\"shards\":2", "shards: 106 bytes, expected 212 for 2 shards"},
        {"\"shards\":1", "\"shards\":4", "shards: 4 is outside 1..3"},
        {"\"shards_digest\":\"", "\"shards_digest\":\"0", "shards_digest: expected 64 hexadecimal digits"},
        {"\"problem\":\"01_allreduce\"", "\"problem\":\"1\"", "this pkb knows no \"1\""},
        {"\"problem\":\"01_allreduce\"", "\"problem\":\"99_x\"",
         "settings: entry 1: setting: problem: this pkb knows no \"99_x\""},
        {"\"world\":2", "\"world\":4", "the digest does not belong to these values"},
        {"\"world\":2", "\"world\":0", "world: 0 is outside 1.."},
        {"\"trials\":5", "\"trials\":6", "the digest does not belong to these values"},
        {"\"trials\":5", "\"trials\":2000", "trials: 2000 is outside"},
        {"\"M\":24", "\"M\":25", "the digest does not belong to these values"},
        {"\"M\":24", "\"M\":2.5", "M = 2.5 is not a whole number"},
        {"\"M\":24", "\"M\":-24", "M = -24 is negative"},
        {"\"M\":24", "\"M\":1e15", "setting"},
        {"\"M\":24,", "", "params: 01_allreduce has 2, found 1"},
        {"\"dtype\":\"bf16\"", "\"dtype\":\"b16\"", "dtype: there is no \"b16\""},
        {"\"dtype\":\"bf16\"", "\"dtype\":\"i32\"", "dtype i32"},
        {"\"shape\":\"tiny\"", "\"shape\":\"../x\"", "shape: \"../x\" must consist of letters"},
        {"\"inputs\":\"hardened\"", "\"inputs\":\"soft\"", "inputs: expected \"hardened\" or \"pkb\""},
        {"\"limits\":{", "\"limits\":3,\"x\":{", "limits: expected an object"},
        {"\"model\":\"a\"", "\"model\":\"a/b\"", "candidates: entry 1: model: not a name"},
        {"\"model\":\"a\"", "\"model\":3", "candidates: entry 1: model: expected a string"},
        {"\"sample\":1", "\"sample\":0", "sample: 0 is outside"},
        {"\"kind\":\"c\"", "\"kind\":\"x\"", "kind: expected c, cu or py"},
        {"\"candidates\":[", "\"candidates\":[], \"x\":[", "cells: line 1: setting 0 or candidate 0 does not exist"},
        {"\"settings\":[", "\"settings\":{}, \"x\":[", "settings: expected a list"},
        {"\"skipped\":[]", "\"skipped\":[1]", "skipped: entry 1: problem: missing"},
    };
    struct texts t =
        saved_texts(*state, "problems = 1, models = 'a', gpus = 2, shapes = 'tiny', time = function() return 11 end");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pkb_error err = {""};
        struct plan_texts u = t.plan;
        char *json = replaced(t.text[0], rows[i].from, rows[i].to);
        u.json = json;
        u.json_size = strlen(json);
        if (accepted(&u, &err) || !strstr(err.text, rows[i].expected))
            fail_msg("%s -> %s: %s", rows[i].from, rows[i].to, err.text[0] ? err.text : "accepted");
        free(json);
    }
    free_texts(&t);
}

/* Lines of plan/shards that are whole and fit their digest, but say something wrong. */
static void test_wrong_shards(void **state)
{
    static const struct {
        size_t column;
        const char *digits, *expected;
    } rows[] = {
        {0, "0004", "shards: line 1: its cells have another world size"},
        {5, "000000001", "shards: line 1: not behind the one before it"},
        {15, "000000000", "shards: line 1: not behind the one before it"},
        {15, "000000002", "shards: they hold 2 cells, not 3"},
        {15, "999999999", "shards: they hold 999999999 cells, not 3"},
        {15, "00000000x", "shards: line 1: expected four numbers and a digest"},
        {25, "-00000000000001", "shards: line 1: expected four numbers and a digest"},
        {41, "00", "cells: lines 1 to 3 are not those that were written"},
    };
    struct texts t =
        saved_texts(*state, "problems = 1, models = 'a', gpus = 2, shapes = 'tiny', time = function() return 11 end");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pkb_error err = {""};
        struct plan_texts u = t.plan;
        char before[PKB_DIGEST_HEX], after[PKB_DIGEST_HEX], *shards = strdup(t.text[1]);
        memcpy(shards + rows[i].column, rows[i].digits, strlen(rows[i].digits));
        assert_int_equal(pkb_digest_buffer(t.text[1], u.shards_size, before, &err), 0);
        assert_int_equal(pkb_digest_buffer(shards, u.shards_size, after, &err), 0);
        char *json = replaced(t.text[0], before, after);
        u.shards = shards;
        u.json = json;
        if (accepted(&u, &err) || !strstr(err.text, rows[i].expected))
            fail_msg("%s at %zu: %s", rows[i].digits, rows[i].column, err.text[0] ? err.text : "accepted");
        free(json);
        free(shards);
    }
    free_texts(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reasons, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_store_mistakes, setup, teardown),
        cmocka_unit_test(test_quick),
        cmocka_unit_test_setup_teardown(test_for_clusters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shards, setup, teardown),
        cmocka_unit_test_setup_teardown(test_estimate, setup, teardown),
        cmocka_unit_test_setup_teardown(test_digests_are_stable, setup, teardown),
        cmocka_unit_test_setup_teardown(test_digests_tell_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_missing_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_cells, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_shards, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_index, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_index, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_shards, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
