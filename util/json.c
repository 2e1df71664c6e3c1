/* SPDX-License-Identifier: Apache-2.0 */
#include "util/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/file.h"

json_t *pkb_json_parse(const char *text, size_t size, struct pkb_error *err)
{
    json_error_t where;
    const char *nul = memchr(text, '\0', size); /* jansson overlooks one that follows a number */
    if (nul) {
        pkb_error_set(err, "byte %zu is a NUL", (size_t)(nul - text) + 1);
        return NULL;
    }
    json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    if (!value)
        pkb_error_set(err, "line %d, column %d: %s", where.line, where.column, where.text);
    return value;
}

json_t *pkb_json_read(const char *path, struct pkb_error *err)
{
    char *text = NULL;
    size_t size = 0;
    if (pkb_file_read(path, 0, &text, &size, err) < 0)
        return NULL;
    json_t *value = pkb_json_parse(text, size, err);
    if (!value)
        pkb_error_prefix(err, "%s", path);
    free(text);
    return value;
}

int pkb_json_write(const char *path, const json_t *value, bool pretty, struct pkb_error *err)
{
    char *text = json_dumps(value, pretty ? JSON_INDENT(1) : JSON_COMPACT);
    if (!text)
        return pkb_error_set(err, "%s: cannot encode JSON (out of memory or invalid text)", path);
    size_t size = strlen(text);
    text[size] = '\n'; /* takes the place of the final 0: the file is written by size */
    int rc = pkb_file_write(path, text, size + 1, err);
    free(text);
    return rc;
}

static json_t *member(const json_t *obj, const char *key, const char *want, struct pkb_error *err)
{
    json_t *value = json_object_get(obj, key);
    if (!value)
        pkb_error_set(err, "%s: missing, expected %s", key, want);
    return value;
}

int pkb_json_string(const json_t *obj, const char *key, const char **value, struct pkb_error *err)
{
    json_t *v = member(obj, key, "a string", err);
    if (!v)
        return -1;
    if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v))
        return pkb_error_set(err, "%s: expected a string", key);
    *value = json_string_value(v);
    return 0;
}

int pkb_json_int(const json_t *obj, const char *key, int64_t min, int64_t max, int64_t *value, struct pkb_error *err)
{
    json_t *v = member(obj, key, "an integer", err);
    if (!v)
        return -1;
    if (!json_is_integer(v))
        return pkb_error_set(err, "%s: expected an integer", key);
    json_int_t n = json_integer_value(v);
    if (n < min || n > max)
        return pkb_error_set(err, "%s: %lld is outside %lld..%lld", key, (long long)n, (long long)min, (long long)max);
    *value = n;
    return 0;
}

int pkb_json_real(const json_t *obj, const char *key, double *value, struct pkb_error *err)
{
    json_t *v = member(obj, key, "a number", err);
    if (!v)
        return -1;
    if (!json_is_number(v))
        return pkb_error_set(err, "%s: expected a number", key);
    *value = json_number_value(v);
    return 0;
}

int pkb_json_bool(const json_t *obj, const char *key, bool *value, struct pkb_error *err)
{
    json_t *v = member(obj, key, "true or false", err);
    if (!v)
        return -1;
    if (!json_is_boolean(v))
        return pkb_error_set(err, "%s: expected true or false", key);
    *value = json_is_true(v);
    return 0;
}

int pkb_json_array(const json_t *obj, const char *key, json_t **value, struct pkb_error *err)
{
    json_t *v = member(obj, key, "a list", err);
    if (!v)
        return -1;
    if (!json_is_array(v))
        return pkb_error_set(err, "%s: expected a list", key);
    *value = v;
    return 0;
}

int pkb_json_object(const json_t *obj, const char *key, json_t **value, struct pkb_error *err)
{
    json_t *v = member(obj, key, "an object", err);
    if (!v)
        return -1;
    if (!json_is_object(v))
        return pkb_error_set(err, "%s: expected an object", key);
    *value = v;
    return 0;
}

json_t *pkb_json_number(double value)
{
    if (!isfinite(value))
        return json_null();
    if (value == floor(value) && fabs(value) < 9007199254740992.0)
        return json_integer((json_int_t)value);
    return json_real(value);
}
