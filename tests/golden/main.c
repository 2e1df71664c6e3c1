/* SPDX-License-Identifier: Apache-2.0 */
/* pkb-golden DIR: runs every golden case under DIR (each folder with a meta.json) and compares with the expected outputs.
 *
 * Prints a line per failed case, one that counts the cases of problems that are not implemented, and last
 * `N passed, N failed`. Exits with 0 when none failed, 1 when one did or no case was found.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/golden/case.h"
#include "util/file.h"

/* Folders below DIR. */
#define MAX_DEPTH 6

struct counts {
    int passed, failed, not_implemented;
};

static void run_case(const char *folder, struct counts *counts)
{
    struct golden_case c;
    struct pkb_error err = {""};
    enum golden_verdict verdict = GOLDEN_FAILED;
    if (golden_case_load(&c, folder, &err) == 0)
        verdict = golden_case_run(&c, &err);
    golden_case_destroy(&c);
    if (verdict == GOLDEN_PASSED)
        counts->passed++;
    if (verdict == GOLDEN_NOT_IMPLEMENTED)
        counts->not_implemented++;
    if (verdict == GOLDEN_FAILED) {
        counts->failed++;
        printf("FAILED %s: %s\n", folder, err.text);
    }
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int walk(const char *folder, int depth, struct counts *counts, struct pkb_error *err);

static int visit(const char *folder, const char *name, int depth, struct counts *counts, struct pkb_error *err)
{
    struct stat st;
    char *path = pkb_format(err, "%s/%s", folder, name);
    if (!path)
        return -1;
    int rc = stat(path, &st) == 0 ? 0 : pkb_error_errno(err, "%s", path);
    if (rc == 0 && S_ISDIR(st.st_mode) && depth < MAX_DEPTH)
        rc = walk(path, depth + 1, counts, err);
    else if (rc == 0 && strcmp(name, "meta.json") == 0)
        run_case(folder, counts);
    free(path);
    return rc;
}

/* All cases in a folder and below, in alphabetical order. */
static int walk(const char *folder, int depth, struct counts *counts, struct pkb_error *err)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, is_visible, alphasort);
    int rc = 0;
    if (n < 0)
        return pkb_error_errno(err, "%s", folder);
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = visit(folder, entries[i]->d_name, depth, counts, err);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

int main(int argc, char **argv)
{
    struct counts counts = {0, 0, 0};
    struct pkb_error err = {""};
    if (argc != 2) {
        fprintf(stderr, "usage: pkb-golden DIR\n");
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (walk(argv[1], 0, &counts, &err) < 0) {
        fprintf(stderr, "pkb-golden: %s\n", err.text);
        return 1;
    }
    if (counts.passed + counts.failed + counts.not_implemented == 0) {
        fprintf(stderr, "pkb-golden: no case (meta.json) under %s\n", argv[1]);
        return 1;
    }
    if (counts.not_implemented > 0)
        printf("%d cases of problems that are not implemented\n", counts.not_implemented);
    printf("%d passed, %d failed\n", counts.passed, counts.failed);
    return counts.failed ? 1 : 0;
}
