/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a JSON object read into a structure by a table, whichever way the object was parsed.
 *
 * Two parsers feed it: jansson, where the whole object is wanted, and results/scan.h, which allocates nothing, for files of
 * millions of lines. Both go through the same table, so that they accept the same records.
 */
#ifndef PKB_RESULTS_FIELDS_H
#define PKB_RESULTS_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

enum value_kind { VALUE_NULL, VALUE_BOOL, VALUE_STRING, VALUE_INTEGER, VALUE_REAL, VALUE_OBJECT, VALUE_ARRAY };

struct value {
    enum value_kind kind;
    bool escaped;     /* `text` of a string still has its backslash escapes */
    const char *text; /* of a string; source text of an object or array from results/scan.h */
    size_t size;      /* of text */
    int64_t integer;
    double real;
    json_t *node; /* of an object or array from jansson */
};

/* Calls `visit` for every member of an object, in order; stops when it returns non-zero and returns that. */
typedef int value_visit_fn(void *arg, const char *key, size_t key_size, const struct value *v, struct pkb_error *err);
typedef int value_members_fn(const struct value *object, value_visit_fn *visit, void *arg, struct pkb_error *err);

enum field_kind {
    FIELD_ANY,     /* checked elsewhere */
    FIELD_DIGEST,  /* char[65]: 64 lower-case hexadecimal digits */
    FIELD_NAME,    /* char[size]: not empty, no control characters */
    FIELD_TEXT,    /* char[size]: any text */
    FIELD_UTC,     /* char[24]: 2026-01-31T23:59:59Z */
    FIELD_INT,     /* int in min..max */
    FIELD_SEED,    /* uint64_t below 2^63 */
    FIELD_REAL,    /* double in min..max, or null for 0 */
    FIELD_OUTCOME, /* enum outcome */
    FIELD_OBJECT,  /* a structure with a table of its own; null leaves it zero */
    FIELD_JSON,    /* json_t *: an object; a new reference from jansson, NULL from results/scan.h */
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset, size; /* in the structure */
    double min, max;
    const struct field_table *table; /* of FIELD_OBJECT */
};

struct field_table {
    const struct field *fields;
    int n; /* at most 32 */
};

/* Fills the structure at `out`, which the caller has zeroed. All members of the table must be there, once; others are ignored.
 * 0, or -1 with the error naming the member ("time: mean: ..."). */
int fields_read(const struct field_table *table, const struct value *object, value_members_fn *members, void *out,
                struct pkb_error *err);

#endif
