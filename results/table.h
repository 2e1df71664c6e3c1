/* SPDX-License-Identifier: Apache-2.0 */
/* Text tables: columns as wide as their contents, headers in up to two lines, colours that do not disturb the alignment.
 *
 * Text that is not printable ASCII is shown as '?', so that every terminal and font aligns it. Functions note when memory runs out;
 * table_print reports it.
 */
#ifndef PKB_RESULTS_TABLE_H
#define PKB_RESULTS_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "util/error.h"

enum table_align { TABLE_LEFT, TABLE_RIGHT };

enum table_style {
    TABLE_PLAIN,
    TABLE_GOOD,
    TABLE_FAIR,
    TABLE_BAD,
    TABLE_FAINT,
    TABLE_MARKS, /* each character by what it says: '+' good, '=' and '~' fair, '.' faint, others bad */
};

struct table;

struct table *table_create(void);
void table_destroy(struct table *t);

/* The next column. Neighbouring columns with the same `group` (NULL: none) get it as a common header above their titles. Longer
 * text than `max_width` (0: no limit) is cut and ends in "..". */
void table_column(struct table *t, const char *group, const char *title, enum table_align align, int max_width);

/* The next cell, row by row, one per column. */
void table_cell(struct table *t, enum table_style style, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Characters per line, without the indentation. */
int table_width(const struct table *t);

/* Shortens a column of texts, down to 8 characters, until the filled table has at most `width` characters per line. */
void table_fit(struct table *t, int column, int width);

/* Prints it, indented by two; what would be wider than LINE_WIDTH gets one blank between columns instead of two. 0, or -1 when memory has run out on the way. */
int table_print(const struct table *t, FILE *out, bool colour, struct pkb_error *err);

/* Starts and ends a style, for text outside tables. Nothing when colour is false. */
const char *table_style_on(enum table_style style, bool colour);
const char *table_style_off(bool colour);

/* A copy of `text` with everything that is not printable ASCII as '?' (one per UTF-8 character), cut to size - 1,
 * without blanks at its end. Returns `out`. */
char *table_clean(const char *text, char *out, size_t size);

#endif
