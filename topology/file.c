/* SPDX-License-Identifier: Apache-2.0 */
/* Topology files: where they are, and what is in them. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/topology.h"
#include "topology/tree.h"
#include "util/file.h"
#include "util/paths.h"
#include "util/suggest.h"

#define SUFFIX ".yaml"
#define MAX_NAMES 1000

/* Length of a file's name without the suffix; 0: it has none. */
static size_t stem_length(const char *name)
{
    size_t n = strlen(name), suffix = strlen(SUFFIX);
    return n > suffix && strcmp(name + n - suffix, SUFFIX) == 0 ? n - suffix : 0;
}

static int check_name(const char *path, const struct topology *t, struct pkb_error *err)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t n = stem_length(base);
    if (n == 0 || (strncmp(base, t->name, n) == 0 && t->name[n] == '\0'))
        return 0;
    return pkb_error_set(err, "the file is named %s, but describes '%s': both names must be the same", base, t->name);
}

int topology_read(const char *path, struct topology *t, struct pkb_error *err)
{
    char *text = NULL;
    size_t size;
    if (pkb_file_read(path, TREE_MAX_BYTES, &text, &size, err) < 0)
        return -1;
    int rc = topology_parse(text, size, t, err);
    if (rc == 0)
        rc = check_name(path, t, err);
    free(text);
    return rc < 0 ? pkb_error_prefix(err, "%s", path) : 0;
}

/* ---- names --------------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_name(struct topology_names *list, const char *name, size_t size, struct pkb_error *err)
{
    for (size_t i = 0; i < list->n; i++)
        if (strncmp(list->names[i], name, size) == 0 && list->names[i][size] == '\0')
            return 0;
    if (list->n >= MAX_NAMES)
        return pkb_error_set(err, "more than %d topologies", MAX_NAMES);
    char **names = realloc(list->names, (list->n + 1) * sizeof(*names));
    if (!names)
        return pkb_error_set(err, "out of memory");
    list->names = names;
    names[list->n] = strndup(name, size);
    if (!names[list->n])
        return pkb_error_set(err, "out of memory");
    list->n++;
    return 0;
}

static int add_folder(struct topology_names *list, const char *folder, struct pkb_error *err)
{
    DIR *d = opendir(folder);
    if (!d)
        return pkb_error_errno(err, "topologies: %s", folder);
    int rc = 0;
    for (const struct dirent *e = readdir(d); e && rc == 0; e = readdir(d)) {
        size_t n = stem_length(e->d_name);
        if (n > 0 && e->d_name[0] != '.')
            rc = add_name(list, e->d_name, n, err);
    }
    (void)closedir(d);
    return rc;
}

int topology_list(const char *folder, struct topology_names *list, struct pkb_error *err)
{
    char *own = pkb_path(PKB_PATH_SHARE, "topology", err);
    memset(list, 0, sizeof(*list));
    int rc = own ? add_name(list, TOPOLOGY_HOST, strlen(TOPOLOGY_HOST), err) : -1;
    if (rc == 0)
        rc = add_folder(list, own, err);
    if (rc == 0 && folder)
        rc = add_folder(list, folder, err);
    free(own);
    if (rc < 0)
        topology_names_clear(list);
    else
        qsort(list->names, list->n, sizeof(*list->names), compare);
    return rc;
}

void topology_names_clear(struct topology_names *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->names[i]);
    free(list->names);
    memset(list, 0, sizeof(*list));
}

/* ---- by name ------------------------------------------------------------------------------------------------------- */

static int unknown_name(const char *name, const char *folder, struct pkb_error *err)
{
    struct topology_names list;
    char text[512] = "";
    size_t used = 0;
    if (topology_list(folder, &list, err) < 0)
        return -1;
    const char *near = pkb_suggest(name, (const char *const *)list.names, list.n);
    for (size_t i = 0; i < list.n && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i > 0 ? ", " : "", list.names[i]);
    if (near)
        pkb_error_set(err, "there is no topology '%s'; did you mean '%s'?", name, near);
    else
        pkb_error_set(err, "there is no topology '%s'; there are %s", name, text);
    topology_names_clear(&list);
    return -1;
}

/* 1: read; 0: the folder has no such file; -1. */
static int try_folder(const char *folder, const char *name, struct topology *t, struct pkb_error *err)
{
    char *path = pkb_format(err, "%s/%s" SUFFIX, folder, name);
    if (!path)
        return -1;
    int rc = pkb_file_exists(path) ? 1 : 0;
    if (rc == 1 && topology_read(path, t, err) < 0)
        rc = -1;
    free(path);
    return rc;
}

int topology_find(const char *name, const char *folder, struct topology *t, struct pkb_error *err)
{
    if (strchr(name, '/') || stem_length(name) > 0)
        return topology_read(name, t, err);
    if (strcmp(name, TOPOLOGY_HOST) == 0)
        return topology_measure_host(t, err);
    char *own = pkb_path(PKB_PATH_SHARE, "topology", err);
    int rc = own ? try_folder(own, name, t, err) : -1;
    free(own);
    if (rc == 0 && folder)
        rc = try_folder(folder, name, t, err);
    if (rc == 0)
        return unknown_name(name, folder, err);
    return rc < 0 ? -1 : 0;
}
