/* SPDX-License-Identifier: Apache-2.0 */
#include "topology/tree.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the last one */
    bool has_event;
    int nodes;
    struct pkb_error *err;
};

static int event_line(const struct reader *r)
{
    return (int)r->event.start_mark.line + 1;
}

static int next(struct reader *r)
{
    if (r->has_event)
        yaml_event_delete(&r->event);
    r->has_event = yaml_parser_parse(&r->parser, &r->event) != 0;
    if (r->has_event)
        return 0;
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return pkb_error_set(r->err, "out of memory");
    if (p->error == YAML_READER_ERROR)
        return pkb_error_set(r->err, "byte %zu: %s", p->problem_offset, p->problem ? p->problem : "not a text");
    return pkb_error_set(r->err, "line %zu: %s", p->problem_mark.line + 1, p->problem ? p->problem : "not YAML");
}

static int refuse(struct reader *r, const char *what)
{
    return pkb_error_set(r->err, "line %d: %s", event_line(r), what);
}

static int refuse_extras(struct reader *r, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor)
        return refuse(r, "anchors are not allowed");
    if (tag)
        return refuse(r, "tags are not allowed");
    return 0;
}

/* A copy of the scalar that the last event is. */
static char *copy_text(struct reader *r)
{
    const char *text = (const char *)r->event.data.scalar.value;
    size_t size = r->event.data.scalar.length;
    if (refuse_extras(r, r->event.data.scalar.anchor, r->event.data.scalar.tag) < 0)
        return NULL;
    if (size > TREE_MAX_TEXT) {
        refuse(r, "the text is too long");
        return NULL;
    }
    if (memchr(text, '\0', size)) {
        refuse(r, "the text holds a zero byte");
        return NULL;
    }
    char *copy = strdup(text);
    if (!copy)
        pkb_error_set(r->err, "out of memory");
    return copy;
}

static void clear(struct tree *t)
{
    for (size_t i = 0; i < t->n; i++) {
        clear(&t->items[i]);
        if (t->keys)
            free(t->keys[i]);
    }
    free(t->text);
    free(t->keys);
    free(t->key_lines);
    free(t->items);
}

/* Room for one more item; what is there is zeroed. */
static int grow(struct reader *r, struct tree *t)
{
    size_t n = t->n + 1;
    if (++r->nodes > TREE_MAX_NODES)
        return refuse(r, "the file has too many entries");
    void *items = realloc(t->items, n * sizeof(*t->items));
    t->items = items ? items : t->items;
    void *keys = t->kind == TREE_MAP ? realloc(t->keys, n * sizeof(*t->keys)) : NULL;
    t->keys = keys ? keys : t->keys;
    void *lines = t->kind == TREE_MAP ? realloc(t->key_lines, n * sizeof(*t->key_lines)) : NULL;
    t->key_lines = lines ? lines : t->key_lines;
    if (!items || (t->kind == TREE_MAP && (!keys || !lines)))
        return pkb_error_set(r->err, "out of memory");
    memset(&t->items[t->n], 0, sizeof(*t->items));
    if (t->kind == TREE_MAP)
        t->keys[t->n] = NULL;
    t->n = n;
    return 0;
}

static int read_node(struct reader *r, struct tree *t, int depth);

static int read_list(struct reader *r, struct tree *t, int depth)
{
    for (;;) {
        if (next(r) < 0)
            return -1;
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            return 0;
        if (grow(r, t) < 0 || read_node(r, &t->items[t->n - 1], depth) < 0)
            return -1;
    }
}

static int read_key(struct reader *r, struct tree *t)
{
    if (r->event.type == YAML_ALIAS_EVENT)
        return refuse(r, "aliases are not allowed");
    if (r->event.type != YAML_SCALAR_EVENT)
        return refuse(r, "keys must be words");
    char *key = copy_text(r);
    if (!key)
        return -1;
    if (tree_get(t, key)) {
        pkb_error_set(r->err, "line %d: the key '%.64s' is there twice", event_line(r), key);
        free(key);
        return -1;
    }
    if (grow(r, t) < 0) {
        free(key);
        return -1;
    }
    t->keys[t->n - 1] = key;
    t->key_lines[t->n - 1] = event_line(r);
    return 0;
}

static int read_map(struct reader *r, struct tree *t, int depth)
{
    for (;;) {
        if (next(r) < 0)
            return -1;
        if (r->event.type == YAML_MAPPING_END_EVENT)
            return 0;
        if (read_key(r, t) < 0 || next(r) < 0 || read_node(r, &t->items[t->n - 1], depth) < 0)
            return -1;
    }
}

/* The node that starts with the last event. */
static int read_node(struct reader *r, struct tree *t, int depth)
{
    t->line = event_line(r);
    if (depth > TREE_MAX_DEPTH)
        return refuse(r, "maps and lists are nested too deeply");
    switch (r->event.type) {
    case YAML_SCALAR_EVENT:
        t->kind = TREE_TEXT;
        t->quoted = r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        t->text = copy_text(r);
        return t->text ? 0 : -1;
    case YAML_SEQUENCE_START_EVENT:
        t->kind = TREE_LIST;
        if (refuse_extras(r, r->event.data.sequence_start.anchor, r->event.data.sequence_start.tag) < 0)
            return -1;
        return read_list(r, t, depth + 1);
    case YAML_MAPPING_START_EVENT:
        t->kind = TREE_MAP;
        if (refuse_extras(r, r->event.data.mapping_start.anchor, r->event.data.mapping_start.tag) < 0)
            return -1;
        return read_map(r, t, depth + 1);
    case YAML_ALIAS_EVENT:
        return refuse(r, "aliases are not allowed");
    default:
        return refuse(r, "unexpected end");
    }
}

static int expect(struct reader *r, yaml_event_type_t type, const char *otherwise)
{
    if (next(r) < 0)
        return -1;
    return r->event.type == type ? 0 : refuse(r, otherwise);
}

static int read_document(struct reader *r, struct tree *t)
{
    if (expect(r, YAML_STREAM_START_EVENT, "not YAML") < 0 || expect(r, YAML_DOCUMENT_START_EVENT, "the file is empty") < 0 ||
        next(r) < 0 || read_node(r, t, 0) < 0 || expect(r, YAML_DOCUMENT_END_EVENT, "unexpected entry") < 0)
        return -1;
    return expect(r, YAML_STREAM_END_EVENT, "there must be one document only");
}

struct tree *tree_read(const char *text, size_t size, struct pkb_error *err)
{
    struct reader r = {.err = err};
    if (size > TREE_MAX_BYTES) {
        pkb_error_set(err, "the file is larger than %d bytes", TREE_MAX_BYTES);
        return NULL;
    }
    struct tree *t = calloc(1, sizeof(*t));
    if (!t || !yaml_parser_initialize(&r.parser)) {
        free(t);
        pkb_error_set(err, "out of memory");
        return NULL;
    }
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size);
    int rc = read_document(&r, t);
    if (r.has_event)
        yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    if (rc == 0)
        return t;
    tree_destroy(t);
    return NULL;
}

void tree_destroy(struct tree *t)
{
    if (!t)
        return;
    clear(t);
    free(t);
}

const struct tree *tree_get(const struct tree *map, const char *key)
{
    for (size_t i = 0; map->kind == TREE_MAP && i < map->n; i++)
        if (map->keys[i] && strcmp(map->keys[i], key) == 0)
            return &map->items[i];
    return NULL;
}

const char *tree_kind_name(const struct tree *t)
{
    return t->kind == TREE_MAP ? "a map" : t->kind == TREE_LIST ? "a list" : "a text";
}
