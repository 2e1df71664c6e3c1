/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of `pkb status` about shards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "orchestrator/status_shards.h"

static void expect(const struct status_shards *s, size_t i, const char *want)
{
    char text[256];
    assert_true(i < s->n);
    status_shards_describe(&s->list[i], text, sizeof(text));
    assert_string_equal(text, want);
}

static void test_groups(void **state)
{
    (void)state;
    struct status_shards s = {.n = 0};
    char waiting[] = "waiting";
    for (int id = 0; id < 7; id++)
        status_shards_add(&s, id, 2, "waiting", 3, 0);
    status_shards_add(&s, 7, 2, "partly done", 3, 1);
    status_shards_add(&s, 9, 2, waiting, 4, 0);
    status_shards_add(&s, 10, 1, "waiting", 1, 0);
    assert_int_equal(s.n, 3);
    expect(&s, 0, "2 ranks, 0 of 25 cells, waiting: shards 0-6,9");
    expect(&s, 1, "2 ranks, 1 of 3 cells, partly done: shard 7");
    expect(&s, 2, "1 rank, 0 of 1 cells, waiting: shard 10");
}

/* Long lists are cut at a range, and say so once. */
static void test_long_lists(void **state)
{
    (void)state;
    struct status_shards s = {.n = 0};
    char text[256];
    for (int id = 1000; id < 9000; id += 2)
        status_shards_add(&s, id, 2, "waiting", 1, 0);
    status_shards_describe(&s.list[0], text, sizeof(text));
    const char *dots = strstr(text, ",...");
    assert_non_null(dots);
    assert_string_equal(dots, ",...");
    assert_non_null(strstr(text, "0 of 4000 cells, waiting: shards 1000,1002,"));
    status_shards_describe(&s.list[0], text, 20);
    assert_int_equal(strlen(text), 19);
}

static void test_too_many_groups(void **state)
{
    (void)state;
    struct status_shards s = {.n = 0};
    for (int world = 1; world <= STATUS_SHARDS_GROUPS + 5; world++)
        status_shards_add(&s, world, world, "waiting", UINT64_MAX / 2, 0);
    assert_int_equal(s.n, STATUS_SHARDS_GROUPS);
    status_shards_add(&s, 100, 3, "waiting", 0, 0);
    expect(&s, 2, "3 ranks, 0 of 9223372036854775807 cells, waiting: shards 3,100");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_long_lists),
        cmocka_unit_test(test_too_many_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
