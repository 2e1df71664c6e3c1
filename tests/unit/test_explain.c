/* SPDX-License-Identifier: Apache-2.0 */
/* Names of cells, and the parts of logs that belong to a cell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/explain_logs.h"
#include "orchestrator/explain_select.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Whether a pattern names cell 3 of a plan: direct/13_gemm_allreduce/2 on 4 ranks, with DIGEST. */
static void names(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        bool matches;
    } rows[] = {
        {"#3", true},
        {"#2", false},
        {"012345", true},
        {"0123456789abcdef", true},
        {"012346", false},
        {DIGEST, true},
        {"direct/13/2", true},
        {"direct/gemm_allreduce/2@4", true},
        {"direct/13*/2", true},
        {"*/*/*", true},
        {"d?rect/1[0-9]*/2@*", true},
        {"direct/13/1", false},
        {"direct/13/2@2", false},
        {"plain/13/2", false},
        {"direct/12/2", false},
        {"direct/13/2@44", false},
    };
    struct plan_setting setting = {.problem = problem_by_id(13), .world = 4};
    struct plan_candidate candidate = {.problem = setting.problem, .model = (char *)"direct", .sample = 2};
    struct plan_cell cells[4] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
    struct plan plan = {
        .settings = &setting, .n_settings = 1, .candidates = &candidate, .n_candidates = 1, .cells = cells, .n_cells = 4};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct explain_selector s;
        struct pkb_error err;
        if (explain_select_parse(&s, rows[i].pattern, &err) < 0)
            fail_msg("%s: %s", rows[i].pattern, err.text);
        if (explain_select_matches(&s, &plan, 3, DIGEST) != rows[i].matches)
            fail_msg("%s", rows[i].pattern);
    }
}

static void bad_names(void **state)
{
    (void)state;
    static const char *const rows[] = {"",
                                       "#",
                                       "#x",
                                       "#-1",
                                       "#1x",
                                       "#99999999999999999999",
                                       "01234",
                                       "0123456789ABCDEF",
                                       "direct",
                                       "direct/13",
                                       "direct/13/1/2",
                                       DIGEST "0"};
    char longer[1000];
    struct explain_selector s;
    struct pkb_error err;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (explain_select_parse(&s, rows[i], &err) == 0)
            fail_msg("'%s' is taken", rows[i]);
        assert_memory_equal(err.text, "cell", 4);
    }
    memset(longer, '*', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(explain_select_parse(&s, longer, &err), -1);
}

static void sections(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t number;
        const char *section; /* NULL: none */
    } rows[] = {
        {"== cell 1: a\nx\n== cell 12: b\ny\n", 1, "== cell 1: a\nx\n"},
        {"== cell 1: a\nx\n== cell 12: b\ny\n", 12, "== cell 12: b\ny\n"},
        {"== cell 7: a\n\n== 9 bytes left out\nz", 7, "== cell 7: a\n\n== 9 bytes left out\nz"},
        {"== cell 1: a\n== cell 2: b\n", 1, "== cell 1: a\n"},
        {"", 1, NULL},
        {"== cell", 1, NULL},
        {"== cell 12: b\n", 1, NULL},
        {"prints == cell 1: a\n", 1, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t size = 0;
        const char *at = explain_logs_section(rows[i].text, rows[i].number, &size);
        assert_int_equal(at != NULL, rows[i].section != NULL);
        if (at && (size != strlen(rows[i].section) || memcmp(at, rows[i].section, size) != 0))
            fail_msg("row %zu: %.*s", i, (int)size, at);
    }
}

static void last_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int lines;
        const char *last;
    } rows[] = {
        {"a\nb\nc\n", 2, "b\nc"},
        {"a\nb\nc", 1, "c"},
        {"a\nb\n", 9, "a\nb"},
        {"a\n\n\n", 2, "a"},
        {"", 3, ""},
        {"\n", 3, ""},
        {"a\n\nb", 2, "\nb"},
        {"\x1b[31mred\x7f\r\n\tx", 2, "?[31mred??\n\tx"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *last = explain_logs_last(rows[i].text, strlen(rows[i].text), rows[i].lines);
        assert_string_equal(last, rows[i].last);
        free(last);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(bad_names),
        cmocka_unit_test(sections),
        cmocka_unit_test(last_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
