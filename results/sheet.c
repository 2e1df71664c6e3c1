/* SPDX-License-Identifier: Apache-2.0 */
#include "results/sheet.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "results/report_data.h"

struct sheet *sheet_create(const char *name, const char *title, const char *note)
{
    struct sheet *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->name = name;
    s->title = strdup(title);
    s->note = strdup(note);
    s->failed = !s->title || !s->note;
    return s;
}

void sheet_destroy(struct sheet *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->n_columns; i++)
        free((char *)s->columns[i].title);
    for (size_t i = 0; i < s->n_values; i++)
        free(s->values[i].text);
    free(s->columns);
    free(s->values);
    free(s->title);
    free(s->note);
    free(s);
}

void sheet_column(struct sheet *s, const char *key, const char *title, enum sheet_kind kind, enum sheet_use use)
{
    if (!s)
        return;
    struct sheet_column *columns = reallocarray(s->columns, (size_t)s->n_columns + 1, sizeof(*columns));
    char *copy = columns ? strdup(title) : NULL;
    if (columns)
        s->columns = columns;
    if (!copy) {
        s->failed = true;
        return;
    }
    s->columns[s->n_columns++] = (struct sheet_column){key, copy, kind, use};
}

/* The caller's text goes with the value. */
static void add(struct sheet *s, struct sheet_value v)
{
    if (s->n_values == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 128;
        struct sheet_value *values = reallocarray(s->values, capacity, sizeof(*values));
        if (!values) {
            s->failed = true;
            free(v.text);
            return;
        }
        s->values = values;
        s->capacity = capacity;
    }
    s->values[s->n_values++] = v;
}

static char *format(struct sheet *s, const char *fmt, va_list ap)
{
    char *text = NULL;
    if (vasprintf(&text, fmt, ap) >= 0)
        return text;
    s->failed = true;
    return NULL;
}

void sheet_text(struct sheet *s, enum sheet_tone tone, const char *fmt, ...)
{
    if (!s)
        return;
    va_list ap;
    va_start(ap, fmt);
    char *text = format(s, fmt, ap);
    va_end(ap);
    add(s, (struct sheet_value){.text = text, .known = true, .tone = tone});
}

void sheet_number(struct sheet *s, enum sheet_tone tone, double number)
{
    if (s)
        add(s, (struct sheet_value){.number = number, .known = isfinite(number), .tone = tone});
}

void sheet_number_or_unknown(struct sheet *s, bool known, double number)
{
    if (known)
        sheet_number(s, TONE_NONE, number);
    else
        sheet_unknown(s);
}

void sheet_number_as(struct sheet *s, enum sheet_tone tone, double number, const char *fmt, ...)
{
    if (!s)
        return;
    va_list ap;
    va_start(ap, fmt);
    char *text = format(s, fmt, ap);
    va_end(ap);
    add(s, (struct sheet_value){.text = text, .number = number, .known = true, .tone = tone});
}

void sheet_unknown(struct sheet *s)
{
    if (s)
        add(s, (struct sheet_value){.known = false, .tone = TONE_FAINT});
}

size_t sheet_rows(const struct sheet *s)
{
    return s && s->n_columns > 0 ? s->n_values / (size_t)s->n_columns : 0;
}

const struct sheet_value *sheet_at(const struct sheet *s, size_t row, int column)
{
    return &s->values[row * (size_t)s->n_columns + (size_t)column];
}

const char *sheet_show(const struct sheet *s, const struct sheet_value *v, int column, char *buffer, size_t size)
{
    if (!v->known)
        return "-";
    if (v->text)
        return v->text;
    switch (s->columns[column].kind) {
    case SHEET_TEXT:
        return "";
    case SHEET_COUNT:
        (void)snprintf(buffer, size, "%.0f", v->number);
        break;
    case SHEET_REAL:
        (void)snprintf(buffer, size, "%.3g", v->number);
        break;
    case SHEET_SHARE:
        (void)snprintf(buffer, size, "%.1f", 100 * v->number);
        break;
    case SHEET_SPEEDUP:
        (void)snprintf(buffer, size, "%.2fx", v->number);
        break;
    case SHEET_TIME:
        report_format_ns(v->number, buffer, size);
        break;
    case SHEET_P:
        (void)snprintf(buffer, size, v->number < 0.001 ? "<0.001" : "%.3f", v->number);
        break;
    }
    return buffer;
}

int sheet_check(const struct sheet *s, struct pkb_error *err)
{
    return s && !s->failed ? 0 : pkb_error_set(err, "out of memory for a table of the report");
}
