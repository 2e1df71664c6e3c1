/* SPDX-License-Identifier: Apache-2.0 */
/* plan.json back to a plan. Nothing in it is believed: sizes are those of its lists, names and numbers are checked. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweeps/plan_parts.h"
#include "util/json.h"

static bool is_digest(const char *text)
{
    return strlen(text) == PKB_DIGEST_HEX - 1 && strspn(text, "0123456789abcdef") == PKB_DIGEST_HEX - 1;
}

static int get_digest(const json_t *value, const char *key, char out[PKB_DIGEST_HEX], struct pkb_error *err)
{
    const char *text;
    if (pkb_json_string(value, key, &text, err) < 0)
        return -1;
    if (!is_digest(text))
        return pkb_error_set(err, "%s: expected 64 hexadecimal digits", key);
    memcpy(out, text, PKB_DIGEST_HEX);
    return 0;
}

static int get_problem(const json_t *value, const struct problem **out, struct pkb_error *err)
{
    const char *name;
    if (pkb_json_string(value, "problem", &name, err) < 0)
        return -1;
    *out = problem_by_name(name);
    if (!*out || strcmp((*out)->name, name) != 0)
        return pkb_error_set(err, "problem: this pkb knows no \"%.64s\"", name);
    return 0;
}

/* A text of its own, which goes into *out at once. */
static int copy_text(const json_t *value, const char *key, char **out, struct pkb_error *err)
{
    const char *text;
    if (pkb_json_string(value, key, &text, err) < 0)
        return -1;
    *out = strdup(text);
    return *out ? 0 : pkb_error_set(err, "out of memory");
}

/* An array for the entries of a list of the plan, zeroed; *n is set by the caller as entries become valid. */
static void *list_storage(const json_t *value, const char *key, size_t size, json_t **list, struct pkb_error *err)
{
    if (pkb_json_array(value, key, list, err) < 0)
        return NULL;
    if (json_array_size(*list) > PLAN_MAX) {
        pkb_error_set(err, "%s: too many entries", key);
        return NULL;
    }
    void *storage = calloc(json_array_size(*list) + 1, size);
    if (!storage)
        pkb_error_set(err, "out of memory");
    return storage;
}

/* ---- settings ------------------------------------------------------------------------------------------------------ */

static int decode_settings(const json_t *value, struct plan *p, struct pkb_error *err)
{
    json_t *list;
    p->settings = list_storage(value, "settings", sizeof(*p->settings), &list, err);
    if (!p->settings)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (plan_setting_decode(json_array_get(list, i), &p->settings[i], err) < 0)
            return pkb_error_prefix(err, "settings: entry %zu", i + 1);
        if (i && p->settings[i].world < p->settings[i - 1].world)
            return pkb_error_set(err, "settings: entry %zu: not sorted by world size", i + 1);
        p->n_settings++;
    }
    return 0;
}

/* ---- candidates ---------------------------------------------------------------------------------------------------- */

static int decode_candidate(const json_t *value, struct plan_candidate *c, struct pkb_error *err)
{
    const char *kind;
    int64_t sample;
    if (get_problem(value, &c->problem, err) < 0 || pkb_json_int(value, "sample", 1, 1000, &sample, err) < 0 ||
        pkb_json_string(value, "kind", &kind, err) < 0 || get_digest(value, "digest", c->digest, err) < 0 ||
        copy_text(value, "model", &c->model, err) < 0 || copy_text(value, "path", &c->path, err) < 0)
        return -1;
    if (strcmp(kind, "c") != 0 && strcmp(kind, "cu") != 0 && strcmp(kind, "py") != 0)
        return pkb_error_set(err, "kind: expected c, cu or py");
    if (!c->model[0] || strchr(c->model, '/'))
        return pkb_error_set(err, "model: not a name");
    c->sample = (int)sample;
    (void)snprintf(c->kind, sizeof(c->kind), "%s", kind);
    return 0;
}

static int decode_candidates(const json_t *value, struct plan *p, struct pkb_error *err)
{
    json_t *list;
    p->candidates = list_storage(value, "candidates", sizeof(*p->candidates), &list, err);
    if (!p->candidates)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        p->n_candidates++; /* plan_destroy frees a part of an entry too */
        if (decode_candidate(json_array_get(list, i), &p->candidates[i], err) < 0)
            return pkb_error_prefix(err, "candidates: entry %zu", i + 1);
    }
    return 0;
}

/* ---- skips --------------------------------------------------------------------------------------------------------- */

static int decode_skip(const json_t *value, struct plan_skip *s, struct pkb_error *err)
{
    int64_t world, count;
    const json_t *model = json_object_get(value, "model");
    if (get_problem(value, &s->problem, err) < 0 || pkb_json_int(value, "world", 0, PROBLEM_MAX_WORLD, &world, err) < 0 ||
        pkb_json_int(value, "count", 1, INT64_MAX, &count, err) < 0 || copy_text(value, "reason", &s->reason, err) < 0)
        return -1;
    s->world = (int)world;
    s->count = (uint64_t)count;
    return json_is_null(model) ? 0 : copy_text(value, "model", &s->model, err);
}

static int decode_skips(const json_t *value, struct plan *p, struct pkb_error *err)
{
    json_t *list;
    p->skips = list_storage(value, "skipped", sizeof(*p->skips), &list, err);
    if (!p->skips)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        p->n_skips++;
        if (decode_skip(json_array_get(list, i), &p->skips[i], err) < 0)
            return pkb_error_prefix(err, "skipped: entry %zu", i + 1);
    }
    return 0;
}

/* ---- all ----------------------------------------------------------------------------------------------------------- */

void plan_index_clear(struct plan_index *index)
{
    plan_destroy(index->plan);
    free(index->shard_digests);
    *index = (struct plan_index){0};
}

static int decode(const json_t *value, struct plan_index *index, struct pkb_error *err)
{
    int64_t format, cells, shards;
    if (!json_is_object(value))
        return pkb_error_set(err, "expected an object");
    if (pkb_json_int(value, "format", 1, INT64_MAX, &format, err) < 0)
        return -1;
    if (format != 1)
        return pkb_error_set(err, "format %lld is of a newer pkb; this one reads format 1", (long long)format);
    if (pkb_json_int(value, "cells", 1, PLAN_MAX, &cells, err) < 0 || pkb_json_int(value, "shards", 1, cells, &shards, err) < 0 ||
        get_digest(value, "shards_digest", index->shards_digest, err) < 0)
        return -1;
    index->n_cells = (uint64_t)cells;
    index->n_shards = (uint64_t)shards;
    if (decode_settings(value, index->plan, err) < 0 || decode_candidates(value, index->plan, err) < 0)
        return -1;
    return decode_skips(value, index->plan, err);
}

int plan_decode(const json_t *value, struct plan_index *index, struct pkb_error *err)
{
    *index = (struct plan_index){.plan = calloc(1, sizeof(*index->plan))};
    int rc = index->plan ? decode(value, index, err) : pkb_error_set(err, "out of memory");
    if (rc < 0)
        plan_index_clear(index);
    return rc;
}
