/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/run_records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "results/merge.h"
#include "tests/support/folder.h"
#include "tests/support/synthetic.h"
#include "util/file.h"

static FILE *open_file(int shard, int attempt, const char *mode)
{
    char *name = record_file_name(shard, attempt, NULL), *folder = pkb_format(NULL, "%s/records", test_folder);
    char *path = pkb_format(NULL, "%s/%s", folder, name);
    assert_true(name && folder && path);
    assert_int_equal(pkb_mkdirs(folder, NULL), 0);
    FILE *f = fopen(path, mode);
    assert_non_null(f);
    free(name);
    free(folder);
    free(path);
    return f;
}

void run_records_append(int shard, int attempt, const char *text)
{
    FILE *f = open_file(shard, attempt, "ae");
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

char *run_records_line(const struct record *r)
{
    json_t *value = record_encode(r);
    assert_non_null(value);
    char *compact = json_dumps(value, JSON_COMPACT), *line = pkb_format(NULL, "%s\n", compact);
    assert_true(compact && line);
    free(compact);
    json_decref(value);
    return line;
}

void run_records_write(const struct plan *p, const struct given_record *given, size_t n, const char *tail)
{
    struct pkb_error err = {""};
    FILE *f = open_file(0, 1, "we");
    for (size_t i = 0; i < n; i++) {
        struct record r;
        synthetic_record(p, given[i].cell, 1, given[i].outcome, given[i].speedup, &r);
        char *line = run_records_line(&r);
        assert_true(fputs(line, f) >= 0);
        free(line);
    }
    assert_true(fputs(tail, f) >= 0);
    assert_int_equal(fclose(f), 0);
    if (merge_run_plan(test_folder, p, NULL, &err) < 0)
        fail_msg("%s", err.text);
}
