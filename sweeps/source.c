/* SPDX-License-Identifier: Apache-2.0 */
#include "sweeps/source.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

struct scanner {
    const char *text;
    size_t size, at;
    int line;
};

enum kind { END, WORD, STRING, OTHER };

struct token {
    enum kind kind;
    const char *text; /* of a string: without its quotes, escapes as they are written */
    size_t size;
    int line;
};

static char peek(const struct scanner *s, size_t ahead)
{
    return s->at + ahead < s->size ? s->text[s->at + ahead] : '\0';
}

static void step(struct scanner *s, size_t n)
{
    for (; n > 0 && s->at < s->size; n--)
        s->line += s->text[s->at++] == '\n';
}

/* Length of "[[" or "[==[" here; 0: none. */
static size_t long_bracket(const struct scanner *s)
{
    size_t n = 1;
    if (peek(s, 0) != '[')
        return 0;
    while (peek(s, n) == '=')
        n++;
    return peek(s, n) == '[' ? n + 1 : 0;
}

/* Moves behind the end of a long bracket that was opened with `open` bytes. */
static void skip_long(struct scanner *s, size_t open)
{
    step(s, open);
    while (s->at < s->size) {
        size_t n = 1;
        while (peek(s, 0) == ']' && n < open - 1 && peek(s, n) == '=')
            n++;
        if (peek(s, 0) == ']' && n == open - 1 && peek(s, n) == ']') {
            step(s, open);
            return;
        }
        step(s, 1);
    }
}

static void skip_blank(struct scanner *s)
{
    while (s->at < s->size) {
        if (isspace((unsigned char)peek(s, 0))) {
            step(s, 1);
        } else if (peek(s, 0) == '-' && peek(s, 1) == '-') {
            step(s, 2);
            size_t open = long_bracket(s);
            if (open)
                skip_long(s, open);
            while (!open && s->at < s->size && peek(s, 0) != '\n')
                step(s, 1);
        } else {
            return;
        }
    }
}

static void skip_quoted(struct scanner *s, struct token *t)
{
    char quote = peek(s, 0);
    step(s, 1);
    t->text = s->text + s->at;
    while (s->at < s->size && peek(s, 0) != quote)
        step(s, peek(s, 0) == '\\' ? 2 : 1);
    t->size = (size_t)(s->text + s->at - t->text);
    step(s, 1);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static struct token next(struct scanner *s)
{
    skip_blank(s);
    struct token t = {.kind = s->at < s->size ? OTHER : END, .text = s->text + s->at, .size = 1, .line = s->line};
    size_t open = long_bracket(s);
    if (peek(s, 0) == '"' || peek(s, 0) == '\'') {
        t.kind = STRING;
        skip_quoted(s, &t);
    } else if (open) {
        t.kind = STRING;
        skip_long(s, open);
        t.size = (size_t)(s->text + s->at - t.text);
    } else if (is_word(peek(s, 0))) {
        t.kind = WORD;
        while (is_word(peek(s, 0)))
            step(s, 1);
        t.size = (size_t)(s->text + s->at - t.text);
    } else {
        step(s, 1);
    }
    return t;
}

static bool is(const struct token *t, const char *text)
{
    return t->size == strlen(text) && memcmp(t->text, text, t->size) == 0;
}

static bool is_one_of(const struct token *t, const char *const *words)
{
    for (; *words; words++) {
        if (is(t, *words))
            return true;
    }
    return false;
}

/* Change of the nesting depth by a token: brackets, and the blocks of a function among the fields. */
static int nesting(const struct token *t)
{
    static const char *const open[] = {"(", "{", "[", "function", "if", "do", "repeat", NULL};
    static const char *const close[] = {")", "}", "]", "end", "until", NULL};
    if (t->kind == STRING || t->kind == END)
        return 0;
    return is_one_of(t, open) - is_one_of(t, close);
}

/* Moves behind the "{" of the call. */
static bool enter(struct scanner *s, int call_line)
{
    struct token t = next(s);
    while (t.kind != END && !(t.line >= call_line && t.kind == WORD && is(&t, "sweep")))
        t = next(s);
    t = next(s);
    if (t.kind == OTHER && t.text[0] == '(')
        t = next(s);
    return t.kind == OTHER && t.text[0] == '{';
}

/* The line of the entry in the value that begins here; `line` where it is not found. */
static int find_entry(struct scanner *s, const char *entry, int line)
{
    int depth = 0;
    for (struct token t = next(s); t.kind != END && depth >= 0; t = next(s)) {
        if (t.kind != OTHER && is(&t, entry))
            return t.line;
        depth += nesting(&t);
        if (depth == 0 && t.kind == OTHER && (t.text[0] == ',' || t.text[0] == ';'))
            break;
    }
    return line;
}

int sweep_source_line(const char *text, size_t size, int call_line, const char *field, const char *entry)
{
    struct scanner s = {text, size, 0, 1};
    if (!enter(&s, call_line))
        return call_line;
    int depth = 1;
    for (struct token t = next(&s); t.kind != END && depth > 0; t = next(&s)) {
        struct scanner behind = s;
        struct token equals = next(&behind);
        bool named = depth == 1 && t.kind == WORD && is(&t, field);
        if (named && equals.kind == OTHER && equals.text[0] == '=' && peek(&behind, 0) != '=')
            return entry ? find_entry(&behind, entry, t.line) : t.line;
        depth += nesting(&t);
    }
    return call_line;
}
