/* SPDX-License-Identifier: Apache-2.0 */
/* From a topology to YAML and JSON, by the tables of topology/schema.c. */
#include <stdlib.h>
#include <string.h>

#include "topology/schema.h"

#define INDENT 2

/* The shortest decimal that reads back as the same number. */
static void format_number(double value, char text[32])
{
    for (int digits = 6; digits <= 17; digits++) {
        (void)snprintf(text, 32, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

/* Whether an optional entry says anything. */
static bool is_set(const struct entry *e, const char *in)
{
    const char *member = in + e->offset;
    switch (e->kind) {
    case ENTRY_TEXT:
    case ENTRY_NAME:
        return member[0] != '\0';
    case ENTRY_INT:
        return *(const int *)member != 0;
    case ENTRY_REAL:
        return *(const double *)member != 0;
    case ENTRY_BOOL:
        return *(const bool *)member;
    case ENTRY_WORD:
    case ENTRY_MAP:
        return true;
    case ENTRY_TEXTS:
    case ENTRY_MAPS:
        return *(const int *)(in + e->count) > 0;
    }
    return false;
}

/* ---- YAML ---------------------------------------------------------------------------------------------------------- */

static void print_text(const char *text, FILE *out)
{
    (void)putc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            (void)putc('\\', out);
        (void)putc(*text, out);
    }
    (void)putc('"', out);
}

static void print_map(const struct entry_table *table, const char *in, int depth, bool in_list, FILE *out);

static void print_list(const struct entry *e, const char *in, int depth, FILE *out)
{
    int n = *(const int *)(in + e->count);
    for (int i = 0; i < n; i++) {
        (void)fprintf(out, "\n%*s- ", depth * INDENT, "");
        if (e->kind == ENTRY_MAPS)
            print_map(e->table, in + e->offset + (size_t)i * e->size, depth + 1, true, out);
        else
            print_text(in + e->offset + (size_t)i * TOPOLOGY_TEXT, out);
    }
    if (n == 0)
        (void)fputs(" []", out);
}

static void print_value(const struct entry *e, const char *in, int depth, FILE *out)
{
    const char *member = in + e->offset;
    char number[32];
    switch (e->kind) {
    case ENTRY_TEXT:
        (void)putc(' ', out);
        print_text(member, out);
        return;
    case ENTRY_NAME:
        (void)putc(' ', out);
        print_text(member, out);
        return;
    case ENTRY_INT:
        (void)fprintf(out, " %d", *(const int *)member);
        return;
    case ENTRY_REAL:
        format_number(*(const double *)member, number);
        (void)fprintf(out, " %s", number);
        return;
    case ENTRY_BOOL:
        (void)fputs(*(const bool *)member ? " true" : " false", out);
        return;
    case ENTRY_WORD:
        (void)fprintf(out, " %s", e->words[*(const int *)member]);
        return;
    case ENTRY_MAP:
        print_map(e->table, member, depth + 1, false, out);
        return;
    case ENTRY_TEXTS:
    case ENTRY_MAPS:
        print_list(e, in, depth + 1, out);
        return;
    }
}

static void print_map(const struct entry_table *table, const char *in, int depth, bool in_list, FILE *out)
{
    bool first = true;
    for (size_t i = 0; i < table->n; i++) {
        const struct entry *e = &table->entries[i];
        if (!e->required && !is_set(e, in))
            continue;
        if (!(first && (in_list || depth == 0)))
            (void)fprintf(out, "\n%*s", depth * INDENT, "");
        (void)fprintf(out, "%s:", e->key);
        print_value(e, in, depth, out);
        first = false;
    }
}

int topology_print(const struct topology *t, FILE *out)
{
    print_map(&topology_table, (const char *)t, 0, false, out);
    (void)putc('\n', out);
    return ferror(out) ? -1 : 0;
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */

static json_t *encode_map(const struct entry_table *table, const char *in);

static json_t *encode_list(const struct entry *e, const char *in)
{
    json_t *list = json_array();
    int n = *(const int *)(in + e->count);
    for (int i = 0; list && i < n; i++) {
        json_t *item = e->kind == ENTRY_MAPS ? encode_map(e->table, in + e->offset + (size_t)i * e->size)
                                             : json_string(in + e->offset + (size_t)i * TOPOLOGY_TEXT);
        if (json_array_append_new(list, item) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *encode_value(const struct entry *e, const char *in)
{
    const char *member = in + e->offset;
    switch (e->kind) {
    case ENTRY_TEXT:
    case ENTRY_NAME:
        return json_string(member);
    case ENTRY_INT:
        return json_integer(*(const int *)member);
    case ENTRY_REAL:
        return json_real(*(const double *)member);
    case ENTRY_BOOL:
        return json_boolean(*(const bool *)member);
    case ENTRY_WORD:
        return json_string(e->words[*(const int *)member]);
    case ENTRY_MAP:
        return encode_map(e->table, member);
    case ENTRY_TEXTS:
    case ENTRY_MAPS:
        return encode_list(e, in);
    }
    return NULL;
}

static json_t *encode_map(const struct entry_table *table, const char *in)
{
    json_t *map = json_object();
    for (size_t i = 0; map && i < table->n; i++) {
        const struct entry *e = &table->entries[i];
        if (!e->required && !is_set(e, in))
            continue;
        if (json_object_set_new(map, e->key, encode_value(e, in)) < 0) {
            json_decref(map);
            return NULL;
        }
    }
    return map;
}

json_t *topology_encode(const struct topology *t)
{
    return encode_map(&topology_table, (const char *)t);
}
