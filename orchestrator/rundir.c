/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/file.h"
#include "util/json.h"
#include "util/suggest.h"
#include "util/tuning.h"

#define MAX_SIBLINGS 256

void rundir_destroy(struct rundir *r)
{
    if (!r)
        return;
    int saved = errno;
    rundir_unlock(r);
    free(r->path);
    free(r->name);
    free(r->build_id);
    free(r->build_cache);
    free(r->created);
    free(r->environment);
    free(r);
    errno = saved;
}

char *rundir_candidate(const struct rundir *r, const struct plan_candidate *c, struct pkb_error *err)
{
    return pkb_format(err, "%s/candidates/%s.%s", r->path, c->digest, c->kind);
}

/* ---- what was meant -------------------------------------------------------------------------------------------------- */

static bool is_run(const char *folder, const char *name)
{
    char *path = pkb_format(NULL, "%s/%s/run.json", folder, name);
    bool found = path && pkb_file_exists(path);
    free(path);
    return found;
}

/* Names of the runs in a folder; how many. The caller frees each. */
static size_t list_runs(const char *folder, char *names[MAX_SIBLINGS])
{
    size_t n = 0;
    DIR *d = opendir(folder);
    if (!d)
        return 0;
    for (struct dirent *e = readdir(d); e && n < MAX_SIBLINGS; e = readdir(d)) {
        if (e->d_name[0] == '.' || !is_run(folder, e->d_name))
            continue;
        names[n] = strdup(e->d_name);
        n += names[n] != NULL;
    }
    (void)closedir(d);
    return n;
}

static void free_names(char *names[MAX_SIBLINGS], size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(names[i]);
}

/* "; did you mean PATH?" for a folder that is not a run: the only run in it, or the run beside it whose name is nearest. */
static void suggest_run(const char *path, struct pkb_error *err)
{
    char *names[MAX_SIBLINGS];
    struct pkb_error plain = *err;
    size_t n = list_runs(path, names);
    if (n == 1)
        pkb_error_set(err, "%.600s; did you mean %.300s/%s?", plain.text, path, names[0]);
    else if (n > 1)
        pkb_error_set(err, "%.600s; it holds %zu runs, such as %s: name one of them", plain.text, n, names[0]);
    free_names(names, n);
    if (n > 0)
        return;
    char *copy = strdup(path);
    for (size_t end = copy ? strlen(copy) : 0; end > 1 && copy[end - 1] == '/'; end--)
        copy[end - 1] = '\0';
    char *slash = copy ? strrchr(copy, '/') : NULL;
    const char *base = slash ? slash + 1 : copy;
    const char *parent = slash ? copy : ".";
    if (slash)
        *slash = '\0';
    n = copy ? list_runs(parent[0] ? parent : "/", names) : 0;
    const char *near = n ? pkb_suggest(base, (const char *const *)names, n) : NULL;
    if (near)
        pkb_error_set(err, "%.600s; did you mean %.300s/%s?", plain.text, parent, near);
    free_names(names, n);
    free(copy);
}

/* ---- opening --------------------------------------------------------------------------------------------------------- */

static int copy_string(const json_t *v, const char *key, char **out, struct pkb_error *err)
{
    const char *text;
    if (pkb_json_string(v, key, &text, err) < 0)
        return -1;
    *out = strdup(text);
    return *out ? 0 : pkb_error_set(err, "out of memory");
}

static int decode_cache(struct rundir *r, const json_t *v, struct pkb_error *err)
{
    const json_t *cache = json_object_get(v, "build_cache");
    if (cache && json_is_null(cache)) {
        r->build_cache = pkb_format(err, "%s/builds", r->path);
        return r->build_cache ? 0 : -1;
    }
    return copy_string(v, "build_cache", &r->build_cache, err);
}

static int decode(struct rundir *r, const json_t *v, struct pkb_error *err)
{
    int64_t format;
    if (pkb_json_int(v, "format", 1, INT64_MAX, &format, err) < 0)
        return -1;
    if (format != RUNDIR_FORMAT)
        return pkb_error_set(err,
                             "format %lld was written by a newer pkb; this one reads format %d: use the pkb that made the run",
                             (long long)format, RUNDIR_FORMAT);
    if (copy_string(v, "name", &r->name, err) < 0 || copy_string(v, "build", &r->build_id, err) < 0 ||
        copy_string(v, "created", &r->created, err) < 0)
        return -1;
    r->environment = tuning_text(json_object_get(v, "environment"));
    return r->environment ? decode_cache(r, v, err) : pkb_error_set(err, "out of memory");
}

static int check_folder(const char *path, struct pkb_error *err)
{
    if (is_run(path, "."))
        return 0;
    if (!pkb_file_exists(path))
        pkb_error_set(err, "%s: no such run directory", path);
    else
        pkb_error_set(err, "%s: no run directory: run.json is missing", path);
    suggest_run(path, err);
    return -1;
}

static int read_run(struct rundir *r, const char *path, struct pkb_error *err)
{
    char absolute[PATH_MAX];
    if (!realpath(path, absolute))
        return pkb_error_errno(err, "%s", path);
    r->path = strdup(absolute);
    char *file = pkb_format(err, "%s/run.json", absolute);
    json_t *v = r->path && file ? pkb_json_read(file, err) : NULL;
    int rc = v ? decode(r, v, err) : -1;
    if (v && rc < 0)
        pkb_error_prefix(err, "%s", file);
    json_decref(v);
    free(file);
    return rc;
}

static int decode_topology(const json_t *run, struct topology *t, struct pkb_error *err)
{
    const json_t *copy = json_object_get(run, "topology");
    if (!copy || json_is_null(copy))
        return 0;
    return topology_copy_decode(copy, t, err) < 0 ? pkb_error_prefix(err, "topology") : 1;
}

int rundir_topology(const struct rundir *r, struct topology *t, struct pkb_error *err)
{
    char *file = pkb_format(err, "%s/run.json", r->path);
    json_t *run = file ? pkb_json_read(file, err) : NULL;
    int rc = run ? decode_topology(run, t, err) : -1;
    if (run && rc < 0)
        pkb_error_prefix(err, "%s", file);
    json_decref(run);
    free(file);
    return rc;
}

struct rundir *rundir_open(const char *path, struct pkb_error *err)
{
    if (check_folder(path, err) < 0)
        return NULL;
    struct rundir *r = calloc(1, sizeof(*r));
    if (!r) {
        pkb_error_set(err, "out of memory");
        return NULL;
    }
    r->lock_fd = -1;
    if (read_run(r, path, err) == 0)
        return r;
    rundir_destroy(r);
    return NULL;
}
