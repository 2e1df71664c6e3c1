/* SPDX-License-Identifier: Apache-2.0 */
/* Typed access to jansson objects. A missing or wrong member is an error that names it; nothing is converted silently. */
#ifndef PKB_UTIL_JSON_H
#define PKB_UTIL_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/* Parses a whole text; the error gives line and column. The caller decrefs. */
json_t *pkb_json_parse(const char *text, size_t size, struct pkb_error *err);

/* Reads and parses a file; the error names it. */
json_t *pkb_json_read(const char *path, struct pkb_error *err);

/* Writes a value to a file at once (pkb_file_write), indented by 1 when `pretty`. */
int pkb_json_write(const char *path, const json_t *value, bool pretty, struct pkb_error *err);

/* Members of an object. Strings are borrowed from it. */
int pkb_json_string(const json_t *obj, const char *key, const char **value, struct pkb_error *err);
int pkb_json_int(const json_t *obj, const char *key, int64_t min, int64_t max, int64_t *value, struct pkb_error *err);
int pkb_json_real(const json_t *obj, const char *key, double *value, struct pkb_error *err);
int pkb_json_bool(const json_t *obj, const char *key, bool *value, struct pkb_error *err);
int pkb_json_array(const json_t *obj, const char *key, json_t **value, struct pkb_error *err);
int pkb_json_object(const json_t *obj, const char *key, json_t **value, struct pkb_error *err);

/* A number for JSON: an integer-valued or fractional double; null when it is NaN or infinite (JSON has neither). */
json_t *pkb_json_number(double value);

#endif
