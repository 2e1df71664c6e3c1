/* SPDX-License-Identifier: Apache-2.0 */
/* Saved plans: they survive being written and read, and damaged ones are refused. */
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

#define STABLE "problems = 1, models = 'a', samples = { 1 }, gpus = 2, shapes = 'tiny'"

/* ---- whole --------------------------------------------------------------------------------------------------------- */

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
    store_remove(*state, "plan/cells");
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
        cmocka_unit_test_setup_teardown(test_round_trip, plan_store_setup, plan_store_teardown),
        cmocka_unit_test_setup_teardown(test_missing_files, plan_store_setup, plan_store_teardown),
        cmocka_unit_test_setup_teardown(test_damaged_cells, plan_store_setup, plan_store_teardown),
        cmocka_unit_test_setup_teardown(test_damaged_shards, plan_store_setup, plan_store_teardown),
        cmocka_unit_test_setup_teardown(test_damaged_index, plan_store_setup, plan_store_teardown),
        cmocka_unit_test_setup_teardown(test_wrong_index, plan_store_setup, plan_store_teardown),
        cmocka_unit_test_setup_teardown(test_wrong_shards, plan_store_setup, plan_store_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
