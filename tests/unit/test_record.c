/* SPDX-License-Identifier: Apache-2.0 */
/* Records: statistics, outcomes, encoding, and decoding by both parsers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "results/record.h"
#include "results/record_scan.h"
#include "results/scan.h"
#include "util/file.h"
#include "util/json.h"

#define HEX_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEX_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HEX_C "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"

static void example(struct record *r)
{
    static const double slow[] = {2000.5, 1999.5, 2001, 1999}, fast[] = {1000, 1001, 999};
    memset(r, 0, sizeof(*r));
    strcpy(r->cell, HEX_A);
    strcpy(r->setting, HEX_B);
    strcpy(r->candidate, HEX_C);
    strcpy(r->model, "direct");
    strcpy(r->problem, "01_allreduce");
    strcpy(r->family, "collective");
    strcpy(r->dtype, "bf16");
    strcpy(r->shape, "tiny");
    strcpy(r->device, "host");
    r->sample = 2;
    r->world = 4;
    r->nodes = 1;
    r->seed = 7;
    r->outcome = OUTCOME_CORRECT;
    r->rank = -1;
    record_times_from_samples(&r->baseline, slow, 4);
    record_times_from_samples(&r->time, fast, 3);
    r->speedup = r->baseline.mean / r->time.mean;
    r->attempt = 1;
    strcpy(r->started, "2026-01-31T23:59:59Z");
}

static char *line_of(const struct record *r)
{
    json_t *value = record_encode(r);
    assert_non_null(value);
    char *text = json_dumps(value, JSON_COMPACT);
    assert_non_null(text);
    json_decref(value);
    return text;
}

static enum record_line_kind scan_text(const char *text, size_t size, struct record_scan *scan)
{
    struct record_line line = {.number = 1, .text = text, .size = size, .complete = true};
    record_scan_line(&line, scan);
    return scan->kind;
}

/* A copy of `text` with the first `from` replaced; the caller frees. */
static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (!at)
        fail_msg("\"%s\" is not in the example", from);
    char *out = pkb_format(NULL, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    assert_non_null(out);
    return out;
}

static void test_statistics(void **state)
{
    (void)state;
    static const double samples[] = {4, 1, 3, 2};
    struct record_times t;
    record_times_from_samples(&t, samples, 4);
    assert_int_equal(t.iterations, 4);
    assert_float_equal(t.mean, 2.5, 0);
    assert_float_equal(t.median, 2.5, 0);
    assert_float_equal(t.min, 1, 0);
    assert_float_equal(t.max, 4, 0);
    assert_true(fabs(t.std - 1.2909944487358056) < 1e-15);
    record_times_from_samples(&t, samples, 1);
    assert_float_equal(t.std, 0, 0);
    assert_float_equal(t.median, 4, 0);
    record_times_from_samples(&t, samples, 0);
    assert_int_equal(t.iterations, 0);
}

static void test_outcomes(void **state)
{
    (void)state;
    int final = 0;
    for (int o = 0; o < OUTCOME_COUNT; o++) {
        assert_int_equal(outcome_parse(outcome_name(o)), o);
        final += outcome_is_final(o);
    }
    assert_int_equal(final, OUTCOME_COUNT - 2);
    assert_false(outcome_is_final(OUTCOME_INFRA_ERROR));
    assert_false(outcome_is_final(OUTCOME_NOT_RUN));
    assert_int_equal(outcome_parse("Correct"), -1);
    assert_int_equal(outcome_parse(""), -1);
}

static void test_round_trip(void **state)
{
    (void)state;
    struct record r, back;
    struct pkb_error err = {{0}};
    example(&r);
    r.more = json_pack("{s[i,i], s{s:s}}", "samples", 1, 2, "versions", "pkb", "0.1");
    json_t *value = record_encode(&r);
    assert_non_null(value);
    assert_int_equal(record_decode(value, &back, &err), 0);
    assert_true(json_equal(back.more, r.more));
    json_t *again = record_encode(&back);
    assert_true(json_equal(value, again));
    json_decref(value);
    json_decref(again);
    record_clear(&r);
    record_clear(&back);
    record_clear(&back);
    record_clear(NULL);
}

static void test_baseline_round_trip(void **state)
{
    (void)state;
    static const double before[] = {100, 102}, after[] = {110, 112};
    struct record_baseline b = {.setting = HEX_B,
                                .problem = "01_allreduce",
                                .family = "collective",
                                .dtype = "bf16",
                                .shape = "tiny",
                                .device = "host",
                                .world = 4,
                                .nodes = 2,
                                .attempt = 3,
                                .started = "2026-01-31T23:59:59Z"},
                           back;
    struct pkb_error err = {{0}};
    record_times_from_samples(&b.before, before, 2);
    record_times_from_samples(&b.after, after, 2);
    b.drift = b.after.mean / b.before.mean - 1;
    json_t *value = record_baseline_encode(&b);
    assert_int_equal(record_baseline_decode(value, &back, &err), 0);
    assert_true(fabs(back.drift - (111.0 / 101 - 1)) < 1e-12);
    assert_int_equal(back.after.iterations, 2);
    enum record_kind kind;
    assert_int_equal(record_kind_of(value, &kind, &err), 0);
    assert_int_equal(kind, RECORD_BASELINE);
    struct record r;
    assert_int_equal(record_decode(value, &r, &err), -1);
    json_object_set_new(value, "drift", json_real(0.5));
    record_baseline_clear(&back);
    assert_int_equal(record_baseline_decode(value, &back, &err), -1);
    assert_non_null(strstr(err.text, "drift"));
    json_decref(value);
}

/* Candidates print what they like, and a buffer's end cuts characters in two. */
static void test_detail_of_any_bytes(void **state)
{
    (void)state;
    struct record r, back;
    struct pkb_error err = {{0}};
    example(&r);
    strcpy(r.detail, "a\xff\xc3\xa9\"\\\n\x01\xc3");
    json_t *value = record_encode(&r);
    assert_non_null(value);
    assert_int_equal(record_decode(value, &back, &err), 0);
    assert_string_equal(back.detail, "a?\xc3\xa9\"\\\n\x01?");
    record_clear(&back);
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII);
    struct record_scan scan;
    assert_int_equal(scan_text(text, strlen(text), &scan), LINE_CELL);
    assert_string_equal(scan.cell.detail, "a?\xc3\xa9\"\\\n\x01?");
    free(text);
    json_decref(value);
    strcpy(r.model, "\xff");
    assert_null(record_encode(&r));
}

static const struct edit {
    const char *from, *to;
    const char *reason; /* NULL: accepted */
} edits[] = {
    {"\"sample\"", " \"unknown\" : [1, {\"a\":[]}] , \"sample\"", NULL},
    {"\"model\"", "\"\\u006dodel\"", NULL},
    {"direct", "d\\u00e9j\\u00e0 \\ud83d\\ude00", NULL},
    {"\"speedup\":2", "\"speedup\":2e0", NULL},
    {"\"rank\":-1", "\"rank\":3", NULL},
    {"\"more\":{}", "\"more\":{\"x\":[1.5e3,-0,\"\\n\",true,null]}", NULL},
    {"\"kind\":\"cell\"", "\"kind\":\"mystery\"", "kind"},
    {"\"schema\":1", "\"schema\":2", "schema 2"},
    {"\"schema\":1", "\"schema\":\"1\"", "schema"},
    {"\"schema\":1,", "", "schema: missing"},
    {"\"model\":\"direct\",", "", "model: missing"},
    {"\"more\":{}", "\"extra\":{}", "more: missing"},
    {"\"model\":\"direct\"", "\"model\":\"direct\",\"model\":\"other\"", ""},
    {"direct", "", "model: empty"},
    {"direct", "a\\u001b[31m", "model: has a control character"},
    {"direct", "a\\u0000b", ""},
    {"direct", "a\\ud800b", ""},
    {"direct", "a\xff", ""},
    {"direct", "a\xed\xa0\x80", ""},
    {"\"direct\"", "12", "model: expected a string"},
    {"\"direct\"", "null", "model: expected a string, found null"},
    {HEX_A, "aaaa", "cell: expected 64"},
    {HEX_A, HEX_A "a", "cell: "},
    {"aaaaaaaa", "AAAAAAAA", "cell: expected 64"},
    {"\"sample\":2", "\"sample\":-1", "sample: -1 is outside"},
    {"\"sample\":2", "\"sample\":2.0", "sample: expected an integer"},
    {"\"sample\":2", "\"sample\":99999999999999999999", ""},
    {"\"sample\":2", "\"sample\":02", ""},
    {"\"world\":4", "\"world\":0", "world: 0"},
    {"\"nodes\":1", "\"nodes\":5", "nodes: 5"},
    {"\"rank\":-1", "\"rank\":4", "rank: 4"},
    {"\"seed\":7", "\"seed\":-7", "seed: -7"},
    {"\"attempt\":1", "\"attempt\":0", "attempt: 0"},
    {"\"outcome\":\"correct\"", "\"outcome\":\"fine\"", "outcome: unknown outcome \"fine\""},
    {"\"mean\":2000", "\"mean\":NaN", ""},
    {"\"mean\":2000", "\"mean\":Infinity", ""},
    {"\"mean\":2000", "\"mean\":1e400", ""},
    {"\"mean\":2000", "\"mean\":1e300", "baseline: mean: 1e+300 is outside"},
    {"\"mean\":2000", "\"mean\":-5", "baseline: mean: -5 is outside"},
    {"\"mean\":2000", "\"mean\":5000", "baseline: mean or median is not between"},
    {"\"min\":999", "\"min\":0", "time: min: 0 ns"},
    {"\"iterations\":4", "\"iterations\":0", "iterations: 0"},
    {"\"std\":", "\"stud\":", "baseline: std: missing"},
    {"\"speedup\":2", "\"speedup\":3", "speedup: 3 does not agree"},
    {"\"speedup\":2", "\"speedup\":null", "speedup"},
    {"\"more\":{}", "\"more\":[]", "more: expected an object"},
    {"\"more\":{}", "\"more\":{\"a\":[1,]}", ""},
    {"\"more\":{}", "\"more\":{\"a\":[1}", ""},
    {"\"more\":{}", "\"more\":{\"a\" 1}", ""},
    {"2026-01-31", "2026-1-31", "started: expected a time"},
    {"}", "}}", ""},
    {"{\"schema\"", "[\"schema\"", ""},
};

static void check_edit(const char *text, const struct edit *e)
{
    char *line = replaced(text, e->from, e->to);
    struct record_scan scan;
    struct record r;
    struct pkb_error err = {{0}};
    bool by_scan = scan_text(line, strlen(line), &scan) == LINE_CELL;
    json_t *value = pkb_json_parse(line, strlen(line), &err);
    bool by_jansson = value && record_decode(value, &r, &err) == 0;
    if (by_scan != (e->reason == NULL) || by_jansson != by_scan)
        fail_msg("%s -> %s: scan %d (%s), jansson %d (%s)", e->from, e->to, by_scan, scan.reason.text, by_jansson, err.text);
    if (e->reason && !strstr(scan.reason.text, e->reason))
        fail_msg("%s -> %s: \"%s\" does not say \"%s\"", e->from, e->to, scan.reason.text, e->reason);
    if (e->reason && value && !strstr(err.text, e->reason))
        fail_msg("%s -> %s: \"%s\" does not say \"%s\" (jansson)", e->from, e->to, err.text, e->reason);
    if (by_jansson)
        record_clear(&r);
    json_decref(value);
    free(line);
}

static void test_edits(void **state)
{
    (void)state;
    struct record r;
    example(&r);
    char *text = line_of(&r);
    /* Reals print as 2000.0 and 2.0; the rows write them shorter. */
    char *plain = replaced(text, "\"mean\":2000.0", "\"mean\":2000");
    char *line = replaced(plain, "\"speedup\":2.0", "\"speedup\":2");
    char *last = replaced(line, "\"min\":999.0", "\"min\":999");
    for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++)
        check_edit(last, &edits[i]);
    free(text);
    free(plain);
    free(line);
    free(last);
}

/* Both parsers give the same verdict, and the same record, for lines damaged at random. */
static void test_parsers_agree(void **state)
{
    (void)state;
    static const char bytes[] = "{}[]\",:\\ 0123456789eE+-.truefalsn\xff\xc3\xa9\xed\xa0\x01";
    struct record r;
    example(&r);
    r.more = json_pack("{s[f,i,b,n], s{s:s}}", "samples", 1.5, 2, 1, "versions", "p\"kb", "0.\\1");
    char *text = line_of(&r);
    size_t size = strlen(text);
    unsigned seed = 12345;
    int accepted = 0;
    for (int i = 0; i < 40000; i++) {
        char *line = strdup(text);
        assert_non_null(line);
        for (int k = 0; k <= i % 3; k++) {
            seed = seed * 1103515245u + 12345u;
            size_t at = (seed >> 8) % size;
            seed = seed * 1103515245u + 12345u;
            line[at] = bytes[(seed >> 8) % (sizeof(bytes) - 1)];
        }
        struct record_scan scan;
        struct record other;
        struct pkb_error err = {{0}};
        bool by_scan = scan_text(line, size, &scan) == LINE_CELL;
        json_t *value = pkb_json_parse(line, size, &err);
        bool by_jansson = value && record_decode(value, &other, &err) == 0;
        /* Names given twice inside `more`, and numbers there that no double holds, are jansson's business alone. */
        bool excused =
            by_scan && !value && (strstr(err.text, "duplicate") || strstr(err.text, "too big") || strstr(err.text, "overflow"));
        if (by_scan != by_jansson && !excused)
            fail_msg("scan %d (%s), jansson %d (%s): %s", by_scan, scan.reason.text, by_jansson, err.text, line);
        if (by_scan && by_jansson) {
            accepted++;
            json_decref(other.more);
            other.more = NULL;
            assert_memory_equal(&scan.cell, &other, sizeof(other));
        }
        json_decref(value);
        free(line);
    }
    assert_true(accepted > 100);
    free(text);
    record_clear(&r);
}

static int keep_value(void *arg, const char *key, size_t size, const struct value *v, struct pkb_error *err)
{
    (void)key;
    (void)size;
    (void)err;
    *(struct value *)arg = *v;
    return 0;
}

/* Numbers come out as jansson gives them, to the last bit. */
static void test_numbers(void **state)
{
    (void)state;
    static const char *const numbers[] = {"0",
                                          "-0",
                                          "1",
                                          "-1",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "0.1",
                                          "1e22",
                                          "1e-22",
                                          "123456789012345e-10",
                                          "1.7976931348623157e308",
                                          "4.9e-324",
                                          "0.30000000000000004",
                                          "123456789.123456789",
                                          "1e23",
                                          "0.000001",
                                          "5E+3",
                                          "1E-7",
                                          "2.2250738585072014e-308",
                                          "-0.0",
                                          "0.00000000000000000000000000000012345",
                                          "12345678901234567890.5"};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        char *text = pkb_format(NULL, "{\"x\":%s}", numbers[i]);
        json_t *value = json_loads(text, 0, NULL), *x = json_object_get(value, "x");
        assert_non_null(x);
        struct value object, got = {0};
        assert_int_equal(scan_object(text, strlen(text), &object, NULL), 0);
        assert_int_equal(scan_members(&object, keep_value, &got, NULL), 0);
        assert_int_equal(got.kind == VALUE_INTEGER, json_is_integer(x));
        double real = json_real_value(x);
        if (got.kind == VALUE_INTEGER)
            assert_int_equal(got.integer, json_integer_value(x));
        else
            assert_memory_equal(&got.real, &real, sizeof(real));
        json_decref(value);
        free(text);
    }
}

static void test_nesting_is_bounded(void **state)
{
    (void)state;
    size_t depth = 100000, size = 5 + depth;
    char *text = malloc(size + 1);
    assert_non_null(text);
    memcpy(text, "{\"x\":", 5);
    memset(text + 5, '[', depth);
    text[size] = '\0';
    struct value object;
    struct pkb_error err = {{0}};
    struct value got;
    assert_int_equal(scan_object(text, size, &object, &err), 0);
    assert_int_equal(scan_members(&object, keep_value, &got, &err), -1);
    assert_non_null(strstr(err.text, "deep"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statistics),          cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_round_trip),          cmocka_unit_test(test_baseline_round_trip),
        cmocka_unit_test(test_detail_of_any_bytes), cmocka_unit_test(test_edits),
        cmocka_unit_test(test_parsers_agree),       cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_nesting_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
