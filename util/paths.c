/* SPDX-License-Identifier: Apache-2.0 */
#include "util/paths.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/file.h"

/* Programs lie at most this many folders below the top of the build tree. */
#define MAX_CLIMB 4

/* Each part's folder in the build tree (or the source tree, for what is not built). */
static const struct {
    const char *installed;
    const char *build;
    const char *source;
} places[] = {
    [PKB_PATH_BIN] = {PKB_BINDIR, "orchestrator", NULL},  [PKB_PATH_LIBEXEC] = {PKB_LIBEXECDIR, "libexec", NULL},
    [PKB_PATH_PLUGIN] = {PKB_PLUGINDIR, "plugins", NULL}, [PKB_PATH_INCLUDE] = {PKB_INCLUDEDIR, NULL, "include"},
    [PKB_PATH_SHARE] = {PKB_SHAREDIR, NULL, "."},
};

/* Cuts the last component of a path; 0 when none is left. */
static int go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return 0;
    *slash = '\0';
    return 1;
}

/* The top of the build tree that this program runs from, or NULL. `source` gets the path of the source tree. */
static char *find_build_tree(char source[PATH_MAX])
{
    char top[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", top, sizeof(top) - 1);
    if (n <= 0)
        return NULL;
    top[n] = '\0';
    for (int i = 0; i < MAX_CLIMB && go_up(top); i++) {
        char *marker = pkb_format(NULL, "%s/pkb-build-tree", top);
        FILE *f = marker ? fopen(marker, "re") : NULL;
        free(marker);
        if (!f)
            continue;
        char *line = fgets(source, PATH_MAX, f);
        (void)fclose(f);
        if (!line)
            return NULL;
        source[strcspn(source, "\n")] = '\0';
        return strdup(top);
    }
    return NULL;
}

char *pkb_path(enum pkb_path place, const char *name, struct pkb_error *err)
{
    char source[PATH_MAX];
    char *build = find_build_tree(source);
    const char *slash = name[0] ? "/" : "";
    char *path;
    if (!build)
        path = pkb_format(err, "%s%s%s", places[place].installed, slash, name);
    else if (places[place].build)
        path = pkb_format(err, "%s/%s%s%s", build, places[place].build, slash, name);
    else
        path = pkb_format(err, "%s/%s%s%s", source, places[place].source, slash, name);
    free(build);
    return path;
}
