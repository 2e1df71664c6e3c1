/* SPDX-License-Identifier: Apache-2.0 */
/* Rooflines of runs: utilisation and verdicts of recorded times. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "results/merge.h"
#include "results/plan_settings.h"
#include "results/rooflines.h"
#include "tests/support/folder.h"
#include "tests/support/run_records.h"
#include "tests/support/synthetic.h"
#include "util/file.h"
#include "util/json.h"

#define BOUND_NS 9155.591111111111 /* of 01_allreduce, bf16, 1024 x 1024, 8 ranks, h100-sxm-8 (tests/unit/test_roofline.c) */

static struct topology h100;

/* Problems 01 and 02 with 8 ranks, two models, two samples, at paper sizes. */
static struct plan *make_plan(void)
{
    const int world = 8;
    struct plan *p = synthetic_plan(2, 1, &world, 2, 2);
    synthetic_size(p, "host", SHAPE_PAPER);
    return p;
}

static void times_of_cells_are_judged(void **state)
{
    (void)state;
    static const struct {
        double ns, utilisation;
        enum roofline_verdict verdict;
    } rows[] = {
        {0, 0, ROOFLINE_UNKNOWN},
        {2 * BOUND_NS, 0.5, ROOFLINE_PLAUSIBLE},
        {5000, BOUND_NS / 5000, ROOFLINE_ABOVE_MODEL},
        {500, BOUND_NS / 500, ROOFLINE_IMPOSSIBLE},
    };
    struct plan *p = make_plan();
    struct pkb_error err;
    struct roofline_cell c;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(roofline_for_cell(&h100, &p->settings[0], 1, rows[i].ns, &c, &err), 0);
        assert_true(fabs(c.utilisation - rows[i].utilisation) < 1e-9);
        assert_int_equal(c.verdict, rows[i].verdict);
    }
    assert_int_equal(roofline_for_cell(&h100, &p->settings[0], 2, 1, &c, &err), -1);
    assert_non_null(strstr(err.text, "has no link between nodes"));
    plan_destroy(p);
}

static void settings_are_found_by_digest(void **state)
{
    (void)state;
    struct plan *p = make_plan();
    struct pkb_error err;
    struct roofline_cell c;
    struct rooflines *r = rooflines_create(p, &h100, &err);
    assert_non_null(r);
    for (size_t i = 0; i < p->n_settings; i++) {
        struct roofline_cell direct;
        assert_int_equal(rooflines_cell(r, p->settings[i].digest, 0, 1e4, &c, &err), 0);
        assert_int_equal(roofline_for_cell(&h100, &p->settings[i], 0, 1e4, &direct, &err), 0);
        assert_true(c.utilisation == direct.utilisation && c.utilisation > 0);
    }
    assert_int_equal(rooflines_cell(r, "no digest", 0, 1e4, &c, &err), -1);
    assert_non_null(strstr(err.text, "the plan has no setting"));
    rooflines_destroy(r);
    rooflines_destroy(NULL);
    plan_destroy(p);
}

/* ---- settings of a saved plan ----------------------------------------------------------------------------------------- */

static void assert_not_loaded(const char *text, const char *want)
{
    struct pkb_error err;
    char *path = pkb_format(&err, "%s/plan/plan.json", test_folder);
    if (text)
        assert_int_equal(pkb_file_write(path, text, strlen(text), &err), 0);
    else
        assert_int_equal(unlink(path), 0);
    assert_null(plan_settings_load(test_folder, &err));
    if (!strstr(err.text, want) || !strstr(err.text, "plan/plan.json"))
        fail_msg("'%s' does not say '%s' or not which file", err.text, want);
    free(path);
}

static void settings_are_read_without_the_rest(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"", "empty line"},
        {"[]", "not a JSON object"},
        {"{\"format\":1,\"settings\":[}", "expected"},
        {"{\"format\":2,\"settings\":[]}", "no list of settings in format 1"},
        {"{\"settings\":[]}", "no list of settings in format 1"},
        {"{\"format\":1}", "no list of settings in format 1"},
        {"{\"format\":1,\"settings\":{}}", "no list of settings in format 1"},
        {"{\"format\":1,\"settings\":[{}]}", "settings: entry 1: setting: problem: missing"},
        {NULL, "No such file"},
    };
    struct pkb_error err;
    struct plan *p = make_plan();
    if (plan_save(p, test_folder, &err) < 0)
        fail_msg("%s", err.text);
    struct plan *loaded = plan_settings_load(test_folder, &err);
    if (!loaded)
        fail_msg("%s", err.text);
    assert_int_equal(loaded->n_settings, p->n_settings);
    assert_int_equal(loaded->n_candidates, 0);
    assert_memory_equal(loaded->settings, p->settings, p->n_settings * sizeof(*p->settings));
    plan_destroy(loaded);
    plan_destroy(p);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_not_loaded(rows[i][0], rows[i][1]);
}

/* ---- the table ------------------------------------------------------------------------------------------------------ */

static char *print_run(struct plan *p, const struct given_record *g, size_t n, bool json)
{
    struct pkb_error err;
    char *text = NULL;
    size_t size;
    run_records_write(p, g, n, "");
    struct rooflines *r = rooflines_create(p, &h100, &err);
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    if (rooflines_print(test_folder, r, f, json, false, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(fclose(f), 0);
    rooflines_destroy(r);
    return text;
}

static const struct given_record given[] = {
    {0, OUTCOME_CORRECT, 100},          /* 20 us */
    {1, OUTCOME_CORRECT, 4000},         /* 0.5 us: impossible */
    {2, OUTCOME_VALUE_MISMATCH, 40000}, /* wrong results are not looked at */
    {4, OUTCOME_CORRECT, 10},           /* 200 us, of 02_allgather */
};
#define N_GIVEN (sizeof(given) / sizeof(given[0]))

static void the_table_shows_utilisation_and_what_is_impossible(void **state)
{
    (void)state;
    struct plan *p = make_plan();
    char *text = print_run(p, given, N_GIVEN, false);
    assert_non_null(strstr(text, "Rooflines on h100-sxm-8 (datasheet figures)"));
    assert_non_null(strstr(text, "01_allreduce"));
    assert_non_null(strstr(text, "0.5 %")); /* of the reference: 9.16 us of 2 ms */
    assert_non_null(strstr(text, "model-0/2"));
    assert_non_null(strstr(text, "1831.1 % !"));
    assert_non_null(strstr(text, "model-0/1"));
    assert_non_null(strstr(text, "1 correct candidates took less time"));
    assert_non_null(strstr(text, "01_allreduce model-0/2: 500 ns, at least 2330 ns are needed"));
    free(text);
    plan_destroy(p);
}

static void json_holds_the_terms(void **state)
{
    (void)state;
    struct plan *p = make_plan();
    struct pkb_error err;
    char *text = print_run(p, given, N_GIVEN, true);
    json_t *v = pkb_json_parse(text, strlen(text), &err);
    assert_non_null(v);
    json_t *settings = json_object_get(v, "settings"), *first = json_array_get(settings, 0);
    assert_int_equal(json_array_size(settings), 2);
    assert_string_equal(json_string_value(json_object_get(first, "verdict")), "impossible");
    json_t *roofline = json_object_get(first, "roofline");
    assert_true(fabs(json_real_value(json_object_get(roofline, "bound_ns")) - BOUND_NS) < 1e-6);
    assert_int_equal(json_array_size(json_object_get(v, "impossible")), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(settings, 1), "verdict")), "plausible");
    json_decref(v);
    free(text);
    plan_destroy(p);
}

static void a_run_without_times_says_so(void **state)
{
    (void)state;
    struct plan *p = make_plan();
    const struct given_record none[] = {{0, OUTCOME_CRASH, 1}};
    char *text = print_run(p, none, 1, false);
    assert_non_null(strstr(text, "no correct candidate was timed"));
    free(text);
    struct pkb_error err;
    struct rooflines *r = rooflines_create(p, &h100, &err);
    assert_int_equal(rooflines_print("/nonexistent", r, stdout, false, false, &err), -1);
    rooflines_destroy(r);
    plan_destroy(p);
}

static int set_up(void **state)
{
    return topology_find("h100-sxm-8", NULL, &h100, NULL) < 0 ? -1 : test_folder_make(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_of_cells_are_judged),
        cmocka_unit_test(settings_are_found_by_digest),
        cmocka_unit_test(the_table_shows_utilisation_and_what_is_impossible),
        cmocka_unit_test(json_holds_the_terms),
        cmocka_unit_test(a_run_without_times_says_so),
        cmocka_unit_test(settings_are_read_without_the_rest),
    };
    return cmocka_run_group_tests(tests, set_up, test_folder_remove);
}
