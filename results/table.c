/* SPDX-License-Identifier: Apache-2.0 */
#include "results/table.h"

#include "results/report_labels.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS 64
#define MAX_TEXT 128
#define INDENT 2
#define MIN_FITTED 8
#define GAP 2
#define NARROW_GAP 1 /* of a table that would be too wide otherwise */

struct column {
    char group[MAX_TEXT], title[MAX_TEXT];
    enum table_align align;
    int width, max_width;
};

struct cell {
    char *text;
    enum table_style style;
};

struct table {
    struct column columns[MAX_COLUMNS];
    int n_columns;
    struct cell *cells;
    size_t n_cells, capacity;
    int gap; /* between columns */
    bool failed;
};

struct table *table_create(void)
{
    struct table *t = calloc(1, sizeof(*t));
    if (t)
        t->gap = GAP;
    return t;
}

void table_destroy(struct table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cells[i].text);
    free(t->cells);
    free(t);
}

char *table_clean(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p && n + 1 < size; p++) {
        if ((*p & 0xc0) == 0x80 && p != (const unsigned char *)text && p[-1] >= 0x80)
            continue; /* inside a UTF-8 character */
        out[n++] = *p >= 0x20 && *p < 0x7f ? (char)*p : '?';
    }
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
    return out;
}

static void cut(char *text, int width)
{
    if ((int)strlen(text) > width && width >= 2)
        memcpy(text + width - 2, "..", 3);
}

void table_column(struct table *t, const char *group, const char *title, enum table_align align, int max_width)
{
    if (!t || t->n_columns == MAX_COLUMNS) {
        if (t)
            t->failed = true;
        return;
    }
    struct column *c = &t->columns[t->n_columns++];
    table_clean(group ? group : "", c->group, sizeof(c->group));
    table_clean(title, c->title, sizeof(c->title));
    c->align = align;
    c->max_width = max_width > 0 && max_width < MAX_TEXT ? max_width : MAX_TEXT - 1;
    cut(c->title, c->max_width);
    c->width = (int)strlen(c->title);
}

static struct cell *next_cell(struct table *t)
{
    if (t->n_cells == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 256;
        struct cell *cells = reallocarray(t->cells, capacity, sizeof(*cells));
        if (!cells)
            return NULL;
        t->cells = cells;
        t->capacity = capacity;
    }
    return &t->cells[t->n_cells];
}

void table_cell(struct table *t, enum table_style style, const char *fmt, ...)
{
    char raw[4 * MAX_TEXT], text[MAX_TEXT + 1];
    if (!t || t->n_columns == 0)
        return;
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(raw, sizeof(raw), fmt, ap);
    va_end(ap);
    struct column *c = &t->columns[t->n_cells % (size_t)t->n_columns];
    struct cell *cell = next_cell(t);
    table_clean(raw, text, sizeof(text));
    cut(text, c->max_width);
    char *copy = cell ? strdup(text) : NULL;
    if (!copy) {
        t->failed = true;
        return;
    }
    *cell = (struct cell){copy, style};
    t->n_cells++;
    if ((int)strlen(text) > c->width)
        c->width = (int)strlen(text);
}

/* The last column of the group that starts at `first`. */
static int group_end(const struct table *t, int first)
{
    int last = first;
    while (last + 1 < t->n_columns && t->columns[first].group[0] &&
           strcmp(t->columns[last + 1].group, t->columns[first].group) == 0)
        last++;
    return last;
}

static int span_width(const struct table *t, int first, int last)
{
    int width = -t->gap;
    for (int i = first; i <= last; i++)
        width += t->columns[i].width + t->gap;
    return width;
}

/* What a group's header needs beyond its columns; the first one is widened by it. */
static int extra_width(const struct table *t, int column)
{
    const struct column *c = &t->columns[column];
    bool starts = c->group[0] && (column == 0 || strcmp(t->columns[column - 1].group, c->group) != 0);
    int lack = starts ? (int)strlen(c->group) - span_width(t, column, group_end(t, column)) : 0;
    return lack > 0 ? lack : 0;
}

static int column_width(const struct table *t, int column)
{
    return t->columns[column].width + extra_width(t, column);
}

int table_width(const struct table *t)
{
    int width = -t->gap;
    for (int i = 0; i < t->n_columns; i++)
        width += column_width(t, i) + t->gap;
    return width;
}

void table_fit(struct table *t, int column, int width)
{
    int excess = t ? table_width(t) - width : 0;
    if (excess <= 0 || column >= t->n_columns)
        return;
    struct column *c = &t->columns[column];
    int target = c->width - excess;
    c->width = target > MIN_FITTED ? target : c->width < MIN_FITTED ? c->width : MIN_FITTED;
    for (size_t i = (size_t)column; i < t->n_cells; i += (size_t)t->n_columns)
        cut(t->cells[i].text, c->width);
}

/* ---- printing -------------------------------------------------------------------------------------------------------- */

static const char *const codes[] = {
    [TABLE_PLAIN] = "", [TABLE_GOOD] = "\033[32m", [TABLE_FAIR] = "\033[33m", [TABLE_BAD] = "\033[31m", [TABLE_FAINT] = "\033[2m",
};

const char *table_style_on(enum table_style style, bool colour)
{
    return colour && style != TABLE_MARKS ? codes[style] : "";
}

const char *table_style_off(bool colour)
{
    return colour ? "\033[0m" : "";
}

static void spaces(FILE *out, int n)
{
    if (n > 0)
        (void)fprintf(out, "%*s", n, "");
}

static enum table_style mark_style(char mark)
{
    if (mark == '+')
        return TABLE_GOOD;
    if (mark == '=' || mark == '~')
        return TABLE_FAIR;
    return mark == '.' || mark == ' ' ? TABLE_FAINT : TABLE_BAD;
}

static void print_text(FILE *out, const char *text, enum table_style style, bool colour)
{
    if (!colour || style == TABLE_PLAIN)
        (void)fputs(text, out);
    else if (style != TABLE_MARKS)
        (void)fprintf(out, "%s%s%s", codes[style], text, table_style_off(true));
    else
        for (; *text; text++)
            (void)fprintf(out, "%s%c%s", codes[mark_style(*text)], *text, table_style_off(true));
}

/* Text in a column; nothing follows the last one, so that lines have no trailing blanks. */
static void print_field(const struct table *t, int column, FILE *out, const char *text, enum table_style style, bool colour)
{
    enum table_align align = t->columns[column].align;
    int fill = column_width(t, column) - (int)strlen(text);
    bool last = column + 1 == t->n_columns;
    if (align == TABLE_RIGHT)
        spaces(out, fill);
    print_text(out, text, style, colour);
    if (align == TABLE_LEFT && !last)
        spaces(out, fill);
    if (!last)
        spaces(out, t->gap);
}

static void dashes(FILE *out, int n)
{
    for (int i = 0; i < n; i++)
        (void)fputc('-', out);
}

/* Group names between dashes over their columns: "-- pass@k --"; to the right where there is no room for dashes. */
static void print_group(FILE *out, const char *name, int width)
{
    int lack = width - (int)strlen(name), left = lack / 2;
    if (lack < 4) {
        spaces(out, lack);
        (void)fputs(name, out);
        return;
    }
    dashes(out, left - 1);
    (void)fprintf(out, " %s ", name);
    dashes(out, lack - left - 1);
}

static void print_groups(const struct table *t, FILE *out)
{
    int pending = INDENT;
    bool any = false;
    for (int i = 0; i < t->n_columns; i++)
        any = any || t->columns[i].group[0];
    for (int i = 0; any && i < t->n_columns;) {
        int last = group_end(t, i), width = -t->gap;
        for (int k = i; k <= last; k++)
            width += column_width(t, k) + t->gap;
        if (t->columns[i].group[0]) {
            spaces(out, pending);
            print_group(out, t->columns[i].group, width);
            pending = t->gap;
        } else {
            pending += width + t->gap;
        }
        i = last + 1;
    }
    if (any)
        (void)fputc('\n', out);
}

static void print_titles(const struct table *t, FILE *out, bool colour)
{
    spaces(out, INDENT);
    for (int i = 0; i < t->n_columns; i++)
        print_field(t, i, out, t->columns[i].title, TABLE_FAINT, colour);
    (void)fputc('\n', out);
}

int table_print(const struct table *t, FILE *out, bool colour, struct pkb_error *err)
{
    if (!t || t->failed)
        return pkb_error_set(err, "a table cannot be printed: out of memory or more than %d columns", MAX_COLUMNS);
    struct table narrow = *t;
    narrow.gap = NARROW_GAP;
    if (table_width(t) > LINE_WIDTH - INDENT)
        t = &narrow;
    print_groups(t, out);
    print_titles(t, out, colour);
    for (size_t i = 0; i < t->n_cells; i++) {
        int column = (int)(i % (size_t)t->n_columns);
        bool last = column + 1 == t->n_columns;
        if (column == 0)
            spaces(out, INDENT);
        print_field(t, column, out, t->cells[i].text, t->cells[i].style, colour);
        if (last)
            (void)fputc('\n', out);
    }
    return 0;
}
