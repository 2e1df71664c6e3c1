/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: what they hold. */
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
#include "tests/support/plan_store.h"
#include "util/file.h"

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

static void test_store_mistakes(void **state)
{
    struct pkb_error err = {""};
    char *path = pkb_format(NULL, "%s/store/b/01_allreduce/2.c", (char *)*state);
    store_write(*state, "store/c/01_allreduce/2.cu");
    assert_null(try_plan(*state, "problems = 1, models = 'c', device = 'cuda'", 0, &err));
    assert_non_null(strstr(err.text, "store/c/01_allreduce holds 2.cu and 2.py, two candidates for one sample"));
    store_remove(*state, "store/c/01_allreduce/2.cu");

    store_write(*state, "store/b/01_allreduce/1.cu"); /* for another device: no conflict */
    struct plan *p = get_plan(*state, "problems = 1, models = 'b', gpus = 2", 0);
    assert_int_equal(p->n_cells, 1);
    plan_destroy(p);
    store_remove(*state, "store/b/01_allreduce/1.cu");

    assert_int_equal(pkb_mkdirs(path, &err), 0);
    assert_null(try_plan(*state, "problems = 1, models = 'b'", 0, &err));
    assert_non_null(strstr(err.text, "store/b/01_allreduce/2.c is not a regular file"));
    store_remove(*state, "store/b/01_allreduce/2.c");

    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_null(try_plan(*state, "problems = 1, models = 'b'", 0, &err));
    assert_non_null(strstr(err.text, "store/b/01_allreduce/2.c is not a regular file"));
    assert_int_equal(unlink(path), 0);

    store_write(*state, "store/b/01_allreduce/2.c");
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
    struct plan *p = s ? plan_make(s, 0, NULL, &err) : NULL;
    if (!p)
        fail_msg("%s", err.text);
    check_plan(p, 600);
    assert_int_equal(p->n_candidates, 54); /* 3 models, 6 problems, 3 samples: none is missing */
    assert_int_equal(p->n_cells, 108);
    plan_destroy(p);
    sweep_destroy(s);
    free(path);
}

/* paper and scaling name a store that users bring: here one with `samples` candidates of each model for the problems up to `last`. */
static void fill_store(const char *base, int last, int samples)
{
    static const char *const models[] = {"claude-opus-4.7",      "deepseek-v4-pro", "gemini-3-pro",
                                         "gemini-3-pro-agentic", "glm-5.1",         "gpt-5.5"};
    struct pkb_error err;
    char file[256];
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        for (int id = 1; id <= last; id++) {
            const char *name = problem_by_id(id)->name;
            (void)snprintf(file, sizeof(file), "%s/candidates/%s/%s", base, models[i], name);
            assert_int_equal(pkb_mkdirs(file, &err), 0);
            for (int k = 1; k <= samples; k++) {
                (void)snprintf(file, sizeof(file), "candidates/%s/%s/%d.cu", models[i], name, k);
                store_write(base, file);
            }
        }
    }
    (void)snprintf(file, sizeof(file), "%s/sweeps", base);
    assert_int_equal(pkb_mkdirs(file, &err), 0);
}

/* The plan of a shipped sweep as if it lay beside the store. */
static struct plan *plan_shipped(const char *base, const char *name)
{
    struct pkb_error err = {""};
    char file[256], *path = shipped(name), *text;
    size_t size;
    assert_int_equal(pkb_file_read(path, 0, &text, &size, &err), 0);
    (void)snprintf(file, sizeof(file), "%s/sweeps/%s", base, name);
    struct sweep *s = sweep_load_text(file, text, size, &err);
    struct plan *p = s ? plan_make(s, 0, NULL, &err) : NULL;
    if (!p)
        fail_msg("%s", err.text);
    check_plan(p, 600);
    sweep_destroy(s);
    free(text);
    free(path);
    return p;
}

static void test_scaling(void **state)
{
    fill_store(*state, 1, 1);
    struct plan *p = plan_shipped(*state, "scaling.lua");
    assert_int_equal(p->n_cells, 6 * (4 * 3 + 1));
    plan_destroy(p);
}

/* Every problem runs on 8 GPUs at the paper's sizes. */
static void test_paper(void **state)
{
    fill_store(*state, 87, 3);
    struct plan *p = plan_shipped(*state, "paper.lua");
    if (p->n_skips > 0)
        fail_msg("%s: %s", p->skips[0].problem ? p->skips[0].problem->name : "all", p->skips[0].reason);
    assert_int_equal(p->n_settings, 87);
    assert_int_equal(p->n_cells, 87 * 6 * 3);
    plan_destroy(p);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_counts, plan_store_setup, plan_store_teardown),
        cmocka_unit_test_setup_teardown(test_reasons, plan_store_setup, plan_store_teardown),
        cmocka_unit_test_setup_teardown(test_refused, plan_store_setup, plan_store_teardown),
        cmocka_unit_test_setup_teardown(test_store_mistakes, plan_store_setup, plan_store_teardown),
        cmocka_unit_test(test_quick),
        cmocka_unit_test_setup_teardown(test_scaling, plan_store_setup, plan_store_teardown),
        cmocka_unit_test_setup_teardown(test_paper, plan_store_setup, plan_store_teardown),
        cmocka_unit_test_setup_teardown(test_shards, plan_store_setup, plan_store_teardown),
        cmocka_unit_test_setup_teardown(test_estimate, plan_store_setup, plan_store_teardown),
        cmocka_unit_test_setup_teardown(test_digests_are_stable, plan_store_setup, plan_store_teardown),
        cmocka_unit_test_setup_teardown(test_digests_tell_apart, plan_store_setup, plan_store_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
