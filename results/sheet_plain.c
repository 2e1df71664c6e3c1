/* SPDX-License-Identifier: Apache-2.0 */
/* Sheets for programs: CSV and JSON; and as text for terminals. */
#include <math.h>
#include <string.h>

#include "results/report_labels.h"
#include "results/sheet.h"
#include "results/table.h"

/* ---- CSV (RFC 4180, with plain newlines) ------------------------------------------------------------------------------- */

void sheet_escape_csv(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        (void)fputs(text, out);
        return;
    }
    (void)fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            (void)fputc('"', out);
        (void)fputc(*text, out);
    }
    (void)fputc('"', out);
}

static void csv_value(FILE *out, const struct sheet_column *c, const struct sheet_value *v)
{
    if (!v->known)
        return;
    if (c->kind == SHEET_TEXT)
        sheet_escape_csv(out, v->text ? v->text : "");
    else
        (void)fprintf(out, "%.9g", v->number);
}

int sheet_print_csv(const struct sheet *s, FILE *out, struct pkb_error *err)
{
    if (sheet_check(s, err) < 0)
        return -1;
    for (int c = 0; c < s->n_columns; c++)
        (void)fprintf(out, "%s%s", c ? "," : "", s->columns[c].key);
    (void)fputc('\n', out);
    for (size_t r = 0; r < sheet_rows(s); r++) {
        for (int c = 0; c < s->n_columns; c++) {
            if (c > 0)
                (void)fputc(',', out);
            csv_value(out, &s->columns[c], sheet_at(s, r, c));
        }
        (void)fputc('\n', out);
    }
    return 0;
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------------- */

static json_t *json_value(const struct sheet_column *c, const struct sheet_value *v)
{
    if (!v->known)
        return json_null();
    if (c->kind == SHEET_TEXT)
        return json_string(v->text ? v->text : "");
    return c->kind == SHEET_COUNT ? json_integer((json_int_t)v->number) : json_real(v->number);
}

static json_t *json_row(const struct sheet *s, size_t row)
{
    json_t *value = json_object();
    for (int c = 0; c < s->n_columns && value; c++)
        if (json_object_set_new(value, s->columns[c].key, json_value(&s->columns[c], sheet_at(s, row, c))) < 0) {
            json_decref(value);
            return NULL;
        }
    return value;
}

json_t *sheet_json(const struct sheet *s)
{
    json_t *list = s && !s->failed ? json_array() : NULL;
    for (size_t r = 0; list && r < sheet_rows(s); r++)
        if (json_array_append_new(list, json_row(s, r)) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* ---- text ---------------------------------------------------------------------------------------------------------------- */

static enum table_style style_of(enum sheet_tone tone)
{
    static const enum table_style styles[] = {
        [TONE_NONE] = TABLE_PLAIN, [TONE_GOOD] = TABLE_GOOD,   [TONE_FAIR] = TABLE_FAIR,
        [TONE_BAD] = TABLE_BAD,    [TONE_FAINT] = TABLE_FAINT,
    };
    return styles[tone];
}

static void fill_table(const struct sheet *s, struct table *t, size_t rows)
{
    char buffer[64];
    for (int c = 0; c < s->n_columns; c++)
        if (s->columns[c].use == SHEET_EVERYWHERE)
            table_column(t, NULL, s->columns[c].title, s->columns[c].kind == SHEET_TEXT ? TABLE_LEFT : TABLE_RIGHT,
                         s->columns[c].kind == SHEET_TEXT ? 60 : 0);
    for (size_t r = 0; r < rows; r++)
        for (int c = 0; c < s->n_columns; c++) {
            const struct sheet_value *v = sheet_at(s, r, c);
            const char *text = sheet_show(s, v, c, buffer, sizeof(buffer));
            if (s->columns[c].use == SHEET_EVERYWHERE)
                table_cell(t, style_of(v->tone), "%s", text[0] ? text : "-");
        }
}

void sheet_print_note(FILE *out, const char *note, bool colour)
{
    char clean[1024];
    table_clean(note, clean, sizeof(clean));
    for (const char *p = clean; *p;) {
        size_t n = strlen(p);
        if (n > LINE_WIDTH - 2) {
            n = LINE_WIDTH - 2;
            while (n > 1 && p[n] != ' ')
                n--;
        }
        (void)fprintf(out, "  %s%.*s%s\n", table_style_on(TABLE_FAINT, colour), (int)n, p, table_style_off(colour));
        p += n;
        while (*p == ' ')
            p++;
    }
}

int sheet_print_text(const struct sheet *s, FILE *out, bool colour, size_t max_rows, struct pkb_error *err)
{
    if (sheet_check(s, err) < 0)
        return -1;
    size_t all = sheet_rows(s), rows = max_rows > 0 && all > max_rows ? max_rows : all;
    (void)fprintf(out, "\n%s%s%s\n", colour ? "\033[1m" : "", s->title, table_style_off(colour));
    sheet_print_note(out, s->note, colour);
    struct table *t = table_create();
    fill_table(s, t, rows);
    for (int c = 0, shown = 0; c < s->n_columns; c++) {
        if (s->columns[c].kind == SHEET_TEXT && s->columns[c].use == SHEET_EVERYWHERE)
            table_fit(t, shown, LINE_WIDTH - 2);
        shown += s->columns[c].use == SHEET_EVERYWHERE;
    }
    int rc = table_print(t, out, colour, err);
    table_destroy(t);
    if (rows < all)
        (void)fprintf(out, "  ... and %zu more: pkb report --csv=%s\n", all - rows, s->name);
    return rc;
}
