/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/captured.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/file.h"
#include "util/paths.h"

char *captured_folder(void)
{
    struct pkb_error err;
    char *path = pkb_path(PKB_PATH_SHARE, "tests/topology", &err);
    assert_non_null(path);
    return path;
}

static void write_file(const char *folder, const char *path, const char *text)
{
    struct pkb_error err;
    char *full = pkb_format(&err, "%s/%s", folder, path);
    assert_non_null(full);
    char *slash = strrchr(full, '/');
    *slash = '\0';
    assert_int_equal(pkb_mkdirs(full, &err), 0);
    *slash = '/';
    FILE *f = fopen(full, "we");
    assert_non_null(f);
    assert_true(fprintf(f, "%s\n", text) > 0);
    assert_int_equal(fclose(f), 0);
    free(full);
}

void captured_unpack(const char *name, const char *folder)
{
    struct pkb_error err;
    char *from = captured_folder(), *text, *rest = NULL;
    char *path = pkb_format(&err, "%s/%s.tree", from, name);
    size_t size;
    assert_non_null(path);
    assert_int_equal(pkb_file_read(path, 1 << 20, &text, &size, &err), 0);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *tab = strchr(line, '\t');
        if (line[0] == '#')
            continue;
        assert_non_null(tab);
        *tab = '\0';
        write_file(folder, line, tab + 1);
    }
    free(text);
    free(path);
    free(from);
}
