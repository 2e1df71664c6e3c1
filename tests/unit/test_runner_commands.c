/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that make no sense to pkb-runner: it says why and ends with the code of a mistake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/support/one_cell.h"
#include "tests/support/workshop.h"
#include "util/file.h"
#include "util/json.h"

#define PROBLEM "01_allreduce"
#define SOON 20000 /* ms: a bound, not a wait */

static void expect_refusal(struct one_cell *c, const char *what, const char *detail, int code)
{
    struct one_rank *r = &c->ranks[0];
    struct pkb_error err;
    json_t *message = NULL;
    int status = -1;
    if (lines_receive(r->lines, SOON, &message, &err) != 1)
        fail_msg("%s: %s", what, err.text);
    assert_string_equal(json_string_value(json_object_get(message, "failed")), "infra_error");
    const char *text = json_string_value(json_object_get(message, "detail"));
    if (!strstr(text, detail))
        fail_msg("%s: '%s' is not in '%s'", what, detail, text);
    json_decref(message);
    assert_int_equal(process_wait(&r->process, SOON, &status, NULL), 1);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
    lines_destroy(r->lines);
    r->lines = NULL;
}

static void test_malformed_commands(void **state)
{
    static const char *const rows[][2] = {
        {"\n", "not JSON"},
        {"hello\n", "not JSON"},
        {"[]\n", "not a JSON object"},
        {"{}\n", "do: missing"},
        {"{\"do\":5}\n", "do: expected a string"},
        {"{\"do\":\"dance\"}\n", "unknown command 'dance'"},
        {"{\"do\":\"trials\"}\n", "trials before start"},
        {"{\"do\":\"time\",\"warmup\":1,\"iterations\":1,\"sample\":[]}\n", "time before start"},
        {"{\"do\":\"start\"}\n", "role: missing"},
    };
    struct one_cell c;
    (void)state;
    one_cell_open(&c, PROBLEM, 1, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        one_cell_spawn(&c, 0, "reference");
        assert_int_equal(pkb_write_all(lines_fd(c.ranks[0].lines), rows[i][0], strlen(rows[i][0])), 0);
        expect_refusal(&c, rows[i][0], rows[i][1], 2);
    }
    one_cell_close(&c);
}

static void test_spoilt_starts(void **state)
{
    static const struct {
        const char *key, *value, *detail; /* value NULL: removed */
        int code;
    } rows[] = {
        {"role", "\"judge\"", "neither reference nor candidate", 2},
        {"role", "\"candidate\"", "object: missing", 2},
        {"rank", "1", "rank", 2},
        {"rank", "-1", "rank", 2},
        {"rank", "0.5", "rank", 2},
        {"world", "0", "world", 2},
        {"world", "2", "world", 2},
        {"world", "1000000000", "world", 2},
        {"node_of_rank", "[]", "node_of_rank", 2},
        {"node_of_rank", "[7]", "node_of_rank", 2},
        {"node_of_rank", "[null]", "node_of_rank", 2},
        {"setting", NULL, "setting", 2},
        {"setting", "{}", "setting", 2},
        {"samples", "-1", "samples", 2},
        {"timed_sets", "0", "timed_sets", 2},
        {"timed_sets", "9000", "bytes, ", 1}, /* the agent's segment is smaller */
        {"shm_prefix", "7", "shm_prefix", 2},
        {"backend", "\"abacus\"", "abacus", 1},
        {"backend", "\"../../evil\"", "evil", 1},
    };
    struct one_cell c;
    (void)state;
    one_cell_open(&c, PROBLEM, 1, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *message = one_cell_start_message(&c, 0, "reference", NULL);
        json_t *value = rows[i].value ? json_loads(rows[i].value, JSON_DECODE_ANY, NULL) : NULL;
        assert_int_equal(value ? json_object_set_new(message, rows[i].key, value) : json_object_del(message, rows[i].key), 0);
        one_cell_spawn(&c, 0, "reference");
        assert_int_equal(lines_send(c.ranks[0].lines, message, SOON, NULL), 0);
        json_decref(message);
        expect_refusal(&c, rows[i].key, rows[i].detail, rows[i].code);
    }
    one_cell_close(&c);
}

static void test_spoilt_times(void **state)
{
    static const char *const rows[][2] = {
        {"{\"do\":\"time\"}", "warmup: missing"},
        {"{\"do\":\"time\",\"warmup\":-1,\"iterations\":1,\"sample\":[]}", "warmup"},
        {"{\"do\":\"time\",\"warmup\":0,\"iterations\":99999999,\"sample\":[]}", "iterations"},
        {"{\"do\":\"time\",\"warmup\":0,\"iterations\":5,\"sample\":[5]}", "entry 0 is not an iteration"},
        {"{\"do\":\"time\",\"warmup\":0,\"iterations\":5,\"sample\":[-1]}", "entry 0"},
        {"{\"do\":\"time\",\"warmup\":0,\"iterations\":5,\"sample\":[1,\"x\"]}", "entry 1"},
        {"{\"do\":\"time\",\"warmup\":0,\"iterations\":5,\"sample\":[1,1]}", "named twice"},
        {"{\"do\":\"time\",\"warmup\":0,\"iterations\":5,\"sample\":[0,1,2,3]}", "at most 3"},
        {"{\"do\":\"time\",\"warmup\":0,\"iterations\":5}", "sample: missing"},
    };
    struct one_cell c;
    struct build_result r;
    (void)state;
    assert_int_equal(workshop_build("correct", &r), BUILD_OK);
    one_cell_open(&c, PROBLEM, 1, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(one_cell_start(&c, "candidate", r.object), 0);
        json_t *message = json_loads(rows[i][0], 0, NULL);
        assert_int_equal(lines_send(c.ranks[0].lines, message, SOON, NULL), 0);
        json_decref(message);
        json_decref(c.ranks[0].answer);
        c.ranks[0].answer = NULL;
        expect_refusal(&c, rows[i][0], rows[i][1], 2);
    }
    one_cell_close(&c);
}

/* Answers a runner's first exchange with something else than every rank's blob. */
static void test_spoilt_exchanges(void **state)
{
    static const char *const rows[][2] = {
        {"{}", "all: missing"},
        {"{\"all\":[]}", "all: 0 blobs"},
        {"{\"all\":[\"00\", 5]}", "rank 0"},
        {"{\"all\":[\"zz\", \"zz\"]}", "rank 0"},
    };
    struct one_cell c;
    (void)state;
    one_cell_open(&c, PROBLEM, 2, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *start = one_cell_start_message(&c, 0, "reference", NULL), *asked = NULL;
        json_t *answer = json_loads(rows[i][0], 0, NULL);
        one_cell_spawn(&c, 0, "reference");
        assert_int_equal(lines_send(c.ranks[0].lines, start, SOON, NULL), 0);
        assert_int_equal(lines_receive(c.ranks[0].lines, SOON, &asked, NULL), 1);
        assert_non_null(json_object_get(asked, "exchange"));
        assert_int_equal(lines_send(c.ranks[0].lines, answer, SOON, NULL), 0);
        json_decref(start);
        json_decref(asked);
        json_decref(answer);
        expect_refusal(&c, rows[i][0], rows[i][1], 1);
    }
    one_cell_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_malformed_commands),
        cmocka_unit_test(test_spoilt_starts),
        cmocka_unit_test(test_spoilt_exchanges),
        cmocka_unit_test(test_spoilt_times),
    };
    return cmocka_run_group_tests_name("runner_commands", tests, workshop_open, workshop_close);
}
