/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/workshop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/support/folder.h"
#include "util/file.h"
#include "util/paths.h"

static struct {
    char *cache, *candidates;
    struct build_toolchain *toolchain;
} workshop;

int workshop_open(void **state)
{
    if (test_folder_make(state) < 0)
        return -1;
    workshop.cache = pkb_format(NULL, "%s/builds", test_folder);
    workshop.candidates = pkb_path(PKB_PATH_SHARE, "tests/candidates", NULL);
    workshop.toolchain = build_toolchain_find("c", NULL);
    return workshop.cache && workshop.candidates && workshop.toolchain ? 0 : -1;
}

int workshop_close(void **state)
{
    build_toolchain_destroy(workshop.toolchain);
    free(workshop.candidates);
    free(workshop.cache);
    return test_folder_remove(state);
}

const char *workshop_candidates(void)
{
    return workshop.candidates;
}

enum build_status workshop_build(const char *name, struct build_result *r)
{
    char digest[PKB_DIGEST_HEX];
    struct pkb_error err = {""};
    char *source = pkb_format(NULL, "%s/%s.c", workshop.candidates, name);
    assert_non_null(source);
    if (pkb_digest_file(source, digest, &err) < 0 ||
        build_candidate(workshop.cache, workshop.toolchain, source, digest, r, &err) < 0)
        fail_msg("%s", err.text);
    free(source);
    return r->status;
}
