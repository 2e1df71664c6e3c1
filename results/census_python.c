/* SPDX-License-Identifier: Apache-2.0 */
/* Words of Python. */
#include <ctype.h>
#include <string.h>

#include "results/census_words.h"

struct splitter {
    struct source_words *w;
    const char *p, *end;
    int line;
    bool statement_start; /* nothing but blanks so far in this statement */
    int depth;            /* of brackets */
    struct asm_state assembly;
};

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool contains(const char *text, size_t size, const char *part)
{
    return memmem(text, size, part, strlen(part)) != NULL;
}

/* A string that is a value: CUDA that is compiled at run time is written so. A string that is a statement is a comment. */
static void take_string(struct splitter *s, const char *text, size_t size, int line)
{
    if (s->statement_start)
        return;
    if (asm_takes_string(&s->assembly))
        source_words_add_ptx(s->w, text, size, line, -1);
    else if (contains(text, size, "__global__") || contains(text, size, "#include"))
        source_words_add_c(s->w, text, size, line);
}

static void skip_string(struct splitter *s)
{
    char quote = *s->p;
    bool triple = s->end - s->p >= 3 && s->p[1] == quote && s->p[2] == quote;
    int line = s->line;
    s->p += triple ? 3 : 1;
    const char *start = s->p;
    for (; s->p < s->end; s->p++) {
        if (*s->p == '\\' && s->end - s->p > 1) {
            s->line += s->p[1] == '\n';
            s->p++;
            continue;
        }
        if (*s->p == quote && (!triple || (s->end - s->p >= 3 && s->p[1] == quote && s->p[2] == quote)))
            break;
        if (*s->p == '\n' && !triple)
            break;
        s->line += *s->p == '\n';
    }
    take_string(s, start, (size_t)(s->p - start), line);
    if (s->p < s->end && *s->p == quote)
        s->p += triple ? 3 : 1;
}

static bool is_prefix(const char *name, size_t size)
{
    size_t n = 0;
    while (n < size && strchr("rRbBfFuU", name[n]))
        n++;
    return n == size && size <= 2;
}

static void take_name(struct splitter *s)
{
    const char *start = s->p;
    while (s->p < s->end && is_name(*s->p))
        s->p++;
    size_t size = (size_t)(s->p - start);
    if (s->p < s->end && (*s->p == '"' || *s->p == '\'') && is_prefix(start, size)) {
        skip_string(s);
        return;
    }
    asm_name(&s->assembly, start, size);
    source_words_add(s->w, isdigit((unsigned char)*start) ? WORD_OTHER : WORD_NAME, start, size, s->line, -1);
    s->statement_start = false;
}

static void take_other(struct splitter *s)
{
    char c = *s->p;
    asm_punctuation(&s->assembly, c == ':' ? ' ' : c); /* ':' does not end the strings of an assembly call here */
    if (strchr("([{", c))
        s->depth++;
    else if (strchr(")]}", c) && s->depth > 0)
        s->depth--;
    source_words_add(s->w, WORD_OTHER, s->p, 1, s->line, -1);
    s->statement_start = s->depth == 0 && (c == ';' || c == ':');
    s->p++;
}

static void take_newline(struct splitter *s)
{
    s->line++;
    s->p++;
    if (s->depth == 0)
        s->statement_start = true;
}

static void split(struct splitter *s)
{
    while (s->p < s->end && !s->w->no_memory) {
        char c = *s->p;
        if (c == '\n')
            take_newline(s);
        else if (c == '\\' && s->end - s->p > 1 && s->p[1] == '\n') {
            s->line++;
            s->p += 2;
        } else if (isspace((unsigned char)c) || c == '\0')
            s->p++;
        else if (c == '#')
            while (s->p < s->end && *s->p != '\n')
                s->p++;
        else if (c == '"' || c == '\'')
            skip_string(s);
        else if (is_name(c))
            take_name(s);
        else
            take_other(s);
    }
}

int source_words_of_python(const char *text, size_t size, struct source_words *w, struct pkb_error *err)
{
    struct splitter s = {.w = w, .p = text, .end = text + size, .line = 1, .statement_start = true};
    memset(w, 0, sizeof(*w));
    split(&s);
    if (!w->no_memory)
        return 0;
    source_words_clear(w);
    return pkb_error_set(err, "out of memory");
}
