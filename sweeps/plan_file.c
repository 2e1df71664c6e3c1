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

static json_t *encode_shards(const struct plan *p, const char *lines)
{
    json_t *list = json_array();
    int rc = list ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < p->n_shards; i++) {
        const struct plan_shard *s = &p->shards[i];
        char digest[PKB_DIGEST_HEX];
        rc = pkb_digest_buffer(lines + s->first * PLAN_LINE, s->count * PLAN_LINE, digest, NULL);
        if (rc < 0)
            break;
        rc = json_array_append_new(list, json_pack("{s:i, s:i, s:I, s:I, s:o, s:s}", "id", s->id, "world", s->world, "first",
                                                   (json_int_t)s->first, "count", (json_int_t)s->count, "seconds",
                                                   pkb_json_number(s->seconds), "digest", digest));
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

static int save_index(const struct plan *p, const char *lines, const char *path, struct pkb_error *err)
{
    json_t *value =
        json_pack("{s:i, s:I, s:o, s:o, s:o, s:o}", "format", 1, "cells", (json_int_t)p->n_cells, "settings", encode_settings(p),
                  "candidates", encode_candidates(p), "shards", encode_shards(p, lines), "skipped", encode_skips(p));
    if (!value)
        return pkb_error_set(err, "%s: cannot encode the plan (out of memory, or a path that is not UTF-8)", path);
    int rc = pkb_json_write(path, value, false, err);
    json_decref(value);
    return rc;
}

/* The cells first: a plan.json means that all is there. */
static int save_to(const struct plan *p, const char *folder, struct pkb_error *err)
{
    char *cells = pkb_format(err, "%s/cells", folder);
    char *index = pkb_format(err, "%s/plan.json", folder);
    char *lines = cells && index ? malloc(p->n_cells * PLAN_LINE + 1) : NULL;
    int rc = lines ? 0 : pkb_error_set(err, "out of memory");
    if (rc == 0) {
        plan_format_cells(p->cells, p->n_cells, lines);
        rc = pkb_file_write(cells, lines, p->n_cells * PLAN_LINE, err);
    }
    if (rc == 0)
        rc = save_index(p, lines, index, err);
    free(lines);
    free(index);
    free(cells);
    return rc;
}

int plan_save(const struct plan *p, const char *run, struct pkb_error *err)
{
    char *folder = pkb_format(err, "%s/plan", run);
    int rc = folder ? pkb_mkdirs(folder, err) : -1;
    if (rc == 0)
        rc = save_to(p, folder, err);
    free(folder);
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
        return pkb_error_set(err, "shards: entry %zu: its cells have another world size", shard + 1);
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

struct plan *plan_load_text(const char *json, size_t json_size, const char *cells, size_t cells_size, struct pkb_error *err)
{
    struct plan_index index = {0};
    json_t *value = pkb_json_parse(json, json_size, err);
    if (!value || plan_decode(value, &index, err) < 0) {
        pkb_error_prefix(err, "plan.json");
        json_decref(value);
        return NULL;
    }
    json_decref(value);
    int rc = check_size(&index, cells_size, err);
    if (rc == 0)
        rc = read_shards(&index, 0, index.plan->n_shards, cells, err);
    return finish(&index, rc);
}

static struct plan *load_files(const char *json_path, const char *cells_path, struct pkb_error *err)
{
    char *json = NULL, *cells = NULL;
    size_t json_size = 0, cells_size = 0;
    struct plan *p = NULL;
    if (pkb_file_read(json_path, 0, &json, &json_size, err) == 0 && pkb_file_read(cells_path, 0, &cells, &cells_size, err) == 0)
        p = plan_load_text(json, json_size, cells, cells_size, err);
    free(json);
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

static struct plan *load_shard(const char *json_path, const char *cells_path, int shard, struct pkb_error *err)
{
    struct plan_index index = {0};
    json_t *value = pkb_json_read(json_path, err);
    if (!value)
        return NULL;
    int rc = plan_decode(value, &index, err);
    json_decref(value);
    if (rc < 0) {
        pkb_error_prefix(err, "plan.json");
        return NULL;
    }
    int fd = open(cells_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        rc = pkb_error_errno(err, "%s", cells_path);
    else if (shard < 0 || (size_t)shard >= index.plan->n_shards)
        rc = pkb_error_set(err, "there is no shard %d; the plan has %zu", shard, index.plan->n_shards);
    else
        rc = read_range(&index, (size_t)shard, fd, cells_path, err);
    if (fd >= 0)
        (void)close(fd);
    return finish(&index, rc);
}

/* Loads RUN/plan/, or one shard of it. */
static struct plan *load(const char *run, const int *shard, struct pkb_error *err)
{
    struct plan *p = NULL;
    char *json = pkb_format(err, "%s/plan/plan.json", run);
    char *cells = pkb_format(err, "%s/plan/cells", run);
    if (json && cells)
        p = shard ? load_shard(json, cells, *shard, err) : load_files(json, cells, err);
    if (!p)
        pkb_error_prefix(err, "plan of %s", run);
    free(json);
    free(cells);
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
