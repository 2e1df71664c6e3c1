/* SPDX-License-Identifier: Apache-2.0 */
/* From a tree to a topology, by the tables of topology/schema.c. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "topology/schema.h"
#include "topology/tree.h"
#include "util/suggest.h"

#define MAX_KEYS 16

/* Shows the beginning of what a file says, which may be long. */
#define SHOW "%.40s"

static int wrong(const struct tree *v, const char *expected, struct pkb_error *err)
{
    if (v->kind == TREE_TEXT && !v->quoted)
        return pkb_error_set(err, "line %d: expected %s, found '" SHOW "'", v->line, expected, v->text);
    return pkb_error_set(err, "line %d: expected %s, found %s", v->line, expected, tree_kind_name(v));
}

static int read_number(const struct tree *v, const struct entry *e, double *number, struct pkb_error *err)
{
    char *end = NULL;
    if (v->kind != TREE_TEXT || v->quoted || strspn(v->text, "+-0123456789.eE") != strlen(v->text))
        return wrong(v, "a number", err);
    *number = strtod(v->text, &end);
    if (end == v->text || *end != '\0' || !isfinite(*number))
        return wrong(v, "a number", err);
    if (e->min == e->max && *number != e->min)
        return pkb_error_set(err, "line %d: %s is not supported; this version reads %g", v->line, v->text, e->min);
    if (*number < e->min || *number > e->max)
        return pkb_error_set(err, "line %d: " SHOW " is out of range: %g to %g", v->line, v->text, e->min, e->max);
    return 0;
}

static int read_int(const struct tree *v, const struct entry *e, void *out, struct pkb_error *err)
{
    double number;
    if (read_number(v, e, &number, err) < 0)
        return -1;
    if (number != floor(number))
        return wrong(v, "a whole number", err);
    *(int *)out = (int)number;
    return 0;
}

static int read_text(const struct tree *v, size_t size, bool name, char *out, struct pkb_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    if (v->kind != TREE_TEXT)
        return wrong(v, "a text", err);
    size_t n = strlen(v->text);
    if (n == 0)
        return pkb_error_set(err, "line %d: the text is empty", v->line);
    if (n >= size)
        return pkb_error_set(err, "line %d: the text is longer than %zu bytes", v->line, size - 1);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)v->text[i] < ' ' || v->text[i] == 0x7f)
            return pkb_error_set(err, "line %d: control characters are not allowed in texts", v->line);
    if (name && (strspn(v->text, letters) != n || v->text[0] == '.' || v->text[0] == '-'))
        return pkb_error_set(err, "line %d: '" SHOW "' is no name: letters, digits, '-', '_' and '.'", v->line, v->text);
    memcpy(out, v->text, n + 1);
    return 0;
}

static int read_bool(const struct tree *v, bool *out, struct pkb_error *err)
{
    if (v->kind != TREE_TEXT || v->quoted || (strcmp(v->text, "true") != 0 && strcmp(v->text, "false") != 0))
        return wrong(v, "true or false", err);
    *out = v->text[0] == 't';
    return 0;
}

static int read_word(const struct tree *v, const struct entry *e, int *out, struct pkb_error *err)
{
    char list[160] = "";
    size_t n = 0, used = 0;
    if (v->kind != TREE_TEXT)
        return wrong(v, "a word", err);
    for (; e->words[n]; n++) {
        if (strcmp(v->text, e->words[n]) == 0) {
            *out = (int)n;
            return 0;
        }
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", n > 0 ? ", " : "", e->words[n]);
    }
    const char *near = pkb_suggest(v->text, e->words, n);
    if (near)
        return pkb_error_set(err, "line %d: unknown word '" SHOW "'; did you mean '%s'?", v->line, v->text, near);
    return pkb_error_set(err, "line %d: unknown word '" SHOW "'; it is one of %s", v->line, v->text, list);
}

static int read_map(const struct tree *v, const struct entry_table *table, void *out, struct pkb_error *err);

static int read_list(const struct tree *v, const struct entry *e, char *out, struct pkb_error *err)
{
    char *base = out + e->offset;
    if (v->kind != TREE_LIST)
        return wrong(v, "a list", err);
    if ((double)v->n > e->max)
        return pkb_error_set(err, "line %d: more than %g items", v->line, e->max);
    for (size_t i = 0; i < v->n; i++) {
        int rc = e->kind == ENTRY_MAPS ? read_map(&v->items[i], e->table, base + i * e->size, err)
                                       : read_text(&v->items[i], TOPOLOGY_TEXT, false, base + i * TOPOLOGY_TEXT, err);
        if (rc < 0)
            return pkb_error_prefix(err, "item %zu", i + 1);
    }
    *(int *)(out + e->count) = (int)v->n;
    return 0;
}

static int read_entry(const struct tree *v, const struct entry *e, char *out, struct pkb_error *err)
{
    void *member = out + e->offset;
    switch (e->kind) {
    case ENTRY_TEXT:
        return read_text(v, e->size, false, member, err);
    case ENTRY_NAME:
        return read_text(v, e->size, true, member, err);
    case ENTRY_INT:
        return read_int(v, e, member, err);
    case ENTRY_REAL:
        return read_number(v, e, member, err);
    case ENTRY_BOOL:
        return read_bool(v, member, err);
    case ENTRY_WORD:
        return read_word(v, e, member, err);
    case ENTRY_MAP:
        return read_map(v, e->table, member, err);
    case ENTRY_TEXTS:
    case ENTRY_MAPS:
        return read_list(v, e, out, err);
    }
    return -1;
}

static int unknown_key(const struct entry_table *table, const char *key, int line, struct pkb_error *err)
{
    const char *keys[MAX_KEYS];
    char list[320] = "";
    size_t used = 0, n = 0;
    for (; n < table->n && n < MAX_KEYS; n++) {
        keys[n] = table->entries[n].key;
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", n > 0 ? ", " : "", keys[n]);
    }
    const char *near = pkb_suggest(key, keys, n);
    if (near)
        return pkb_error_set(err, "line %d: unknown key '" SHOW "'; did you mean '%s'?", line, key, near);
    return pkb_error_set(err, "line %d: unknown key '" SHOW "'; known are %s", line, key, list);
}

static int read_map(const struct tree *v, const struct entry_table *table, void *out, struct pkb_error *err)
{
    if (v->kind != TREE_MAP)
        return wrong(v, "a map", err);
    for (size_t i = 0; i < v->n; i++) {
        const struct entry *e = schema_entry(table, v->keys[i]);
        if (!e)
            return unknown_key(table, v->keys[i], v->key_lines[i], err);
        if (read_entry(&v->items[i], e, out, err) < 0)
            return pkb_error_prefix(err, "%s", e->key);
    }
    for (size_t i = 0; i < table->n; i++)
        if (table->entries[i].required && !tree_get(v, table->entries[i].key))
            return pkb_error_set(err, "line %d: the key '%s' is missing", v->line, table->entries[i].key);
    return 0;
}

/* The schema comes first: what else a file of another version says need not make sense here. */
static int check_schema(const struct tree *v, struct pkb_error *err)
{
    int schema;
    const struct tree *item = tree_get(v, "schema");
    if (!item)
        return 0;
    return read_int(item, schema_entry(&topology_table, "schema"), &schema, err) < 0 ? pkb_error_prefix(err, "schema") : 0;
}

int topology_parse(const char *text, size_t size, struct topology *t, struct pkb_error *err)
{
    memset(t, 0, sizeof(*t));
    t->nodes_per_domain = 1;
    struct tree *v = tree_read(text, size, err);
    int rc = v ? check_schema(v, err) : -1;
    if (rc == 0)
        rc = read_map(v, &topology_table, t, err);
    if (rc == 0)
        rc = topology_check(t, err);
    tree_destroy(v);
    return rc;
}

int topology_decode(const json_t *value, struct topology *t, struct pkb_error *err)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY); /* JSON is YAML */
    if (!text)
        return pkb_error_set(err, "out of memory, or not a JSON value");
    int rc = topology_parse(text, strlen(text), t, err);
    free(text);
    return rc;
}
