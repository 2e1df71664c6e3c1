/* SPDX-License-Identifier: Apache-2.0 */
#include "results/scan.h"

#include <stdint.h>
#include <string.h>

#include "results/scan_token.h"

#define MAX_DEPTH 2048

/* Which of the open containers are objects, one bit each. */
struct nesting {
    int depth;
    uint64_t is_object[MAX_DEPTH / 64];
};

static int push(struct cursor *c, struct nesting *n, bool object)
{
    if (n->depth == MAX_DEPTH)
        return cursor_error(c, "nested too deeply");
    uint64_t bit = UINT64_C(1) << (n->depth % 64);
    uint64_t *word = &n->is_object[n->depth / 64];
    *word = object ? *word | bit : *word & ~bit;
    n->depth++;
    return 0;
}

static bool in_object(const struct nesting *n)
{
    int top = n->depth - 1;
    return n->is_object[top / 64] >> (top % 64) & 1;
}

static int skip_key(struct cursor *c)
{
    struct value key;
    if (token_string(c, &key) < 0)
        return -1;
    return token_expect(c, ':');
}

/* Opens the container at the cursor. 1: it was empty and is closed again; 0: a value follows. */
static int open_container(struct cursor *c, struct nesting *n)
{
    bool object = *c->p == '{';
    if (push(c, n, object) < 0)
        return -1;
    c->p++;
    cursor_space(c);
    if (c->p < c->end && *c->p == (object ? '}' : ']')) {
        c->p++;
        n->depth--;
        return 1;
    }
    return object ? skip_key(c) : 0;
}

/* After a value: closes the containers that end here, and goes on to the next value of the innermost open one. */
static int close_containers(struct cursor *c, struct nesting *n)
{
    while (n->depth > 0) {
        bool object = in_object(n);
        cursor_space(c);
        if (c->p < c->end && *c->p == ',') {
            c->p++;
            cursor_space(c);
            return object ? skip_key(c) : 0;
        }
        if (c->p == c->end || *c->p != (object ? '}' : ']'))
            return cursor_error(c, object ? "expected ',' or '}'" : "expected ',' or ']'");
        c->p++;
        n->depth--;
    }
    return 0;
}

static int skip_container(struct cursor *c)
{
    struct nesting n;
    n.depth = 0;
    do {
        struct value ignored;
        int rc = 1;
        cursor_space(c);
        if (c->p < c->end && (*c->p == '{' || *c->p == '['))
            rc = open_container(c, &n);
        else if (token_scalar(c, &ignored, false) < 0)
            rc = -1;
        if (rc < 0 || (rc == 1 && close_containers(c, &n) < 0))
            return -1;
    } while (n.depth > 0);
    return 0;
}

static int read_value(struct cursor *c, struct value *v)
{
    cursor_space(c);
    if (c->p == c->end || (*c->p != '{' && *c->p != '['))
        return token_scalar(c, v, true);
    *v = (struct value){.kind = *c->p == '{' ? VALUE_OBJECT : VALUE_ARRAY, .text = c->p};
    if (skip_container(c) < 0)
        return -1;
    v->size = (size_t)(c->p - v->text);
    return 0;
}

/* A member's name; one with escapes is decoded into `buffer` (too long to be decoded: no name that anybody knows). */
static int read_key(struct cursor *c, char *buffer, size_t size, const char **key, size_t *length)
{
    struct value v;
    cursor_space(c);
    if (token_string(c, &v) < 0)
        return -1;
    *key = v.text;
    *length = v.size;
    if (v.escaped) {
        *key = buffer;
        *length = scan_unescape(v.text, v.size, buffer, size) == 0 ? strlen(buffer) : 0;
    }
    return token_expect(c, ':');
}

/* 1: another member follows; 0: the object and the text end. */
static int after_member(struct cursor *c)
{
    cursor_space(c);
    if (c->p < c->end && *c->p == ',') {
        c->p++;
        return 1;
    }
    if (token_expect(c, '}') < 0)
        return -1;
    cursor_space(c);
    return c->p == c->end ? 0 : cursor_error(c, "text after the object");
}

int scan_object(const char *text, size_t size, struct value *v, struct pkb_error *err)
{
    struct cursor c = {.start = text, .p = text, .end = text + size, .err = err};
    cursor_space(&c);
    if (c.p == c.end)
        return pkb_error_set(err, "empty line");
    if (*c.p != '{')
        return cursor_error(&c, "not a JSON object");
    *v = (struct value){.kind = VALUE_OBJECT, .text = text, .size = size};
    return 0;
}

int scan_members(const struct value *object, value_visit_fn *visit, void *arg, struct pkb_error *err)
{
    struct cursor c = {.start = object->text, .p = object->text, .end = object->text + object->size, .err = err};
    char buffer[64];
    if (token_expect(&c, '{') < 0)
        return -1;
    cursor_space(&c);
    int more = c.p < c.end && *c.p == '}' ? after_member(&c) : 1;
    while (more > 0) {
        const char *key;
        size_t length;
        struct value v;
        if (read_key(&c, buffer, sizeof(buffer), &key, &length) < 0 || read_value(&c, &v) < 0)
            return -1;
        int rc = visit(arg, key, length, &v, err);
        if (rc != 0)
            return rc;
        more = after_member(&c);
    }
    return more;
}
