/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/plan_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/file.h"

/* A folder of the test's own with a store: models a (all samples), b (sample 1 only), c (for GPUs), none. */
static char *make_store(void)
{
    static const char *const files[] = {
        "store/a/01_allreduce/1.c",      "store/a/01_allreduce/2.c",
        "store/a/01_allreduce/3.c",      "store/a/13_gemm_allreduce/1.c",
        "store/a/13_gemm_allreduce/2.c", "store/a/13_gemm_allreduce/3.c",
        "store/b/01_allreduce/1.c",      "store/c/01_allreduce/1.cu",
        "store/c/01_allreduce/2.py",     "store/none/README",
    };
    struct pkb_error err = {""};
    char *base = strdup("/tmp/pkb-test-plan.XXXXXX");
    assert_non_null(mkdtemp(base));
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char *path = pkb_format(&err, "%s/%s", base, files[i]);
        char *slash = strrchr(path, '/');
        *slash = '\0';
        assert_int_equal(pkb_mkdirs(path, &err), 0);
        *slash = '/';
        assert_int_equal(pkb_file_write(path, files[i], strlen(files[i]), &err), 0);
        free(path);
    }
    return base;
}

int plan_store_setup(void **state)
{
    *state = make_store();
    return 0;
}

int plan_store_teardown(void **state)
{
    struct pkb_error err;
    int rc = pkb_remove_tree(*state, &err);
    free(*state);
    return rc;
}

/* The plan of a sweep with these fields; NULL with the error set. */
struct plan *try_plan(const char *base, const char *fields, double shard_seconds, struct pkb_error *err)
{
    char *text = pkb_format(err, "return sweep { candidates = 'store', %s }", fields);
    char *path = pkb_format(err, "%s/test.lua", base);
    struct sweep *s = sweep_load_text(path, text, strlen(text), err);
    struct plan *p = s ? plan_make(s, shard_seconds, NULL, err) : NULL;
    sweep_destroy(s);
    free(path);
    free(text);
    return p;
}

struct plan *get_plan(const char *base, const char *fields, double shard_seconds)
{
    struct pkb_error err = {""};
    struct plan *p = try_plan(base, fields, shard_seconds, &err);
    if (!p)
        fail_msg("%s: %s", fields, err.text);
    return p;
}

void store_write(const char *base, const char *name)
{
    struct pkb_error err = {""};
    char *path = pkb_format(&err, "%s/%s", base, name);
    if (pkb_file_write(path, name, strlen(name), &err) < 0)
        fail_msg("%s", err.text);
    free(path);
}

void store_remove(const char *base, const char *name)
{
    char *path = pkb_format(NULL, "%s/%s", base, name);
    struct pkb_error err;
    assert_int_equal(pkb_remove_tree(path, &err), 0);
    free(path);
}
