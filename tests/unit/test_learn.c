/* SPDX-License-Identifier: Apache-2.0 */
/* What earlier runs took, and the shards that follow from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/learn.h"
#include "orchestrator/rundir.h"
#include "tests/support/folder.h"
#include "tests/support/plan_store.h"
#include "tests/support/synthetic.h"
#include "util/file.h"
#include "util/json.h"

static struct plan_setting setting_of(int id, int world)
{
    struct plan *p = synthetic_plan(id, 1, &world, 1, 1);
    struct plan_setting s = p->settings[id - 1];
    s.limit_seconds = 1e6;
    plan_destroy(p);
    return s;
}

static struct estimates *with(const struct plan_setting *s, const struct estimate_sample *m)
{
    struct pkb_error err;
    struct estimates *e = estimates_create(&err);
    assert_non_null(e);
    assert_int_equal(estimates_add(e, s, m, &err), 0);
    return e;
}

/* ---- estimates ----------------------------------------------------------------------------------------------------- */

static void other_world(struct plan_setting *s)
{
    s->world = 4;
}
static void other_dtype(struct plan_setting *s)
{
    s->dtype++;
}
static void other_device(struct plan_setting *s)
{
    (void)strcpy(s->device, "cuda");
}
static void other_size(struct plan_setting *s)
{
    s->params[0] += 1;
}
static void other_problem(struct plan_setting *s)
{
    *s = setting_of(2, 2);
}
static void other_name(struct plan_setting *s)
{
    (void)strcpy(s->shape, "mine");
}
static void other_seed(struct plan_setting *s)
{
    s->seed++;
}
static void other_digest(struct plan_setting *s)
{
    s->digest[0] = 'z';
}

static void test_what_counts_as_the_same_setting(void **state)
{
    static const struct {
        const char *name;
        void (*change)(struct plan_setting *s);
        bool known;
    } rows[] = {
        {"world", other_world, false}, {"dtype", other_dtype, false},     {"device", other_device, false},
        {"size", other_size, false},   {"problem", other_problem, false}, {"name of the shape", other_name, true},
        {"seed", other_seed, true},    {"digest", other_digest, true},
    };
    const struct plan_setting s = setting_of(1, 2);
    struct estimates *e = with(&s, &(struct estimate_sample){40, 10, 6, 2});
    struct estimate plain, found;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct plan_setting other = s;
        rows[i].change(&other);
        if (estimates_find(e, &other, &found) != rows[i].known)
            fail_msg("another %s", rows[i].name);
        assert_false(estimates_find(NULL, &other, &plain));
        assert_float_equal(found.cell, rows[i].known ? 4 : plain.cell, 1e-9);
        assert_float_equal(found.reference, rows[i].known ? 3 : 0, 1e-9);
    }
    estimates_destroy(e);
}

static void test_samples_count_by_their_cells(void **state)
{
    struct pkb_error err;
    const struct plan_setting s = setting_of(1, 2), t = setting_of(1, 4);
    struct estimates *e = with(&s, &(struct estimate_sample){10, 10, 0, 0});
    struct estimate found;
    (void)state;
    assert_true(estimates_find(e, &s, &found));
    assert_float_equal(found.cell, 1, 1e-9);
    assert_float_equal(found.reference, 0, 1e-9);
    assert_int_equal(estimates_add(e, &t, &(struct estimate_sample){7, 1, 0, 0}, &err), 0);
    assert_int_equal(estimates_add(e, &s, &(struct estimate_sample){90, 30, 8, 1}, &err), 0);
    assert_true(estimates_find(e, &s, &found));
    assert_float_equal(found.cell, 2.5, 1e-9);
    assert_float_equal(found.reference, 8, 1e-9);
    assert_true(estimates_find(e, &t, &found));
    assert_float_equal(found.cell, 7, 1e-9);
    estimates_destroy(e);
    assert_false(estimates_find(NULL, &s, &found));
}

static void test_no_cell_is_no_knowledge(void **state)
{
    const struct plan_setting s = setting_of(1, 2);
    struct estimates *e = with(&s, &(struct estimate_sample){0, 0, 5, 1});
    struct estimate plain, found;
    (void)state;
    assert_false(estimates_find(e, &s, &found));
    assert_false(estimates_find(NULL, &s, &plain));
    assert_float_equal(found.cell, plain.cell, 0);
    assert_float_equal(found.reference, 0, 0);
    estimates_destroy(e);
}

static void test_other_numbers_of_calls_scale(void **state)
{
    const struct plan_setting s = setting_of(1, 2);
    struct plan_setting more = s, limited = s;
    struct estimates *e = with(&s, &(struct estimate_sample){20, 10, 3, 1});
    struct estimate before, after, found;
    (void)state;
    more.iterations *= 100000;
    assert_false(estimates_find(NULL, &s, &before));
    assert_false(estimates_find(NULL, &more, &after));
    assert_true(after.cell > 2 * before.cell);
    assert_true(estimates_find(e, &more, &found));
    assert_float_equal(found.cell, 2 * after.cell / before.cell, 1e-6);
    assert_float_equal(found.reference, 3 * after.cell / before.cell, 1e-6);
    limited.limit_seconds = 0.5;
    assert_true(estimates_find(e, &limited, &found));
    assert_float_equal(found.cell, 0.5, 0);
    estimates_destroy(e);
}

/* ---- shards -------------------------------------------------------------------------------------------------------- */

/* Problem 1 with three samples on 2 ranks; the reference takes 20 s, a cell 10 s. */
static void test_shards(void **state)
{
    static const struct {
        double seconds;
        const char *time;
        size_t shards, learned;
        double first;
    } rows[] = {
        {50, "", 1, 1, 50},
        {49, "", 2, 1, 40}, /* 20 + 10 + 10, 20 + 10 */
        {35, "", 3, 1, 30},
        {1, "", 3, 1, 30},
        {49, ", time = function(cell) return 15 end", 1, 0, 45}, /* stronger than what was learned */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pkb_error err = {""};
        char *text = pkb_format(&err, "return sweep { candidates = 'store', problems = { 1 }, models = 'a', gpus = { 2 }%s }",
                                rows[i].time);
        char *path = pkb_format(&err, "%s/test.lua", (const char *)*state);
        struct sweep *s = sweep_load_text(path, text, strlen(text), &err);
        struct plan *plain = s ? plan_make(s, rows[i].seconds, NULL, &err) : NULL;
        if (!plain)
            fail_msg("%s", err.text);
        struct estimates *e = with(&plain->settings[0], &(struct estimate_sample){30, 3, 20, 1});
        struct plan *p = plan_make(s, rows[i].seconds, e, &err);
        assert_non_null(p);
        assert_int_equal(p->n_shards, rows[i].shards);
        assert_int_equal(p->n_learned, rows[i].learned);
        assert_float_equal(p->shards[0].seconds, rows[i].first, 1e-3);
        assert_int_equal(plain->n_learned, 0);
        plan_destroy(p);
        plan_destroy(plain);
        estimates_destroy(e);
        sweep_destroy(s);
        free(path);
        free(text);
    }
}

/* ---- records ------------------------------------------------------------------------------------------------------- */

static void add(struct record_log *log, const struct plan *p, size_t cell, enum outcome outcome, const char *more)
{
    struct pkb_error err;
    struct record r;
    synthetic_record(p, cell, 1, outcome, 2, &r);
    json_decref(r.more);
    r.more = json_loads(more, 0, NULL);
    assert_non_null(r.more);
    json_t *v = record_encode(&r);
    if (record_log_append(log, v, &err) < 0)
        fail_msg("%s", err.text);
    json_decref(v);
    record_clear(&r);
}

static const struct line {
    enum outcome outcome;
    const char *more;
} lines[] = {
    {OUTCOME_CORRECT, "{\"phases\": {\"build\": 50.0, \"reference\": 8.0, \"total\": 10.0}}"},
    {OUTCOME_CORRECT, "{\"phases\": {\"build\": 0, \"reference\": 3e-6, \"total\": 4.000003}}"},
    {OUTCOME_DEADLOCK, "{\"phases\": {\"reference\": 2e-6, \"total\": 30.000002}}"},
    {OUTCOME_COMPILE_ERROR, "{\"phases\": {\"build\": 1.0}}"},
    /* These do not count. */
    {OUTCOME_INFRA_ERROR, "{\"phases\": {\"total\": 1000.0}}"},
    {OUTCOME_CORRECT, "{}"},
    {OUTCOME_CORRECT, "{\"phases\": 7}"},
    {OUTCOME_CORRECT, "{\"phases\": {\"total\": \"1000\"}}"},
    {OUTCOME_CORRECT, "{\"phases\": {\"total\": -1000.0}}"},
    {OUTCOME_CORRECT, "{\"phases\": {\"total\": 1e300}}"},
    {OUTCOME_CORRECT, "{\"phases\": {\"reference\": 1001.0, \"total\": 1000.0}}"},
};

static void write_run(const struct plan *p)
{
    struct pkb_error err = {""};
    char path[512];
    static const char run[] =
        "{\"format\": 1, \"name\": \"x\", \"build\": \"b\", \"created\": \"2026-01-31T23:59:59Z\", \"build_cache\": null}";
    if (plan_save(p, test_folder, &err) < 0)
        fail_msg("%s", err.text);
    struct record_log *log = record_log_create(test_folder, 0, 1, &err);
    assert_non_null(log);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        add(log, p, 0, lines[i].outcome, lines[i].more);
    record_log_close(log);
    (void)snprintf(path, sizeof(path), "%s/run.json", test_folder);
    assert_int_equal(pkb_file_write(path, run, strlen(run), &err), 0);
}

static void test_runs_are_read(void **state)
{
    struct pkb_error err = {""};
    struct words runs = WORDS_NONE;
    struct learned l;
    struct estimate found, plain;
    int world = 2;
    char text[160];
    (void)state;
    struct plan *p = synthetic_plan(2, 1, &world, 1, 1);
    write_run(p);
    assert_int_equal(words_add(&runs, &err, "%s", test_folder), 0);
    if (learn_runs(&runs, &l, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(l.cells, 4);
    assert_int_equal(l.runs, 1);
    assert_true(estimates_find(l.estimates, &p->settings[0], &found));
    assert_float_equal(found.cell, 9, 1e-6); /* 2, 4, 30 and 0 */
    assert_float_equal(found.reference, 8, 1e-6);
    assert_false(estimates_find(l.estimates, &p->settings[1], &plain));
    p->n_learned = 1;
    learn_describe(&l, p, false, text, sizeof(text));
    assert_string_equal(text, "1 of 2 settings as measured (4 cells of 1 run), the others by the cost model");
    learn_describe(&l, p, true, text, sizeof(text));
    assert_string_equal(text, "by the sweep's `time`");
    learned_clear(&l);
    words_clear(&runs);
    plan_destroy(p);
}

static void test_no_run(void **state)
{
    struct pkb_error err = {""};
    struct words runs = WORDS_NONE;
    struct learned l;
    (void)state;
    assert_int_equal(learn_runs(&runs, &l, &err), 0);
    assert_null(l.estimates);
    learned_clear(&l);
    assert_int_equal(words_add(&runs, &err, "%s/nothing", test_folder), 0);
    assert_int_equal(learn_runs(&runs, &l, &err), -1);
    assert_non_null(strstr(err.text, "--learn: "));
    assert_non_null(strstr(err.text, "nothing"));
    learned_clear(&l);
    words_clear(&runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_counts_as_the_same_setting),
        cmocka_unit_test(test_samples_count_by_their_cells),
        cmocka_unit_test(test_no_cell_is_no_knowledge),
        cmocka_unit_test(test_other_numbers_of_calls_scale),
        cmocka_unit_test_setup_teardown(test_shards, plan_store_setup, plan_store_teardown),
        cmocka_unit_test_setup_teardown(test_runs_are_read, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_no_run, test_folder_make, test_folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
