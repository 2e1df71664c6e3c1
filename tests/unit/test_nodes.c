/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes fail, from records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "orchestrator/nodes.h"
#include "results/record.h"
#include "tests/support/folder.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void add(struct record_log *log, enum outcome outcome, int rank, const char *more)
{
    struct pkb_error err;
    struct record r = {.cell = HEX,
                       .setting = HEX,
                       .candidate = HEX,
                       .model = "m",
                       .problem = "01_allreduce",
                       .family = "collective",
                       .dtype = "bf16",
                       .shape = "tiny",
                       .device = "host",
                       .world = 2,
                       .nodes = 2,
                       .outcome = outcome,
                       .rank = rank,
                       .attempt = 1,
                       .started = "2026-01-31T23:59:59Z",
                       .more = json_loads(more, 0, NULL)};
    (void)snprintf(r.detail, sizeof(r.detail), "%s", outcome == OUTCOME_CORRECT ? "" : "lost");
    json_t *v = record_encode(&r);
    if (record_log_append(log, v, &err) < 0)
        fail_msg("%s", err.text);
    json_decref(v);
    record_clear(&r);
}

/* n2 fails three times of four, n4 once; lines without hosts, or with odd ones, count for nobody. */
static void hosts_are_counted(void **state)
{
    (void)state;
    struct pkb_error err = {""};
    static struct nodes nodes;
    struct record_log *log = record_log_create(test_folder, 0, 1, &err);
    char list[64];
    assert_non_null(log);
    add(log, OUTCOME_CORRECT, -1, "{\"hosts\": [\"n1\", \"n2\"]}");
    for (int i = 0; i < 3; i++)
        add(log, OUTCOME_INFRA_ERROR, 1, "{\"hosts\": [\"n1\", \"n2\"]}");
    add(log, OUTCOME_INFRA_ERROR, 0, "{\"hosts\": [\"n4\", \"n4\"]}");
    add(log, OUTCOME_INFRA_ERROR, -1, "{\"hosts\": [\"n3\", \"n1\"]}");
    add(log, OUTCOME_INFRA_ERROR, 7, "{\"hosts\": [\"n1\"]}");
    add(log, OUTCOME_INFRA_ERROR, 0, "{}");
    add(log, OUTCOME_INFRA_ERROR, 0, "{\"hosts\": \"n1\"}");
    add(log, OUTCOME_INFRA_ERROR, 0, "{\"hosts\": [17, null]}");
    record_log_close(log);
    assert_int_equal(nodes_read(&nodes, test_folder, &err), 0);
    assert_int_equal(nodes.n, 4);
    assert_string_equal(nodes.list[1].host, "n2");
    assert_int_equal(nodes.list[1].errors, 3);
    assert_int_equal(nodes.list[1].records, 4);
    assert_string_equal(nodes.list[1].last, "lost");
    assert_int_equal(nodes.list[0].errors, 0);
    nodes_failing(&nodes, 3, list, sizeof(list));
    assert_string_equal(list, "n2");
    nodes_failing(&nodes, 1, list, sizeof(list));
    assert_string_equal(list, "n2,n4");
    nodes_failing(&nodes, 4, list, sizeof(list));
    assert_string_equal(list, "");
    nodes_failing(&nodes, 0, list, sizeof(list));
    assert_string_equal(list, "");
}

static void most_of_them_fail(void **state)
{
    (void)state;
    static struct nodes nodes = {.list = {{.host = "n1", .errors = 9}, {.host = "n2", .errors = 9}, {.host = "n3"}}, .n = 3};
    char list[64];
    nodes_failing(&nodes, 3, list, sizeof(list));
    assert_string_equal(list, "");
}

static void no_records(void **state)
{
    (void)state;
    static struct nodes nodes;
    char list[8];
    assert_int_equal(nodes_read(&nodes, "/nonexistent", NULL), 0);
    assert_int_equal(nodes.n, 0);
    nodes_failing(&nodes, 1, list, sizeof(list));
    assert_string_equal(list, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(hosts_are_counted, test_folder_make, test_folder_remove),
        cmocka_unit_test(most_of_them_fail),
        cmocka_unit_test(no_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
