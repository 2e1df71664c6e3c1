/* SPDX-License-Identifier: Apache-2.0 */
/* One error text, one way up.
 *
 * A function that can fail takes a `struct pkb_error *` as its last parameter and returns -1 (or NULL) after setting it.
 * Each level that passes the error on prefixes what it was doing, so that the text reads from the outside in:
 *     "sweep quick.lua: line 4: models: expected a list, found a number"
 */
#ifndef PKB_UTIL_ERROR_H
#define PKB_UTIL_ERROR_H

struct pkb_error {
    char text[1024];
};

/* Sets the text (truncated if too long). `err` may be NULL. Keeps errno. Returns -1. */
int pkb_error_set(struct pkb_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As pkb_error_set, with ": " and the text of errno behind it. */
int pkb_error_errno(struct pkb_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts the text and ": " in front of what is there. Keeps errno. Returns -1. */
int pkb_error_prefix(struct pkb_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
