/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of synthetic runs: figures, layout (width, ASCII, colours), JSON and CSV, broken runs. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "results/merge.h"
#include "results/report.h"
#include "results/table.h"
#include "tests/support/folder.h"
#include "tests/support/run_records.h"
#include "tests/support/synthetic.h"
#include "util/file.h"
#include "util/json.h"

static char *report(const struct report_options *o, bool *complete)
{
    struct pkb_error err = {{0}};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    if (report_print(test_folder, out, o, complete, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* Every line: at most 100 characters (but for commands with a path), printable ASCII, no blanks at its end. */
static void check_layout(const char *text)
{
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        if (end - line > 100 && strncmp(line, "      -> ", 9) != 0)
            fail_msg("%d columns: %.*s", (int)(end - line), (int)(end - line), line);
        for (const char *p = line; p < end; p++)
            if (!isprint((unsigned char)*p))
                fail_msg("byte %d in: %.*s", *p, (int)(end - line), line);
        if (end > line && end[-1] == ' ')
            fail_msg("trailing blank: %.*s|", (int)(end - line), line);
    }
}

/* The line must be there, whatever the number of blanks between its words. */
static void expect_line(const char *text, const char *words)
{
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        const char *p = line, *w = words;
        while (*p == ' ')
            p++;
        while (*w && *p != '\n') {
            if (*w == ' ' && *p == ' ') {
                while (*p == ' ')
                    p++;
                w++;
            } else if (*w == *p) {
                w++;
                p++;
            } else {
                break;
            }
        }
        if (!*w && *p == '\n')
            return;
    }
    fail_msg("no line \"%s\" in:\n%s", words, text);
}

/* 2 problems, 1 world, 2 models, 3 samples. model-0: + = . and V I +; model-1: all fail, and all correct but slow. */
static const struct given_record small[] = {
    {0, OUTCOME_CORRECT, 2},       {1, OUTCOME_CORRECT, 0.5},      {3, OUTCOME_CRASH, 0},       {4, OUTCOME_DEADLOCK, 0},
    {5, OUTCOME_COMPILE_ERROR, 0}, {6, OUTCOME_VALUE_MISMATCH, 0}, {7, OUTCOME_INFRA_ERROR, 0}, {8, OUTCOME_CORRECT, 4},
    {9, OUTCOME_CORRECT, 0.9},     {10, OUTCOME_CORRECT, 0.8},     {11, OUTCOME_CORRECT, 0.7},
};
#define N_SMALL (sizeof(small) / sizeof(small[0]))

static void make_small(const char *tail)
{
    static const int worlds[] = {4};
    struct plan *p = synthetic_plan(2, 1, worlds, 2, 3);
    run_records_write(p, small, N_SMALL, tail);
    plan_destroy(p);
}

static void test_text(void **state)
{
    (void)state;
    struct report_options o = {0};
    bool complete = true;
    make_small("{\"torn");
    char *text = report(&o, &complete);
    assert_false(complete);
    check_layout(text);
    assert_non_null(strstr(text, "10 of 12 cells have a result; 2 problems, 2 models, 4 ranks"));
    expect_line(text, "model-0 2 3 1 1+1? 2 1 1+1? 2 1 1");
    expect_line(text, "model-1 2 3 1 1 1 0 0 0 0 0");
    expect_line(text, "model-0 2 75.0 100.0 - 50.0 100.0 - 2");
    expect_line(text, "model-1 2 50.0 50.0 50.0 0.0 0.0 0.0 0");
    expect_line(text, "+ correct, fast 2 0");
    expect_line(text, "= correct, not fast 1 3");
    expect_line(text, "V value_mismatch 1 0");
    expect_line(text, ". missing 1 0");
    expect_line(text, "01_allreduce 2.00 ms model-0/1 1.00 ms 2.00x +=. CDB");
    expect_line(text, "02_allgather 2.00 ms model-0/3 500 us 4.00x VI+ ===");
    expect_line(text, "cells without a record: 1");
    expect_line(text, "01_allreduce, model-0 sample 3, 4 ranks");
    assert_non_null(strstr(text, "pkb resume /tmp/pkb-test-"));
    assert_null(strstr(text, "RUN"));
    assert_null(strstr(text, "shape_mismatch"));
    free(text);
}

static void test_colour(void **state)
{
    (void)state;
    struct report_options plain = {0}, coloured = {.colour = true};
    make_small("");
    char *a = report(&plain, NULL), *b = report(&coloured, NULL), *to = b;
    assert_non_null(strchr(b, '\033'));
    for (char *from = b; *from; from++) {
        if (*from == '\033')
            from = strchr(from, 'm');
        else
            *to++ = *from;
    }
    *to = '\0';
    assert_string_equal(a, b);
    free(a);
    free(b);
    assert_int_equal(setenv("NO_COLOR", "1", 1), 0);
    assert_false(report_wants_colour(stdout));
}

static json_t *at(json_t *report, const char *list, size_t row, const char *what, int k)
{
    json_t *item = json_array_get(json_object_get(report, list), row);
    return json_array_get(json_object_get(item, what), (size_t)k - 1);
}

static void test_json(void **state)
{
    (void)state;
    struct report_options o = {.format = REPORT_JSON};
    make_small("");
    char *text = report(&o, NULL);
    json_t *v = json_loads(text, 0, NULL), *pass = at(v, "models", 0, "pass", 2);
    assert_non_null(v);
    assert_int_equal(json_integer_value(json_object_get(pass, "solved")), 1);
    assert_int_equal(json_integer_value(json_object_get(pass, "undecided")), 1);
    assert_true(json_is_null(json_object_get(at(v, "models", 0, "pass", 3), "estimate")));
    assert_float_equal(json_number_value(json_object_get(at(v, "models", 0, "pass", 1), "estimate")), 0.75, 1e-6);
    assert_int_equal(json_array_size(json_object_get(v, "problems")), 2);
    assert_int_equal(json_array_size(json_object_get(v, "not_counted")), 2);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(v, "merge"), "missing")), 1);
    json_decref(v);
    free(text);
}

static size_t count(const char *text, char c)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == c;
    return n;
}

static void test_csv(void **state)
{
    (void)state;
    static const struct {
        const char *csv;
        size_t lines, columns;
        const char *has;
    } rows[] = {
        {"metrics", 7, 26, "\nmodel-0,,,1,2,2,3,6,1,1,0,0,1,0,1,0,1,2,0,"},
        {"problems", 5, 11, "\n01_allreduce,4,bf16,tiny,2000000,model-0,1,1000000,2,model-1,CDB\n"},
        {"cells", 13, 21, ",missing,,,,,,,0,0,0\n"},
    };
    make_small("");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct report_options o = {.format = REPORT_CSV, .csv = rows[i].csv};
        char *text = report(&o, NULL);
        assert_int_equal(count(text, '\n'), rows[i].lines);
        assert_int_equal(count(text, ','), rows[i].lines * (rows[i].columns - 1));
        if (!strstr(text, rows[i].has))
            fail_msg("no \"%s\" in:\n%s", rows[i].has, text);
        free(text);
    }
}

/* As the paper's: six models with long names, three samples, several world sizes; and the extremes. */
static void test_wide(void **state)
{
    (void)state;
    static const int worlds[] = {1, 2, 4, 8};
    static const struct {
        int n_worlds, models, samples;
    } rows[] = {{1, 6, 3}, {4, 6, 3}, {1, 26, 1}, {1, 40, 2}, {2, 3, 25}, {1, 1, 10}, {1, 1, 11}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int problems = 0;
        while (problem_registry[problems])
            problems++;
        struct plan *p = synthetic_plan(problems, rows[i].n_worlds, worlds, rows[i].models, rows[i].samples);
        struct report_options o = {.by = i % 2 ? REPORT_BY_FAMILY : REPORT_BY_DEFAULT};
        for (size_t c = 0; c < p->n_candidates; c++) {
            char *longer = pkb_format(NULL, "%s \xc3\xa9tude with a name that is longer than any column", p->candidates[c].model);
            free(p->candidates[c].model);
            p->candidates[c].model = longer;
        }
        struct given_record g[20];
        for (size_t k = 0; k < 20; k++)
            g[k] = (struct given_record){k * (p->n_cells / 20), (enum outcome)(k % OUTCOME_COUNT), 1.5};
        run_records_write(p, g, 20, "");
        char *text = report(&o, NULL);
        check_layout(text);
        free(text);
        plan_destroy(p);
    }
}

static char *baseline_line(const struct plan *p, double after)
{
    const double before_ns[] = {1000}, after_ns[] = {after};
    struct record_baseline b = {.problem = "p",
                                .family = "f",
                                .dtype = "bf16",
                                .shape = "tiny",
                                .device = "host",
                                .world = 4,
                                .nodes = 1,
                                .attempt = 1,
                                .started = "2026-01-31T23:59:59Z",
                                .drift = after / 1000 - 1};
    memcpy(b.setting, p->settings[0].digest, PKB_DIGEST_HEX);
    record_times_from_samples(&b.before, before_ns, 1);
    record_times_from_samples(&b.after, after_ns, 1);
    json_t *value = record_baseline_encode(&b);
    char *line = json_dumps(value, JSON_COMPACT);
    json_decref(value);
    return line;
}

/* Whatever is not counted is named, with its place and what to do. */
static void test_notes(void **state)
{
    (void)state;
    static const int worlds[] = {4};
    static const struct given_record g[] = {
        {0, OUTCOME_CORRECT, 2}, {0, OUTCOME_CRASH, 0}, {1, OUTCOME_INFRA_ERROR, 0}, {2, OUTCOME_NOT_RUN, 0}};
    struct report_options o = {0};
    struct plan *p = synthetic_plan(1, 1, worlds, 1, 3);
    char *quiet = baseline_line(p, 1040), *loud = baseline_line(p, 1070);
    char *tail = pkb_format(NULL, "%s\n%s\nnot json\n{\"schema\":7}\n{\"half", quiet, loud);
    run_records_write(p, g, 4, tail);
    char *text = report(&o, NULL);
    check_layout(text);
    expect_line(text, "cells that failed for reasons outside of the candidate (infra_error): 1");
    expect_line(text, "cells not run: 1");
    expect_line(text, "01_allreduce, model-0 sample 2, 4 ranks: made up");
    expect_line(text, "baselines that changed by more than 5 % meanwhile (speedups there are doubtful): 1");
    expect_line(text, "01_allreduce, 4 ranks: +7.0 %");
    expect_line(text, "record lines that are malformed or of an unknown version: 2");
    assert_non_null(strstr(text, "shard-000000.001.jsonl:7: "));
    expect_line(text, "record files whose last line is incomplete (being written, or cut off by a crash): 1");
    expect_line(text, "results of cells that had one already (the first counts): 1");
    expect_line(text, "01_allreduce, model-0 sample 1, 4 ranks: crash in shard-000000.001.jsonl:2 (correct counts)");
    free(text);
    free(tail);
    free(quiet);
    free(loud);
    plan_destroy(p);
}

static void test_complete_and_empty(void **state)
{
    (void)state;
    static const int worlds[] = {4};
    struct report_options o = {0};
    struct plan *p = synthetic_plan(1, 1, worlds, 1, 1);
    const struct given_record one = {0, OUTCOME_CORRECT, 2};
    bool complete = false;
    run_records_write(p, &one, 1, "");
    char *text = report(&o, &complete);
    assert_true(complete);
    expect_line(text, "nothing: every planned cell has a result, and every record line was good");
    free(text);
    run_records_write(p, &one, 0, "");
    text = report(&o, &complete);
    assert_false(complete);
    check_layout(text);
    expect_line(text, "01_allreduce - - - - .");
    free(text);
    plan_destroy(p);
}

static void test_broken_runs(void **state)
{
    (void)state;
    struct report_options o = {0};
    struct pkb_error err = {{0}};
    FILE *out = fopen("/dev/full", "w");
    assert_non_null(out);
    assert_int_equal(report_print("/nonexistent/run", out, &o, NULL, &err), -1);
    assert_non_null(strstr(err.text, "/nonexistent/run"));
    assert_int_equal(report_print(test_folder, out, &o, NULL, &err), -1); /* no plan */
    assert_non_null(strstr(err.text, test_folder));
    make_small("");
    assert_int_equal(report_print(test_folder, out, &o, NULL, &err), -1); /* the disk is full */
    assert_non_null(strstr(err.text, "written"));
    (void)fclose(out);
}

/* What the sweep's own `where` leaves out is a choice; what cannot run is not. */
static void test_left_out(void **state)
{
    (void)state;
    static const int worlds[] = {4};
    struct report_options o = {0};
    struct plan *p = synthetic_plan(1, 1, worlds, 1, 1);
    const struct given_record one = {0, OUTCOME_CORRECT, 2};
    p->skips = calloc(2, sizeof(*p->skips));
    assert_non_null(p->skips);
    p->skips[0] = (struct plan_skip){.problem = p->settings[0].problem, .count = 100, .reason = strdup(PLAN_LEFT_OUT_BY_WHERE)};
    p->skips[1] = (struct plan_skip){.problem = p->settings[0].problem, .world = 3, .count = 7, .reason = strdup("an odd world")};
    p->n_skips = 2;
    run_records_write(p, &one, 1, "");
    char *text = report(&o, NULL);
    expect_line(text, "cells left out when the run was planned: 7");
    expect_line(text, "01_allreduce: 3 ranks: an odd world");
    assert_null(strstr(text, PLAN_LEFT_OUT_BY_WHERE));
    free(text);
    plan_destroy(p);
}

/* Bounds of 0.1, 0.25, ... of the reference's 2 ms, by setting; the second setting has none. */
static int bound_of(void *arg, const char *setting, int nodes, double measured_ns, struct report_bound *bound)
{
    const struct plan *p = arg;
    assert_int_equal(nodes, 1);
    if (strcmp(setting, p->settings[0].digest) != 0)
        return -1;
    *bound =
        (struct report_bound){.bound_ns = 2e5, .resource = "link", .verdict = measured_ns < 2e5 ? "impossible" : "plausible"};
    return 0;
}

/* Times of 1, 0.5, 0.4 and 0.1 ms against 0.2 ms: 20, 40, 50 %, and one that cannot be. */
static void test_utilisation(void **state)
{
    (void)state;
    static const int worlds[] = {4};
    static const struct given_record g[] = {{0, OUTCOME_CORRECT, 2},  {1, OUTCOME_CORRECT, 4}, {2, OUTCOME_CORRECT, 5},
                                            {3, OUTCOME_CORRECT, 20}, {4, OUTCOME_CRASH, 0},   {5, OUTCOME_CORRECT, 2}};
    struct plan *p = synthetic_plan(2, 1, worlds, 1, 5);
    const struct report_machine machine = {"a-machine", "estimate", "0123456789abcdef", bound_of, p};
    struct report_options o = {.machine = &machine};
    run_records_write(p, g, 6, "");
    char *text = report(&o, NULL);
    check_layout(text);
    expect_line(text, "model n of least 25 % median 75 % most compute memory link impossible missing infra");
    assert_non_null(strstr(text, "Bounds of a-machine (estimate figures, 0123456789ab)."));
    expect_line(text, "model-0 3 5 20.0 20.0 40.0 50.0 50.0 0 0 4 1 4 0");
    free(text);
    o = (struct report_options){0};
    text = report(&o, NULL);
    assert_null(strstr(text, "Closeness"));
    free(text);
    plan_destroy(p);
}

/* What was measured under other conditions says so in every format for people, and beside a comparison. */
static void test_environment(void **state)
{
    (void)state;
    static const enum report_format formats[] = {REPORT_TEXT, REPORT_JSON, REPORT_MARKDOWN, REPORT_HTML};
    static const char run_json[] = "{\"environment\":{\"NCCL_NVLS_ENABLE\":\"0\",\"NCCL_ALGO\":\"Ring\"}}";
    struct pkb_error err;
    char *path = pkb_format(&err, "%s/run.json", test_folder);
    assert_int_equal(pkb_file_write(path, run_json, strlen(run_json), &err), 0);
    make_small("");
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        struct report_options o = {.format = formats[i]};
        char *text = report(&o, NULL);
        if (!strstr(text, formats[i] == REPORT_MARKDOWN ? "NCCL\\_ALGO=Ring NCCL\\_NVLS\\_ENABLE=0"
                                                        : "NCCL_ALGO=Ring NCCL_NVLS_ENABLE=0"))
            fail_msg("no environment in:\n%s", text);
        free(text);
    }
    free(path);
}

/* Tables that a run does not have, and another run that is none. */
static void test_no_such_table(void **state)
{
    (void)state;
    static const struct {
        const char *csv, *compare, *says;
    } rows[] = {{"changes", NULL, "--compare"},
                {"utilisation", NULL, "no table"},
                {"scaling", NULL, "no rows"},
                {"models", "/nonexistent/run", "/nonexistent/run"}};
    make_small("");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct report_options o = {.format = REPORT_CSV, .csv = rows[i].csv, .compare = rows[i].compare};
        struct pkb_error err = {{0}};
        FILE *out = fopen("/dev/null", "w");
        assert_non_null(out);
        assert_int_equal(report_print(test_folder, out, &o, NULL, &err), -1);
        if (!strstr(err.text, rows[i].says))
            fail_msg("no \"%s\" in: %s", rows[i].says, err.text);
        assert_int_equal(fclose(out), 0);
    }
}

static void test_clean(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } rows[] = {{"plain", "plain"},        {"\xc3\xa9t\xc3\xa9", "?t?"}, {"a\033[31m", "a?[31m"},
                {"\xe2\x82\xac 5", "? 5"}, {"\xff\xfe", "??"},           {"", ""}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char out[16];
        assert_string_equal(table_clean(rows[i].text, out, sizeof(out)), rows[i].want);
    }
    char small_out[4];
    assert_string_equal(table_clean("longer", small_out, sizeof(small_out)), "lon");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_text, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_colour, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_json, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_csv, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_wide, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_notes, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_complete_and_empty, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_broken_runs, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_left_out, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_utilisation, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_environment, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_no_such_table, test_folder_make, test_folder_remove),
        cmocka_unit_test(test_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
