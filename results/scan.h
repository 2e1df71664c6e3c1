/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON parser for one line that allocates nothing: it walks over an object's members and leaves nested values as the text that
 * they are. Accepts what jansson accepts (RFC 8259, UTF-8, no NUL, nesting below 2048), except that the same name given twice is
 * noticed by the reader of the members only.
 */
#ifndef PKB_RESULTS_SCAN_H
#define PKB_RESULTS_SCAN_H

#include <stddef.h>

#include "results/fields.h"

/* A text as an object for scan_members. -1: it does not start as an object. `text` is borrowed by *v. */
int scan_object(const char *text, size_t size, struct value *v, struct pkb_error *err);

/* A value_members_fn for such objects and for objects nested in them. Returns -1 with the column (in bytes, from 1) and what is
 * wrong for malformed text; everything is validated by the time that it has returned 0. */
int scan_members(const struct value *object, value_visit_fn *visit, void *arg, struct pkb_error *err);

/* The text of a string value with its escapes replaced and a final 0. -1: longer than size - 1 bytes. */
int scan_unescape(const char *text, size_t length, char *out, size_t size);

/* Length of the UTF-8 sequence at `text` (1 to 4), or 0 when there is none (overlong, surrogate, cut off, ...). */
size_t scan_utf8(const char *text, size_t size);

#endif
