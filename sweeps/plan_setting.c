/* SPDX-License-Identifier: Apache-2.0 */
/* Settings and cells as JSON and as digests. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweeps/fields.h"
#include "sweeps/plan_parts.h"
#include "util/json.h"

static const char *const profiles[] = {"hardened", "pkb"}; /* in the order of enum problem_profile */

void plan_setting_for_rank(const struct plan_setting *s, int rank, struct problem_setting *out)
{
    problem_setting_init(out, s->problem, SHAPE_PAPER, s->dtype, rank, s->world);
    out->inputs = s->inputs;
    out->tolerance = s->tolerance;
    out->atol = s->atol;
    out->rtol = s->rtol;
    out->seed = s->seed;
    memcpy(out->params, s->params, sizeof(out->params));
}

/* ---- to JSON ------------------------------------------------------------------------------------------------------- */

/* How a fraction is written is up to the JSON library, so the digest takes it as a text. */
static json_t *encode_number(double value, bool for_digest)
{
    char text[32];
    if (!for_digest || value == floor(value))
        return pkb_json_number(value);
    (void)snprintf(text, sizeof(text), "%.17g", value);
    return json_string(text);
}

static json_t *encode_params(const struct plan_setting *s, bool for_digest)
{
    json_t *params = json_object();
    for (int i = 0; params && i < s->problem->n_params; i++) {
        if (json_object_set_new(params, s->problem->params[i].name, encode_number(s->params[i], for_digest)) < 0) {
            json_decref(params);
            return NULL;
        }
    }
    return params;
}

/* What the digest covers. */
static json_t *encode_identity(const struct plan_setting *s, bool for_digest)
{
    return json_pack("{s:s, s:i, s:s, s:s, s:s, s:o, s:i, s:i, s:i, s:I, s:s, s:s, s:o, s:o}", "problem", s->problem->name,
                     "world", s->world, "dtype", dtype_name(s->dtype), "shape", s->shape, "device", s->device, "params",
                     encode_params(s, for_digest), "trials", s->trials, "warmup", s->warmup, "iterations", s->iterations, "seed",
                     (json_int_t)s->seed, "inputs", profiles[s->inputs], "tolerance", profiles[s->tolerance], "atol",
                     encode_number(s->atol, for_digest), "rtol", encode_number(s->rtol, for_digest));
}

int plan_setting_seal(struct plan_setting *s, struct pkb_error *err)
{
    json_t *identity = encode_identity(s, true);
    char *text = identity ? json_dumps(identity, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(identity);
    if (!text)
        return pkb_error_set(err, "out of memory");
    int rc = pkb_digest_buffer(text, strlen(text), s->digest, err);
    free(text);
    return rc;
}

json_t *plan_setting_encode(const struct plan_setting *s)
{
    json_t *value = encode_identity(s, false);
    json_t *limits =
        json_pack("{s:o, s:I}", "seconds", pkb_json_number(s->limit_seconds), "memory_mb", (json_int_t)s->limit_memory_mb);
    if (value && json_object_set_new(value, "limits", limits) == 0 &&
        json_object_set_new(value, "digest", json_string(s->digest)) == 0)
        return value;
    json_decref(value);
    return NULL;
}

/* ---- from JSON ----------------------------------------------------------------------------------------------------- */

static int get_int(const json_t *value, const char *key, int min, int max, int *out, struct pkb_error *err)
{
    int64_t n;
    if (pkb_json_int(value, key, min, max, &n, err) < 0)
        return -1;
    *out = (int)n;
    return 0;
}

static int get_name(const json_t *value, const char *key, char *out, size_t size, struct pkb_error *err)
{
    const char *text;
    if (pkb_json_string(value, key, &text, err) < 0)
        return -1;
    if (sweep_file_name(text, size - 1, err) < 0)
        return pkb_error_prefix(err, "%s", key);
    (void)snprintf(out, size, "%s", text);
    return 0;
}

static int get_profile(const json_t *value, const char *key, enum problem_profile *out, struct pkb_error *err)
{
    int i;
    const json_t *member = json_object_get(value, key);
    if (!member)
        return pkb_error_set(err, "%s: missing", key);
    if (sweep_word(member, profiles, 2, &i, err) < 0)
        return pkb_error_prefix(err, "%s", key);
    *out = i == 0 ? PROFILE_HARDENED : PROFILE_PKB;
    return 0;
}

static int get_problem(const json_t *value, struct plan_setting *s, struct pkb_error *err)
{
    const char *name, *dtype;
    if (pkb_json_string(value, "problem", &name, err) < 0 || pkb_json_string(value, "dtype", &dtype, err) < 0)
        return -1;
    s->problem = problem_by_name(name);
    if (!s->problem || strcmp(s->problem->name, name) != 0)
        return pkb_error_set(err, "problem: this pkb knows no \"%.64s\"", name);
    s->dtype = dtype_parse(dtype);
    return s->dtype < 0 ? pkb_error_set(err, "dtype: there is no \"%.16s\"", dtype) : 0;
}

static int get_params(const json_t *value, struct plan_setting *s, struct pkb_error *err)
{
    json_t *params;
    if (pkb_json_object(value, "params", &params, err) < 0)
        return -1;
    if (json_object_size(params) != (size_t)s->problem->n_params)
        return pkb_error_set(err, "params: %s has %d, found %zu", s->problem->name, s->problem->n_params,
                             json_object_size(params));
    for (int i = 0; i < s->problem->n_params; i++) {
        if (pkb_json_real(params, s->problem->params[i].name, &s->params[i], err) < 0)
            return pkb_error_prefix(err, "params");
    }
    return 0;
}

static int get_numbers(const json_t *value, struct plan_setting *s, struct pkb_error *err)
{
    int64_t seed;
    if (get_int(value, "world", 1, PROBLEM_MAX_WORLD, &s->world, err) < 0 ||
        get_int(value, "trials", 1, 1000, &s->trials, err) < 0 || get_int(value, "warmup", 0, 1000000, &s->warmup, err) < 0 ||
        get_int(value, "iterations", 1, 1000000, &s->iterations, err) < 0 ||
        pkb_json_int(value, "seed", 0, INT64_MAX, &seed, err) < 0 || pkb_json_real(value, "atol", &s->atol, err) < 0)
        return -1;
    s->seed = (uint64_t)seed;
    return pkb_json_real(value, "rtol", &s->rtol, err);
}

static int get_limits(const json_t *value, struct plan_setting *s, struct pkb_error *err)
{
    json_t *limits;
    if (pkb_json_object(value, "limits", &limits, err) < 0)
        return -1;
    if (pkb_json_real(limits, "seconds", &s->limit_seconds, err) < 0 ||
        pkb_json_int(limits, "memory_mb", 0, (int64_t)1 << 30, &s->limit_memory_mb, err) < 0)
        return pkb_error_prefix(err, "limits");
    if (!(s->limit_seconds > 0 && s->limit_seconds <= 604800))
        return pkb_error_set(err, "limits: seconds: %g is outside 0..604800", s->limit_seconds);
    return 0;
}

/* The numbers must make a setting that can run, and be those that the digest was made of. */
static int verify(const json_t *value, struct plan_setting *s, struct pkb_error *err)
{
    struct problem_setting setting;
    const char *digest;
    plan_setting_for_rank(s, 0, &setting);
    if (problem_setting_check(&setting, err) < 0 || pkb_json_string(value, "digest", &digest, err) < 0 ||
        plan_setting_seal(s, err) < 0)
        return -1;
    return strcmp(digest, s->digest) == 0 ? 0 : pkb_error_set(err, "the digest does not belong to these values");
}

int plan_setting_decode(const json_t *value, struct plan_setting *s, struct pkb_error *err)
{
    memset(s, 0, sizeof(*s));
    if (!json_is_object(value))
        return pkb_error_set(err, "setting: expected an object");
    if (get_problem(value, s, err) < 0 || get_params(value, s, err) < 0 || get_numbers(value, s, err) < 0 ||
        get_name(value, "shape", s->shape, sizeof(s->shape), err) < 0 ||
        get_name(value, "device", s->device, sizeof(s->device), err) < 0 || get_profile(value, "inputs", &s->inputs, err) < 0 ||
        get_profile(value, "tolerance", &s->tolerance, err) < 0 || get_limits(value, s, err) < 0 || verify(value, s, err) < 0)
        return pkb_error_prefix(err, "setting");
    return 0;
}

/* ---- cells --------------------------------------------------------------------------------------------------------- */

int plan_cell_digest(const struct plan *p, const struct plan_cell *cell, struct pkb_digest *d, char hex[PKB_DIGEST_HEX],
                     struct pkb_error *err)
{
    char text[2 * PKB_DIGEST_HEX + 32];
    uint8_t raw[PKB_DIGEST_BYTES];
    int n = snprintf(text, sizeof(text), "pkb cell 1\n%s\n%s\n", p->settings[cell->setting].digest,
                     p->candidates[cell->candidate].digest);
    if (pkb_digest_begin(d, err) < 0 || pkb_digest_update(d, text, (size_t)n, err) < 0 || pkb_digest_final(d, raw, err) < 0)
        return -1;
    pkb_digest_hex(raw, hex);
    return 0;
}
