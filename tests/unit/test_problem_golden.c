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
#include "tests/support/folder.h"
#include "util/file.h"

static int load(const char *meta, struct golden_case *c, struct pkb_error *err)
{
    char *path = pkb_format(NULL, "%s/meta.json", test_folder);
    assert_non_null(path);
    assert_int_equal(pkb_file_write(path, meta, strlen(meta), NULL), 0);
    free(path);
    return golden_case_load(c, test_folder, err);
}

#define HEAD(id, world) "{\"format\": 1, \"problem_id\": " #id ", \"world_size\": " #world ", \"dtype\": \"f32\", "
#define NO_SCALARS "\"scalars\": {}, "

struct row {
    const char *meta;
    const char *error; /* NULL: can be loaded */
    const char *name;  /* a parameter and its value then */
    double value;
};

/* An array of two dimensions on every one of 1 or 2 ranks. */
#define ONE(name, m, n) "{\"name\": \"" name "\", \"shape\": [[" #m ", " #n "]]}"
#define TWO(name, m, n) "{\"name\": \"" name "\", \"shape\": [[" #m ", " #n "], [" #m ", " #n "]]}"
#define IN(list) "\"inputs\": [" list "], "
#define OUT(list) "\"outputs\": [" list "]}"
#define X_AND_Y(m, n) IN(ONE("x", m, n)) OUT(ONE("y", m, n))

static const struct row rows[] = {
    {HEAD(1, 2) NO_SCALARS IN(TWO("x", 5, 7)) OUT(TWO("y", 5, 7)), NULL, "N", 7},
    {HEAD(2, 1) NO_SCALARS IN(ONE("x", 1000, 3)) "\"outputs\": [{\"name\": \"y\", \"shape\": [[1, 1000, 3]]}]}", NULL, "M", 1000},
    {HEAD(12, 2) NO_SCALARS IN(TWO("B", 48, 5) ", " TWO("A_local", 6, 24)) OUT(TWO("C", 6, 5)), NULL, "K", 48},
    {HEAD(11, 1) NO_SCALARS IN(ONE("A_local", 6, 24) ", " ONE("B", 24, 5)) OUT(ONE("C", 6, 5)), NULL, "K", 24},
    {HEAD(16, 2) NO_SCALARS IN(TWO("A_local", 6, 9) ", " TWO("B_local", 9, 5)) OUT(TWO("C_local", 3, 5)), NULL, "K", 18},
    {HEAD(5,
          2) "\"scalars\": {\"src\": 1}, \"inputs\": [{\"name\": \"x\", \"shape\": [[3, 4], [2, 3, 4]]}], " OUT(TWO("y", 3, 4)),
     NULL, "M", 3},
    {HEAD(18, 1) "\"scalars\": {\"eps\": 0.5}, \"inputs\": [{\"name\": \"x\", \"shape\": [[3, 4]]}, "
                 "{\"name\": \"w\", \"shape\": [[4]]}], " OUT(ONE("y", 3, 4)),
     NULL, "eps", 0.5},
    {HEAD(4, 1) "\"scalars\": {\"dst\": null}, " X_AND_Y(3, 4), NULL, "dst", 0},
    {HEAD(4, 2) "\"scalars\": {\"dst\": 0}, \"scalars_per_rank\": {\"dst\": [0, 1]}, " IN(TWO("x", 3, 4)) OUT(TWO("y", 3, 4)),
     NULL, "dst", 1},
    {HEAD(4, 1) "\"scalars\": {\"dst\": false}, " X_AND_Y(3, 4), NULL, "dst", 0},
    {"{\"format\": 1, \"problem_id\": 1, \"world_size\": 1, \"dtype\": \"i64\", " NO_SCALARS X_AND_Y(3, 4), NULL, "M", 3},
    {HEAD(39, 1) "\"scalars\": {\"num_heads\": 2}, \"inputs\": [{\"name\": \"x\", \"shape\": [[2, 16, 6]]}, " ONE(
         "w_qkv", 18, 6) ", " ONE("w_o", 6, 6) "], \"outputs\": [{\"name\": \"out\", \"shape\": [[2, 16, 6]]}]}",
     NULL, "variant", 0},

    {"{", "line 1", NULL, 0},
    {"{\"format\": 2, \"problem_id\": 1}", "format", NULL, 0},
    {"{\"format\": 1}", "problem_id", NULL, 0},
    {"{\"format\": 1, \"problem_id\": \"1\"}", "problem_id", NULL, 0},
    {"{\"format\": 1, \"problem_id\": 1}", "world_size", NULL, 0},
    {"{\"format\": 1, \"problem_id\": 1, \"world_size\": 0}", "world_size", NULL, 0},
    {"{\"format\": 1, \"problem_id\": 1, \"world_size\": 1, \"dtype\": \"f33\", \"inputs\": []}", "unknown dtype 'f33'", NULL, 0},
    {HEAD(1, 1) NO_SCALARS "\"inputs\": {}}", "inputs", NULL, 0},
    {HEAD(1, 1) NO_SCALARS "\"inputs\": []}", "outputs", NULL, 0},
    {HEAD(1, 1) NO_SCALARS IN("") OUT(""), "input x on rank 0: the case has no array", NULL, 0},
    {HEAD(1, 1) IN("") OUT(""), "scalars", NULL, 0},
    {HEAD(1, 1) NO_SCALARS IN(ONE("y", 5, 7)) OUT(ONE("y", 5, 7)), "input x on rank 0: the case has no array", NULL, 0},
    {HEAD(1, 1) NO_SCALARS IN(ONE("x", 5, 7)) OUT(ONE("z", 5, 7)), "output y on rank 0: the case has no array", NULL, 0},
    {HEAD(1, 1) NO_SCALARS IN(ONE("x", 5, 7) ", " ONE("w", 5, 7)) OUT(ONE("y", 5, 7)), "arrays that are no tensors", NULL, 0},
    {HEAD(1, 2) NO_SCALARS IN(ONE("x", 5, 7)) OUT(TWO("y", 5, 7)), "no shape for rank 1", NULL, 0},
    {HEAD(1, 2) NO_SCALARS "\"inputs\": [{\"name\": \"x\", \"shape\": [[5, 7], [5, 8]]}], " OUT(TWO("y", 5, 7)),
     "input x on rank 1: the problem has the shape (5, 7), the case (5, 8)", NULL, 0},
    {HEAD(1, 1) NO_SCALARS "\"inputs\": [{\"name\": \"x\", \"shape\": [[5, 7, 1]]}], " OUT(ONE("y", 5, 7)), "the case (5, 7, 1)",
     NULL, 0},
    {HEAD(1, 1) NO_SCALARS IN(ONE("x", 5, 7)) OUT(ONE("y", 7, 5)), "no values of the problem's", NULL, 0},
    {HEAD(11, 1) NO_SCALARS IN(ONE("A_local", 6, 24) ", " ONE("B", 24, 5)) OUT(ONE("C", 5, 6)), "no values of the problem's",
     NULL, 0},
    {HEAD(1, 1) NO_SCALARS IN(ONE("x", 5, -7)) OUT(""), "no size", NULL, 0},
    {HEAD(1, 1) NO_SCALARS IN(ONE("x", 5, 7.5)) OUT(""), "no size", NULL, 0},
    {HEAD(1, 1) NO_SCALARS "\"inputs\": [{\"name\": \"x\", \"shape\": [5, 7]}], " OUT(""), "no shape for rank 0", NULL, 0},
    {HEAD(1, 1) "\"scalars\": {\"rows\": 5}, " X_AND_Y(5, 7), "no parameter 'rows'", NULL, 0},
    {HEAD(1, 1) "\"scalars\": {\"M\": [5]}, " X_AND_Y(5, 7), "scalar M is not a number", NULL, 0},
    {HEAD(4, 1) "\"scalars\": {\"dst\": 0.5}, " X_AND_Y(5, 7), "not a whole number", NULL, 0},
    {HEAD(4, 1) "\"scalars\": {\"dst\": \"0\"}, " X_AND_Y(5, 7), "scalar dst is not a number", NULL, 0},
    {HEAD(4, 2) "\"scalars\": {\"dst\": 0}, \"scalars_per_rank\": {\"dst\": [0]}, " IN(TWO("x", 3, 4)) OUT(TWO("y", 3, 4)),
     "dst has not one value per rank", NULL, 0},
    {HEAD(4, 1) "\"scalars\": {\"dst\": 0}, \"scalars_per_rank\": {\"dst\": [null]}, " X_AND_Y(5, 7), "dst is not a number", NULL,
     0},
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions_are_read),
        cmocka_unit_test(unknown_problems_are_told_apart),
        cmocka_unit_test(missing_arrays_are_named),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
