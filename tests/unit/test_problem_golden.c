/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of golden cases: sizes inferred from shapes, scalars, and what is wrong with malformed ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/golden/case.h"
#include "util/file.h"

static char folder[] = "/tmp/pkb-test-golden-XXXXXX";

static int load(const char *meta, struct golden_case *c, struct pkb_error *err)
{
    char *path = pkb_format(NULL, "%s/meta.json", folder);
    assert_non_null(path);
    assert_int_equal(pkb_file_write(path, meta, strlen(meta), NULL), 0);
    free(path);
    return golden_case_load(c, folder, err);
}

#define HEAD(id, world) "{\"format\": 1, \"problem_id\": " #id ", \"world_size\": " #world ", \"dtype\": \"f32\", "
#define NO_SCALARS "\"scalars\": {}, "

struct row {
    const char *meta;
    const char *error; /* NULL: can be loaded */
    const char *name;  /* a parameter and its value then */
    double value;
};

static const struct row rows[] = {
    {HEAD(1, 2) NO_SCALARS "\"inputs\": [{\"name\": \"x\", \"shape\": [[5, 7], [5, 7]]}]}", NULL, "N", 7},
    {HEAD(2, 1) NO_SCALARS "\"inputs\": [{\"name\": \"x\", \"shape\": [[1000, 3]]}]}", NULL, "M", 1000},
    {HEAD(12, 2) NO_SCALARS "\"inputs\": [{\"name\": \"B\", \"shape\": [[48, 5], [48, 5]]}, "
                            "{\"name\": \"A_local\", \"shape\": [[6, 24], [6, 24]]}]}",
     NULL, "K", 48},
    {HEAD(16, 2) NO_SCALARS "\"inputs\": [{\"name\": \"A_local\", \"shape\": [[6, 9], [6, 9]]}, "
                            "{\"name\": \"B_local\", \"shape\": [[9, 5], [9, 5]]}]}",
     NULL, "K", 18},
    {HEAD(5, 2) "\"scalars\": {\"src\": 1}, \"inputs\": [{\"name\": \"x\", \"shape\": [[3, 4], [2, 3, 4]]}]}", NULL, "M", 3},
    {HEAD(18, 1) "\"scalars\": {\"eps\": 0.5}, \"inputs\": [{\"name\": \"x\", \"shape\": [[3, 4]]}, "
                 "{\"name\": \"w\", \"shape\": [[4]]}]}",
     NULL, "eps", 0.5},
    {HEAD(4, 1) "\"scalars\": {\"dst\": null}, \"inputs\": [{\"name\": \"x\", \"shape\": [[3, 4]]}]}", NULL, "dst", 0},

    {"{", "line 1", NULL, 0},
    {"{\"format\": 2, \"problem_id\": 1}", "format", NULL, 0},
    {"{\"format\": 1}", "problem_id", NULL, 0},
    {"{\"format\": 1, \"problem_id\": \"1\"}", "problem_id", NULL, 0},
    {"{\"format\": 1, \"problem_id\": 1}", "world_size", NULL, 0},
    {"{\"format\": 1, \"problem_id\": 1, \"world_size\": 0}", "world_size", NULL, 0},
    {"{\"format\": 1, \"problem_id\": 1, \"world_size\": 1, \"dtype\": \"f33\", \"inputs\": []}", "unknown dtype 'f33'", NULL, 0},
    {HEAD(1, 1) NO_SCALARS "\"inputs\": {}}", "inputs", NULL, 0},
    {HEAD(1, 1) NO_SCALARS "\"inputs\": []}", "there is no input x", NULL, 0},
    {HEAD(1, 1) "\"inputs\": []}", "scalars", NULL, 0},
    {HEAD(1, 1) NO_SCALARS "\"inputs\": [{\"name\": \"y\", \"shape\": [[5, 7]]}]}", "there is no input x", NULL, 0},
    {HEAD(1, 2) NO_SCALARS "\"inputs\": [{\"name\": \"x\", \"shape\": [[5, 7]]}]}", "no shape for rank 1", NULL, 0},
    {HEAD(1, 2) NO_SCALARS "\"inputs\": [{\"name\": \"x\", \"shape\": [[5, 7], [5, 8]]}]}", "no values of the problem's", NULL,
     0},
    {HEAD(1, 1) NO_SCALARS "\"inputs\": [{\"name\": \"x\", \"shape\": [[5, 7, 1]]}]}", "no values of the problem's", NULL, 0},
    {HEAD(1, 1) NO_SCALARS "\"inputs\": [{\"name\": \"x\", \"shape\": [[5, -7]]}]}", "no size", NULL, 0},
    {HEAD(1, 1) NO_SCALARS "\"inputs\": [{\"name\": \"x\", \"shape\": [[5, 7.5]]}]}", "no size", NULL, 0},
    {HEAD(1, 1) NO_SCALARS "\"inputs\": [{\"name\": \"x\", \"shape\": [5, 7]}]}", "no shape for rank 0", NULL, 0},
    {HEAD(1, 1) "\"scalars\": {\"rows\": 5}, \"inputs\": []}", "no parameter 'rows'", NULL, 0},
    {HEAD(1, 1) "\"scalars\": {\"M\": [5]}, \"inputs\": []}", "scalar M is not a number", NULL, 0},
    {HEAD(4, 1) "\"scalars\": {\"dst\": 0.5}, \"inputs\": []}", "not a whole number", NULL, 0},
    {HEAD(1, 1) NO_SCALARS "\"scalars_per_rank\": {\"M\": [5]}, \"inputs\": []}", "differ between ranks", NULL, 0},
};

static void descriptions_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *r = &rows[i];
        struct golden_case c;
        struct pkb_error err = {""};
        int rc = load(r->meta, &c, &err);
        if (r->error ? rc != -1 || !strstr(err.text, r->error) : rc != 0)
            fail_msg("%s: %d, '%s'", r->meta, rc, err.text);
        if (rc == 0)
            assert_true(problem_real(&c.setting, r->name) == r->value);
        golden_case_destroy(&c);
    }
}

static void unknown_problems_are_told_apart(void **state)
{
    (void)state;
    struct golden_case c;
    struct pkb_error err = {""};
    assert_int_equal(load("{\"format\": 1, \"problem_id\": 999}", &c, &err), 0);
    assert_null(c.problem);
    assert_int_equal(golden_case_run(&c, &err), GOLDEN_NOT_IMPLEMENTED);
    golden_case_destroy(&c);
}

static void missing_arrays_are_named(void **state)
{
    (void)state;
    struct golden_case c;
    struct pkb_error err = {""};
    assert_int_equal(load(rows[0].meta, &c, &err), 0);
    assert_int_equal(golden_case_run(&c, &err), GOLDEN_FAILED);
    assert_non_null(strstr(err.text, "rank0_in_x.npy"));
    golden_case_destroy(&c);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return pkb_remove_tree(folder, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions_are_read),
        cmocka_unit_test(unknown_problems_are_told_apart),
        cmocka_unit_test(missing_arrays_are_named),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
