/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build-id.h"
#include "config.h"
#include "orchestrator/rundir.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"
#include "util/tuning.h"

/* A candidate's source is at most this long. */
#define MAX_SOURCE (16 << 20)

static const char *const parts[] = {"plan", "candidates", "records", "logs", "builds"};
#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

/* ---- the folder ------------------------------------------------------------------------------------------------------ */

static int check_empty(const char *path, struct pkb_error *err)
{
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT ? 0
                               : pkb_error_errno(err, "cannot create the run directory (--run names another place): %s", path);
    const struct dirent *e;
    do
        e = readdir(d);
    while (e && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0));
    bool empty = e == NULL;
    (void)closedir(d);
    if (empty)
        return 0;
    char *file = pkb_format(err, "%s/run.json", path);
    if (!file)
        return -1;
    if (pkb_file_exists(file))
        pkb_error_set(err, "%s: there is a run already; 'pkb resume %s' continues it, --run names another folder", path, path);
    else
        pkb_error_set(err, "%s: the folder is not empty; --run must name a new or an empty one", path);
    free(file);
    return -1;
}

static int make_part(const char *run, const char *part, struct pkb_error *err)
{
    char *path = pkb_format(err, "%s/%s", run, part);
    int rc = path ? pkb_mkdirs(path, err) : -1;
    free(path);
    return rc;
}

/* Takes back what rundir_create made; the folder itself only if it was made too. */
static void undo(const char *run, bool made)
{
    if (made) {
        (void)pkb_remove_tree(run, NULL);
        return;
    }
    for (size_t i = 0; i < N_PARTS; i++) {
        char *path = pkb_format(NULL, "%s/%s", run, parts[i]);
        if (path)
            (void)pkb_remove_tree(path, NULL);
        free(path);
    }
    char *file = pkb_format(NULL, "%s/run.json", run);
    if (file)
        (void)unlink(file);
    free(file);
}

/* ---- candidates ------------------------------------------------------------------------------------------------------ */

static int copy_candidate(const char *path, const struct plan_candidate *c, struct pkb_error *err)
{
    char *source = NULL, hex[PKB_DIGEST_HEX];
    size_t size;
    int rc = -1;
    if (pkb_file_exists(path)) /* another sample has the same text */
        return 0;
    if (pkb_file_read(c->path, MAX_SOURCE, &source, &size, err) == 0 && pkb_digest_buffer(source, size, hex, err) == 0) {
        if (strcmp(hex, c->digest) != 0)
            pkb_error_set(err, "%s: the candidate was changed while the run was being planned; start again", c->path);
        else
            rc = pkb_file_put(path, source, size, err);
    }
    free(source);
    return rc;
}

static int sync_candidate(const char *path, const struct plan_candidate *c, struct pkb_error *err)
{
    (void)c;
    return pkb_file_sync(path, err);
}

/* Does something with the place of every candidate in the run. */
static int for_candidates(const char *run, const struct plan *p,
                          int (*work)(const char *path, const struct plan_candidate *c, struct pkb_error *err),
                          struct pkb_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < p->n_candidates && rc == 0; i++) {
        const struct plan_candidate *c = &p->candidates[i];
        char *path = pkb_format(err, "%s/candidates/%s.%s", run, c->digest, c->kind);
        rc = path ? work(path, c, err) : -1;
        free(path);
    }
    return rc;
}

static int copy_candidates(const char *run, const struct plan *p, struct pkb_error *err)
{
    if (for_candidates(run, p, copy_candidate, err) < 0 || for_candidates(run, p, sync_candidate, err) < 0)
        return pkb_error_prefix(err, "copying candidates");
    return 0;
}

/* ---- run.json -------------------------------------------------------------------------------------------------------- */

static json_t *encode_argv(const struct rundir_options *o)
{
    json_t *list = json_array();
    for (int i = 0; list && i < o->argc; i++) {
        json_t *word = json_string(o->argv[i]);
        if (json_array_append_new(list, word ? word : json_string("(not UTF-8)")) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *encode_run(const struct rundir_options *o, const char *build_cache, const struct sweep *s)
{
    char created[32], host[HOST_NAME_MAX + 1] = "?";
    const struct passwd *user = getpwuid(geteuid());
    pkb_utc_now(created, sizeof(created));
    (void)gethostname(host, sizeof(host) - 1);
    return json_pack("{s:i, s:s, s:{s:s, s:s, s:s}, s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:s?, s:o, s:o}", "format", RUNDIR_FORMAT,
                     "name", s->name, "sweep", "path", s->path, "digest", s->digest, "source", s->source, "created", created,
                     "host", host, "user", user ? user->pw_name : "?", "version", PACKAGE_VERSION, "build", PKB_BUILD_ID, "argv",
                     encode_argv(o), "launcher", o->launcher, "build_cache", build_cache, "environment", tuning_variables(),
                     "topology", o->topology ? topology_copy_encode(o->topology, NULL) : json_null());
}

static int write_run(const char *run, const struct rundir_options *o, const char *build_cache, const struct sweep *s,
                     struct pkb_error *err)
{
    json_t *v = encode_run(o, build_cache, s);
    if (!v)
        return pkb_error_set(err, "run.json cannot be made: out of memory, or the sweep is not UTF-8");
    char *path = pkb_format(err, "%s/run.json", run);
    int rc = path ? pkb_json_write(path, v, true, err) : -1;
    free(path);
    json_decref(v);
    return rc;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------- */

static int fill(const char *run, const struct rundir_options *o, const struct sweep *s, const struct plan *p,
                struct pkb_error *err)
{
    char cache[PATH_MAX];
    for (size_t i = 0; i < N_PARTS; i++)
        if (make_part(run, parts[i], err) < 0)
            return -1;
    if (o->build_cache) {
        if (pkb_mkdirs(o->build_cache, err) < 0)
            return pkb_error_prefix(err, "build cache");
        if (!realpath(o->build_cache, cache))
            return pkb_error_errno(err, "build cache %s", o->build_cache);
    }
    if (copy_candidates(run, p, err) < 0 || plan_save(p, run, err) < 0)
        return -1;
    return write_run(run, o, o->build_cache ? cache : NULL, s, err);
}

struct rundir *rundir_create(const struct rundir_options *o, const struct sweep *s, const struct plan *p, struct pkb_error *err)
{
    if (check_empty(o->path, err) < 0)
        return NULL;
    bool made = !pkb_file_exists(o->path);
    if (pkb_mkdirs(o->path, err) < 0) {
        pkb_error_prefix(err, "creating the run directory (--run names another place)");
        return NULL;
    }
    if (fill(o->path, o, s, p, err) == 0)
        return rundir_open(o->path, err);
    pkb_error_prefix(err, "creating the run directory %s", o->path);
    undo(o->path, made);
    return NULL;
}
