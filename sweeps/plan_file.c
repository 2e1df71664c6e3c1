/* SPDX-License-Identifier: Apache-2.0 */
/* RUN/plan/. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sweeps/plan_parts.h"
#include "util/file.h"
#include "util/json.h"

struct paths {
    char *folder, *index, *shards, *cells;
};

static void paths_clear(struct paths *paths)
{
    free(paths->folder);
    free(paths->index);
    free(paths->shards);
    free(paths->cells);
    *paths = (struct paths){0};
}

/* To be cleared in any case. */
static int paths_init(struct paths *paths, const char *run, struct pkb_error *err)
{
    paths->folder = pkb_format(err, "%s/plan", run);
    paths->index = pkb_format(err, "%s/plan/plan.json", run);
    paths->shards = pkb_format(err, "%s/plan/shards", run);
    paths->cells = pkb_format(err, "%s/plan/cells", run);
    return paths->folder && paths->index && paths->shards && paths->cells ? 0 : -1;
}

/* ---- writing ------------------------------------------------------------------------------------------------------- */

static json_t *encode_settings(const struct plan *p)
{
    json_t *list = json_array();
    int rc = list ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < p->n_settings; i++)
        rc = json_array_append_new(list, plan_setting_encode(&p->settings[i]));
    if (rc == 0)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *encode_candidates(const struct plan *p)
{
    json_t *list = json_array();
    int rc = list ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < p->n_candidates; i++) {
        const struct plan_candidate *c = &p->candidates[i];
        json_t *entry = json_pack("{s:s, s:s, s:i, s:s, s:s, s:s}", "problem", c->problem->name, "model", c->model, "sample",
                                  c->sample, "path", c->path, "kind", c->kind, "digest", c->digest);
        rc = json_array_append_new(list, entry);
    }
    if (rc == 0)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *encode_skips(const struct plan *p)
{
    json_t *list = json_array();
    int rc = list ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < p->n_skips; i++) {
        const struct plan_skip *s = &p->skips[i];
        rc = json_array_append_new(list, json_pack("{s:s, s:s?, s:i, s:I, s:s}", "problem", s->problem->name, "model", s->model,
                                                   "world", s->world, "count", (json_int_t)s->count, "reason", s->reason));
    }
    if (rc == 0)
        return list;
    json_decref(list);
    return NULL;
}

static int save_index(const struct plan *p, const char *shards_digest, const char *path, struct pkb_error *err)
{
    json_t *value = json_pack("{s:i, s:I, s:I, s:s, s:o, s:o, s:o}", "format", 1, "cells", (json_int_t)p->n_cells, "shards",
                              (json_int_t)p->n_shards, "shards_digest", shards_digest, "settings", encode_settings(p),
                              "candidates", encode_candidates(p), "skipped", encode_skips(p));
    if (!value)
        return pkb_error_set(err, "%s: cannot encode the plan (out of memory, or a path that is not UTF-8)", path);
    int rc = pkb_json_write(path, value, false, err);
    json_decref(value);
    return rc;
}

static int save_lines(const struct plan *p, const struct paths *paths, char shards_digest[PKB_DIGEST_HEX], struct pkb_error *err)
{
    size_t cells_size = p->n_cells * PLAN_LINE, shards_size = p->n_shards * PLAN_SHARD_LINE;
    char *cells = malloc(cells_size + 1), *shards = malloc(shards_size + 1);
    int rc = cells && shards ? 0 : pkb_error_set(err, "out of memory");
    if (rc == 0) {
        plan_format_cells(p->cells, p->n_cells, cells);
        rc = plan_format_shards(p, cells, shards, err);
    }
    if (rc == 0)
        rc = pkb_digest_buffer(shards, shards_size, shards_digest, err);
    if (rc == 0)
        rc = pkb_file_write(paths->cells, cells, cells_size, err);
    if (rc == 0)
        rc = pkb_file_write(paths->shards, shards, shards_size, err);
    free(cells);
    free(shards);
    return rc;
}

/* The lines first: a plan.json means that all is there. */
int plan_save(const struct plan *p, const char *run, struct pkb_error *err)
{
    char digest[PKB_DIGEST_HEX];
    struct paths paths;
    int rc = paths_init(&paths, run, err);
    if (rc == 0)
        rc = pkb_mkdirs(paths.folder, err);
    if (rc == 0)
        rc = save_lines(p, &paths, digest, err);
    if (rc == 0)
        rc = save_index(p, digest, paths.index, err);
    paths_clear(&paths);
    return rc;
}

/* ---- reading ------------------------------------------------------------------------------------------------------- */

/* Checks the lines of one shard and puts its cells at `cells`. */
static int read_shard(const struct plan_index *index, size_t shard, const char *lines, struct plan_cell *cells,
                      struct pkb_error *err)
{
    const struct plan_shard *s = &index->plan->shards[shard];
    char digest[PKB_DIGEST_HEX];
    if (plan_parse_cells(index->plan, lines, s->first, s->count, cells, err) < 0 ||
        pkb_digest_buffer(lines, s->count * PLAN_LINE, digest, err) < 0)
        return -1;
    if (strcmp(digest, index->shard_digests[shard]) != 0)
        return pkb_error_set(err, "cells: lines %llu to %llu are not those that were written", (unsigned long long)s->first + 1,
                             (unsigned long long)(s->first + s->count));
    const struct plan_setting *settings = index->plan->settings;
    if (settings[cells[0].setting].world != s->world || settings[cells[s->count - 1].setting].world != s->world)
        return pkb_error_set(err, "shards: line %zu: its cells have another world size", shard + 1);
    return 0;
}

/* `lines` begin at the first cell of shard `first`; takes the cells of `n` shards into the plan. */
static int read_shards(struct plan_index *index, size_t first, size_t n, const char *lines, struct pkb_error *err)
{
    struct plan *p = index->plan;
    const struct plan_shard *last = &p->shards[first + n - 1];
    p->first_cell = p->shards[first].first;
    size_t count = (size_t)(last->first + last->count - p->first_cell);
    p->cells = reallocarray(NULL, count, sizeof(*p->cells));
    if (!p->cells)
        return pkb_error_set(err, "out of memory");
    for (size_t i = first; i < first + n; i++) {
        uint64_t offset = p->shards[i].first - p->first_cell;
        if (read_shard(index, i, lines + offset * PLAN_LINE, p->cells + offset, err) < 0)
            return -1;
    }
    p->n_cells = count;
    return 0;
}

/* The plan of an index whose reading ended with rc; clears the index. */
static struct plan *finish(struct plan_index *index, int rc)
{
    struct plan *p = index->plan;
    if (rc == 0)
        index->plan = NULL;
    plan_index_clear(index);
    return rc == 0 ? p : NULL;
}

static int check_size(const struct plan_index *index, uint64_t size, struct pkb_error *err)
{
    if (size == index->n_cells * PLAN_LINE)
        return 0;
    return pkb_error_set(err, "cells: %llu bytes, expected %llu for %llu cells", (unsigned long long)size,
                         (unsigned long long)(index->n_cells * PLAN_LINE), (unsigned long long)index->n_cells);
}

/* Reads plan.json and plan/shards from their texts. */
static int read_index(struct plan_index *index, const char *json, size_t json_size, const char *shards, size_t shards_size,
                      struct pkb_error *err)
{
    json_t *value = pkb_json_parse(json, json_size, err);
    int rc = value ? plan_decode(value, index, err) : -1;
    json_decref(value);
    if (rc < 0)
        return pkb_error_prefix(err, "plan.json");
    return plan_parse_shards(index, shards, shards_size, err);
}

struct plan *plan_load_text(const struct plan_texts *t, struct pkb_error *err)
{
    struct plan_index index = {0};
    int rc = read_index(&index, t->json, t->json_size, t->shards, t->shards_size, err);
    if (rc == 0)
        rc = check_size(&index, t->cells_size, err);
    if (rc == 0)
        rc = read_shards(&index, 0, index.n_shards, t->cells, err);
    return finish(&index, rc);
}

static struct plan *load_all(const struct paths *paths, struct pkb_error *err)
{
    struct plan *p = NULL;
    char *json = NULL, *shards = NULL, *cells = NULL;
    struct plan_texts t = {0};
    if (pkb_file_read(paths->index, 0, &json, &t.json_size, err) == 0 &&
        pkb_file_read(paths->shards, 0, &shards, &t.shards_size, err) == 0 &&
        pkb_file_read(paths->cells, 0, &cells, &t.cells_size, err) == 0) {
        t.json = json;
        t.shards = shards;
        t.cells = cells;
        p = plan_load_text(&t, err);
    }
    free(json);
    free(shards);
    free(cells);
    return p;
}

static int pread_all(int fd, char *data, size_t size, off_t offset)
{
    while (size > 0) {
        ssize_t n = pread(fd, data, size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        data += n;
        size -= (size_t)n;
        offset += n;
    }
    return 0;
}

static int read_range(struct plan_index *index, size_t shard, int fd, const char *path, struct pkb_error *err)
{
    const struct plan_shard *s = &index->plan->shards[shard];
    struct stat st;
    if (fstat(fd, &st) < 0)
        return pkb_error_errno(err, "%s", path);
    if (check_size(index, (uint64_t)st.st_size, err) < 0)
        return -1;
    char *lines = malloc(s->count * PLAN_LINE);
    int rc = lines ? 0 : pkb_error_set(err, "out of memory");
    if (rc == 0 && pread_all(fd, lines, s->count * PLAN_LINE, (off_t)(s->first * PLAN_LINE)) < 0)
        rc = pkb_error_errno(err, "%s", path);
    if (rc == 0)
        rc = read_shards(index, shard, 1, lines, err);
    free(lines);
    return rc;
}

static int read_index_files(struct plan_index *index, const struct paths *paths, struct pkb_error *err)
{
    char *json = NULL, *shards = NULL;
    size_t json_size = 0, shards_size = 0;
    int rc = pkb_file_read(paths->index, 0, &json, &json_size, err);
    if (rc == 0)
        rc = pkb_file_read(paths->shards, 0, &shards, &shards_size, err);
    if (rc == 0)
        rc = read_index(index, json, json_size, shards, shards_size, err);
    free(json);
    free(shards);
    return rc;
}

static struct plan *load_one(const struct paths *paths, int shard, struct pkb_error *err)
{
    struct plan_index index = {0};
    if (read_index_files(&index, paths, err) < 0)
        return finish(&index, -1);
    if (shard < 0 || (uint64_t)shard >= index.n_shards) {
        pkb_error_set(err, "there is no shard %d; the plan has %llu", shard, (unsigned long long)index.n_shards);
        return finish(&index, -1);
    }
    int fd = open(paths->cells, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 ? pkb_error_errno(err, "%s", paths->cells) : read_range(&index, (size_t)shard, fd, paths->cells, err);
    if (fd >= 0)
        (void)close(fd);
    return finish(&index, rc);
}

/* Loads RUN/plan/, or one shard of it. */
static struct plan *load(const char *run, const int *shard, struct pkb_error *err)
{
    struct plan *p = NULL;
    struct paths paths;
    if (paths_init(&paths, run, err) == 0)
        p = shard ? load_one(&paths, *shard, err) : load_all(&paths, err);
    if (!p)
        pkb_error_prefix(err, "plan of %s", run);
    paths_clear(&paths);
    return p;
}

struct plan *plan_load(const char *run, struct pkb_error *err)
{
    return load(run, NULL, err);
}

struct plan *plan_load_shard(const char *run, int shard, struct pkb_error *err)
{
    return load(run, &shard, err);
}
