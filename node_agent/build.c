/* SPDX-License-Identifier: Apache-2.0 */
/* The build cache: looking entries up and making new ones. */
#include "node_agent/build.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "node_agent/build_compile.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"

#define FORMAT 1
#define RESULT "build.json"
#define SOURCE_LIMIT ((size_t)16 << 20)
#define TEMP_PREFIX "tmp."

/* ---- looking up -------------------------------------------------------------------------------------------------------- */

static int set_path(char to[4096], const char *cache, const char *key, const char *name, struct pkb_error *err)
{
    int n = snprintf(to, 4096, "%s/%s/%s", cache, key, name);
    return n < 0 || n >= 4096 ? pkb_error_set(err, "%s: the path is too long", cache) : 0;
}

static int decode(const json_t *value, struct build_result *r, struct pkb_error *err)
{
    const char *outcome, *detail;
    int64_t format;
    if (pkb_json_int(value, "format", FORMAT, FORMAT, &format, err) < 0 || pkb_json_string(value, "outcome", &outcome, err) < 0 ||
        pkb_json_string(value, "detail", &detail, err) < 0 || pkb_json_real(value, "seconds", &r->seconds, err) < 0)
        return -1;
    if (strcmp(outcome, "ok") != 0 && strcmp(outcome, "compile_error") != 0)
        return pkb_error_set(err, "outcome: '%.40s' is neither ok nor compile_error", outcome);
    r->status = strcmp(outcome, "ok") == 0 ? BUILD_OK : BUILD_COMPILE_ERROR;
    (void)snprintf(r->detail, sizeof(r->detail), "%s", detail);
    return 0;
}

int build_lookup(const char *cache, const char *key, struct build_result *r, struct pkb_error *err)
{
    char path[4096];
    memset(r, 0, sizeof(*r));
    r->status = BUILD_ABSENT;
    if (set_path(path, cache, key, RESULT, err) < 0 || set_path(r->object, cache, key, BUILD_OBJECT, err) < 0 ||
        set_path(r->log, cache, key, BUILD_LOG, err) < 0)
        return -1;
    if (!pkb_file_exists(path))
        return 0;
    json_t *value = pkb_json_read(path, err);
    int rc = value ? decode(value, r, err) : -1;
    json_decref(value);
    if (rc == 0 && r->status == BUILD_OK && !pkb_file_exists(r->object))
        rc = pkb_error_set(err, "%s is missing", BUILD_OBJECT);
    if (rc < 0) {
        r->status = BUILD_ABSENT;
        return pkb_error_prefix(err, "build cache %s/%s is damaged (remove this folder)", cache, key);
    }
    r->cached = true;
    return 0;
}

/* ---- temporary folders -------------------------------------------------------------------------------------------------- */

static char *make_temp(const char *cache, const char *key, struct pkb_error *err)
{
    static atomic_uint counter;
    char *path = pkb_format(err, "%s/" TEMP_PREFIX "%.16s.%d.%u.%llx", cache, key, (int)getpid(), atomic_fetch_add(&counter, 1),
                            (unsigned long long)pkb_now_ns());
    if (!path)
        return NULL;
    if (mkdir(path, 0777) == 0)
        return path;
    pkb_error_errno(err, "%s", path);
    free(path);
    return NULL;
}

/* A builder works for its time limit at most; clocks of file servers may be off by minutes. */
static bool is_stale(int folder, const char *name, int limit_seconds)
{
    struct stat st;
    if (strncmp(name, TEMP_PREFIX, strlen(TEMP_PREFIX)) != 0 || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    return S_ISDIR(st.st_mode) && time(NULL) - st.st_mtime > 4 * (time_t)limit_seconds + 600;
}

/* Best effort: another builder may be doing the same. */
static void remove_stale(const char *cache, int limit_seconds)
{
    DIR *folder = opendir(cache);
    if (!folder)
        return;
    for (struct dirent *e = readdir(folder); e; e = readdir(folder)) {
        if (!is_stale(dirfd(folder), e->d_name, limit_seconds))
            continue;
        char *path = pkb_format(NULL, "%s/%s", cache, e->d_name);
        if (path)
            (void)pkb_remove_tree(path, NULL);
        free(path);
    }
    (void)closedir(folder);
}

/* ---- making an entry ----------------------------------------------------------------------------------------------------- */

/* What is compiled is a copy of what was digested, whatever happens to the source meanwhile. */
static int copy_source(const char *source, const char *digest, const char *temp, const char *name, struct pkb_error *err)
{
    char *text, now[PKB_DIGEST_HEX];
    size_t size;
    if (pkb_file_read(source, SOURCE_LIMIT, &text, &size, err) < 0)
        return -1;
    int rc = pkb_digest_buffer(text, size, now, err);
    if (rc == 0 && strcmp(now, digest) != 0)
        rc = pkb_error_set(err, "%s: changed after planning (digest %.12s, planned %.12s); plan again", source, now, digest);
    char *path = rc == 0 ? pkb_format(err, "%s/%s", temp, name) : NULL;
    rc = path ? pkb_file_write(path, text, size, err) : -1;
    free(path);
    free(text);
    return rc;
}

static json_t *describe(const struct build_toolchain *t, const struct build_compiled *c, struct pkb_error *err)
{
    const char **argv = build_command(t, err);
    if (!argv)
        return NULL;
    json_t *command = json_array();
    for (size_t i = 0; argv[i]; i++)
        (void)json_array_append_new(command, json_string(argv[i]));
    free(argv);
    json_t *value = json_pack("{s:i, s:s, s:s, s:f, s:o, s:s}", "format", FORMAT, "outcome", c->ok ? "ok" : "compile_error",
                              "detail", c->detail, "seconds", c->seconds, "command", command, "compiler", t->version);
    if (!value)
        pkb_error_set(err, "cannot describe the build (out of memory, or a path that is not UTF-8)");
    return value;
}

/* Makes a file's data durable before the folder gets its final name. */
static int sync_file(const char *temp, const char *name, struct pkb_error *err)
{
    char *path = pkb_format(err, "%s/%s", temp, name);
    if (!path)
        return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) < 0 ? pkb_error_errno(err, "%s", path) : 0;
    if (fd >= 0)
        (void)close(fd);
    free(path);
    return rc;
}

static int remove_in(const char *temp, const char *name, struct pkb_error *err)
{
    char *path = pkb_format(err, "%s/%s", temp, name);
    int rc = path ? pkb_remove_tree(path, err) : -1;
    free(path);
    return rc;
}

static int write_result(const struct build_toolchain *t, const char *temp, const struct build_compiled *c, struct pkb_error *err)
{
    json_t *value = describe(t, c, err);
    char *path = value ? pkb_format(err, "%s/%s", temp, RESULT) : NULL;
    int rc = path ? pkb_json_write(path, value, true, err) : -1;
    free(path);
    json_decref(value);
    return rc;
}

/* Leaves in the folder what an entry consists of. */
static int finish_temp(const struct build_toolchain *t, const char *temp, const struct build_compiled *c, struct pkb_error *err)
{
    if (remove_in(temp, BUILD_SCRATCH, err) < 0 || remove_in(temp, build_source_name(t), err) < 0)
        return -1;
    int rc = c->ok ? sync_file(temp, BUILD_OBJECT, err) : remove_in(temp, BUILD_OBJECT, err);
    return rc < 0 ? -1 : write_result(t, temp, c, err);
}

/* Gives the folder its final name. An entry that is there already is as good; what lies there without being an entry goes. */
static int publish(const char *cache, const char *key, const char *temp, struct build_result *r, struct pkb_error *err)
{
    char *final = pkb_format(err, "%s/%s", cache, key);
    int rc = final ? 0 : -1;
    for (int attempt = 0; rc == 0 && attempt < 3; attempt++) {
        if (rename(temp, final) == 0 || (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR))
            break;
        if (build_lookup(cache, key, r, NULL) == 0 && r->status != BUILD_ABSENT)
            break;
        rc = pkb_remove_tree(final, err);
    }
    free(final);
    if (rc == 0)
        rc = build_lookup(cache, key, r, err);
    if (rc == 0 && r->status == BUILD_ABSENT)
        rc = pkb_error_set(err, "build cache %s: cannot add %s", cache, key);
    return rc;
}

static int build_in(const char *temp, const struct build_toolchain *t, const char *source, const char *digest,
                    struct pkb_error *err)
{
    struct build_compiled c;
    char *scratch = pkb_format(err, "%s/%s", temp, BUILD_SCRATCH);
    int rc = scratch ? pkb_mkdirs(scratch, err) : -1;
    free(scratch);
    if (rc < 0 || copy_source(source, digest, temp, build_source_name(t), err) < 0 || build_compile(t, temp, &c, err) < 0)
        return -1;
    return finish_temp(t, temp, &c, err);
}

static int make_entry(const char *cache, const char *key, const struct build_toolchain *t, const char *source, const char *digest,
                      struct build_result *r, struct pkb_error *err)
{
    if (pkb_mkdirs(cache, err) < 0)
        return -1;
    remove_stale(cache, t->limit_seconds);
    char *temp = make_temp(cache, key, err);
    if (!temp)
        return -1;
    int rc = build_in(temp, t, source, digest, err);
    if (rc == 0)
        rc = publish(cache, key, temp, r, err);
    (void)pkb_remove_tree(temp, NULL); /* there only if it was not published */
    free(temp);
    if (rc == 0)
        r->cached = false;
    return rc;
}

int build_candidate(const char *cache, const struct build_toolchain *t, const char *source, const char *digest,
                    struct build_result *r, struct pkb_error *err)
{
    char key[PKB_DIGEST_HEX];
    if (build_key(t, digest, key, err) < 0 || build_lookup(cache, key, r, err) < 0)
        return -1;
    if (r->status != BUILD_ABSENT)
        return 0;
    return make_entry(cache, key, t, source, digest, r, err);
}
