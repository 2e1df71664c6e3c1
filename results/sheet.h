/* SPDX-License-Identifier: Apache-2.0 */
/* Sheets: tables with typed columns, filled once and printed as text, Markdown, CSV, JSON, LaTeX or HTML.
 *
 * A sheet keeps values, not their looks: CSV and JSON get numbers with all their digits, the others what people read. Texts may come
 * from anywhere (names of models, details of failures): every format escapes them. Functions note when memory runs out; printing
 * reports it.
 */
#ifndef PKB_RESULTS_SHEET_H
#define PKB_RESULTS_SHEET_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "util/error.h"

enum sheet_kind {
    SHEET_TEXT,
    SHEET_COUNT,   /* whole numbers */
    SHEET_REAL,    /* 3 significant digits */
    SHEET_SHARE,   /* 0..1, shown as per cent */
    SHEET_SPEEDUP, /* shown as 1.23x */
    SHEET_TIME,    /* ns, shown with a unit */
    SHEET_P,       /* of a test */
};

/* What a value says about a candidate, for colours; never the only sign. */
enum sheet_tone { TONE_NONE, TONE_GOOD, TONE_FAIR, TONE_BAD, TONE_FAINT };

enum sheet_use {
    SHEET_EVERYWHERE,
    SHEET_DATA, /* a column for CSV and JSON only; formats for people leave it out */
};

struct sheet_column {
    const char *key;   /* of CSV and JSON: stable */
    const char *title; /* for people; copied */
    enum sheet_kind kind;
    enum sheet_use use;
};

struct sheet_value {
    char *text;    /* of SHEET_TEXT, or what is shown instead of the number; NULL */
    double number; /* of the other kinds */
    bool known;    /* false: empty */
    enum sheet_tone tone;
};

struct sheet {
    const char *name; /* in CSV and JSON; stable */
    char *title, *note;
    struct sheet_column *columns;
    int n_columns;
    struct sheet_value *values;
    size_t n_values, capacity;
    bool failed;
};

/* `title` and `note` (what the figures mean; may be "") are copied. NULL when memory runs out; all functions accept NULL. */
struct sheet *sheet_create(const char *name, const char *title, const char *note);
void sheet_destroy(struct sheet *s);

void sheet_column(struct sheet *s, const char *key, const char *title, enum sheet_kind kind, enum sheet_use use);

/* The next value, row by row, one per column. */
void sheet_text(struct sheet *s, enum sheet_tone tone, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void sheet_number(struct sheet *s, enum sheet_tone tone, double number);
void sheet_number_or_unknown(struct sheet *s, bool known, double number);
void sheet_unknown(struct sheet *s);

/* A number that people see as another text ("12+3?"). */
void sheet_number_as(struct sheet *s, enum sheet_tone tone, double number, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

size_t sheet_rows(const struct sheet *s);
const struct sheet_value *sheet_at(const struct sheet *s, size_t row, int column);

/* What people see of a value: its text, or the number in the way of its kind; "-" when unknown. Returns the text or `buffer`. */
const char *sheet_show(const struct sheet *s, const struct sheet_value *v, int column, char *buffer, size_t size);

/* 0, or -1 when memory ran out while the sheet was filled. */
int sheet_check(const struct sheet *s, struct pkb_error *err);

/* ---- formats ---------------------------------------------------------------------------------------------------------- */

/* A text in lines of at most 100 characters, indented like tables. */
void sheet_print_note(FILE *out, const char *note, bool colour);

/* Text in at most 100 columns where the columns allow it. At most `max_rows` rows (0: all), then how many more there are. */
int sheet_print_text(const struct sheet *s, FILE *out, bool colour, size_t max_rows, struct pkb_error *err);
int sheet_print_markdown(const struct sheet *s, FILE *out, struct pkb_error *err);
int sheet_print_csv(const struct sheet *s, FILE *out, struct pkb_error *err);
int sheet_print_latex(const struct sheet *s, FILE *out, struct pkb_error *err);
int sheet_print_html(const struct sheet *s, FILE *out, struct pkb_error *err);

/* A list of objects (new reference; NULL when memory runs out or a text is not UTF-8). */
json_t *sheet_json(const struct sheet *s);

/* A text as each format wants it. */
void sheet_escape_markdown(FILE *out, const char *text);
void sheet_escape_csv(FILE *out, const char *text);
void sheet_escape_latex(FILE *out, const char *text);
void sheet_escape_html(FILE *out, const char *text); /* also inside double-quoted attributes */

#endif
