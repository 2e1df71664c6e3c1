/* SPDX-License-Identifier: Apache-2.0 */
/* Words of C, C++ and CUDA. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "results/census_words.h"

struct splitter {
    struct source_words *w;
    const char *p, *end;
    int line;
    bool line_start; /* nothing but blanks so far on this line */
    int macro;       /* whose body is being read; -1: none */
    bool skipping;   /* inside #if 0 */
    int nested;      /* conditionals inside it */
    struct asm_state assembly;
    /* Adjacent strings are one: "multimem." "ld_reduce". */
    char *pending;
    size_t pending_size, pending_capacity;
    int pending_line; /* 0: none */
};

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static char peek(const struct splitter *s, size_t ahead)
{
    return (size_t)(s->end - s->p) > ahead ? s->p[ahead] : '\0';
}

static void step(struct splitter *s)
{
    if (*s->p == '\n') {
        s->line++;
        s->line_start = true;
        s->macro = -1;
    }
    s->p++;
}

static void add(struct splitter *s, enum word_kind kind, const char *text, size_t size)
{
    s->line_start = false;
    if (!s->skipping)
        source_words_add(s->w, kind, text, size, s->line, s->macro);
}

/* ---- comments and strings ------------------------------------------------------------------------------------------ */

static bool skip_comment(struct splitter *s)
{
    if (peek(s, 0) != '/' || (peek(s, 1) != '/' && peek(s, 1) != '*'))
        return false;
    if (peek(s, 1) == '/') {
        while (s->p < s->end && *s->p != '\n')
            s->p++;
        return true;
    }
    int macro = s->macro; /* a comment does not end a macro */
    bool line_start = s->line_start;
    s->p += 2;
    while (s->p < s->end && !(peek(s, 0) == '*' && peek(s, 1) == '/'))
        step(s);
    s->p += s->p < s->end ? 2 : 0;
    s->macro = macro;
    s->line_start = line_start;
    return true;
}

static void flush_string(struct splitter *s)
{
    if (s->pending_line > 0)
        source_words_add_ptx(s->w, s->pending, s->pending_size, s->pending_line, s->macro);
    s->pending_line = 0;
    s->pending_size = 0;
}

static void take_string(struct splitter *s, const char *text, size_t size, int line)
{
    if (s->skipping || !asm_takes_string(&s->assembly))
        return;
    if (s->pending_capacity - s->pending_size <= size) {
        size_t capacity = 2 * (s->pending_size + size) + 256;
        char *larger = realloc(s->pending, capacity);
        if (!larger) {
            s->w->no_memory = true;
            return;
        }
        s->pending = larger;
        s->pending_capacity = capacity;
    }
    memcpy(s->pending + s->pending_size, text, size);
    s->pending_size += size;
    s->pending_line = s->pending_line > 0 ? s->pending_line : line;
}

/* A string or character constant; without its second quote it ends with the line. */
static void skip_quoted(struct splitter *s)
{
    char quote = *s->p++;
    const char *start = s->p;
    while (s->p < s->end && *s->p != quote && *s->p != '\n')
        s->p += *s->p == '\\' && s->end - s->p > 1 && s->p[1] != '\n' ? 2 : 1;
    if (quote == '"')
        take_string(s, start, (size_t)(s->p - start), s->line);
    if (s->p < s->end && *s->p == quote)
        s->p++;
    s->line_start = false;
}

/* R"delimiter( ... )delimiter", from the quote on. */
static void skip_raw(struct splitter *s)
{
    const char *delimiter = s->p + 1, *open = delimiter;
    int line = s->line, macro = s->macro;
    while (open < s->end && *open != '(' && *open != '\n' && open - delimiter < 16)
        open++;
    if (open == s->end || *open != '(') {
        skip_quoted(s);
        return;
    }
    size_t n = (size_t)(open - delimiter);
    s->p = open + 1;
    const char *start = s->p;
    while (s->p < s->end) {
        bool closes =
            *s->p == ')' && (size_t)(s->end - s->p) > n + 1 && memcmp(s->p + 1, delimiter, n) == 0 && s->p[n + 1] == '"';
        if (closes)
            break;
        step(s);
    }
    take_string(s, start, (size_t)(s->p - start), line);
    s->p += s->p < s->end ? n + 2 : 0;
    s->macro = macro;
    s->line_start = false;
}

/* ---- directives ---------------------------------------------------------------------------------------------------- */

static void skip_blanks(struct splitter *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r'))
        s->p++;
}

static size_t read_name(struct splitter *s, const char **name)
{
    skip_blanks(s);
    *name = s->p;
    while (s->p < s->end && is_name(*s->p))
        s->p++;
    return (size_t)(s->p - *name);
}

static bool same(const char *name, size_t size, const char *text)
{
    return strlen(text) == size && memcmp(name, text, size) == 0;
}

static void skip_line(struct splitter *s)
{
    while (s->p < s->end && *s->p != '\n')
        if (!skip_comment(s))
            s->p++;
}

/* What follows on the line belongs to the macro; step() ends it. */
static void begin_macro(struct splitter *s)
{
    const char *name;
    size_t size = read_name(s, &name);
    struct source_words *w = s->w;
    if (size == 0 || s->skipping)
        return;
    if (w->n_macros == w->macro_capacity) {
        size_t capacity = w->macro_capacity ? 2 * w->macro_capacity : 64;
        struct word_macro *macros = realloc(w->macros, capacity * sizeof(*macros));
        if (!macros) {
            w->no_memory = true;
            return;
        }
        w->macros = macros;
        w->macro_capacity = capacity;
    }
    w->macros[w->n_macros] = (struct word_macro){.name = name, .size = size};
    s->macro = (int)w->n_macros++;
}

static void conditional(struct splitter *s, const char *name, size_t size)
{
    const char *value;
    bool begins = same(name, size, "if") || same(name, size, "ifdef") || same(name, size, "ifndef");
    if (s->skipping) {
        if (begins)
            s->nested++;
        else if (same(name, size, "endif") && s->nested > 0)
            s->nested--;
        else if (s->nested == 0 && (same(name, size, "endif") || same(name, size, "else") || same(name, size, "elif")))
            s->skipping = false;
        return;
    }
    if (!same(name, size, "if"))
        return;
    size_t n = read_name(s, &value);
    skip_blanks(s);
    bool alone = s->p == s->end || *s->p == '\n' || *s->p == '/';
    if (alone && (same(value, n, "0") || same(value, n, "false"))) {
        s->skipping = true;
        s->nested = 0;
    }
}

static void directive(struct splitter *s)
{
    const char *name;
    s->p++; /* # */
    size_t size = read_name(s, &name);
    s->line_start = false;
    if (same(name, size, "define")) {
        begin_macro(s);
        return;
    }
    conditional(s, name, size);
    skip_line(s);
}

/* ---- words --------------------------------------------------------------------------------------------------------- */

static void take_name(struct splitter *s)
{
    const char *name;
    size_t size = read_name(s, &name);
    bool raw = size >= 1 && size <= 3 && name[size - 1] == 'R';
    bool prefix = raw || same(name, size, "L") || same(name, size, "u") || same(name, size, "U") || same(name, size, "u8");
    if (peek(s, 0) == '"' && prefix) {
        if (raw)
            skip_raw(s);
        else
            skip_quoted(s);
        return;
    }
    flush_string(s);
    asm_name(&s->assembly, name, size);
    add(s, WORD_NAME, name, size);
}

/* 1'000'000, 0x1p-3f, 1e+5 */
static void take_number(struct splitter *s)
{
    const char *start = s->p;
    while (s->p < s->end) {
        char last = s->p > start ? s->p[-1] : '\0';
        bool sign = (*s->p == '+' || *s->p == '-') && (last == 'e' || last == 'E' || last == 'p' || last == 'P');
        bool separator = *s->p == '\'' && is_name(peek(s, 1));
        if (!is_name(*s->p) && *s->p != '.' && !sign && !separator)
            break;
        s->p++;
    }
    add(s, WORD_OTHER, start, (size_t)(s->p - start));
}

static void take_punctuation(struct splitter *s)
{
    bool two = (peek(s, 0) == '-' && peek(s, 1) == '>') || (peek(s, 0) == ':' && peek(s, 1) == ':');
    flush_string(s);
    if (!two)
        asm_punctuation(&s->assembly, *s->p);
    else if (*s->p == ':' && s->assembly.depth == 1)
        s->assembly.operands = true; /* asm("..." :: "r"(x)) */
    add(s, WORD_OTHER, s->p, two ? 2 : 1);
    s->p += two ? 2 : 1;
}

static void split(struct splitter *s)
{
    while (s->p < s->end && !s->w->no_memory) {
        char c = *s->p;
        if (isspace((unsigned char)c))
            step(s);
        else if (skip_comment(s))
            continue;
        else if (c == '#' && s->line_start)
            directive(s);
        else if (c == '"' || c == '\'')
            skip_quoted(s);
        else if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)peek(s, 1))))
            take_number(s);
        else if (is_name(c))
            take_name(s);
        else
            take_punctuation(s);
    }
    flush_string(s);
}

/* A copy in which lines that end in a backslash are joined with the next; their newlines follow where the joined line ends, so that
 * later lines keep their numbers. */
static size_t join_lines(const char *text, size_t size, char *out)
{
    size_t n = 0, owed = 0;
    for (size_t i = 0; i < size; i++) {
        size_t next = i + 1 < size && text[i + 1] == '\r' ? i + 2 : i + 1;
        if (text[i] == '\\' && next < size && text[next] == '\n') {
            owed++;
            i = next;
            continue;
        }
        out[n++] = text[i];
        for (; text[i] == '\n' && owed > 0; owed--)
            out[n++] = '\n';
    }
    return n;
}

void source_words_add_c(struct source_words *w, const char *text, size_t size, int line)
{
    char *joined = source_words_buffer(w, size);
    if (!joined)
        return;
    size_t n = join_lines(text, size, joined);
    struct splitter s = {.w = w, .p = joined, .end = joined + n, .line = line, .line_start = true, .macro = -1};
    split(&s);
    free(s.pending);
}

int source_words_of_c(const char *text, size_t size, struct source_words *w, struct pkb_error *err)
{
    memset(w, 0, sizeof(*w));
    source_words_add_c(w, text, size, 1);
    if (!w->no_memory)
        return 0;
    source_words_clear(w);
    return pkb_error_set(err, "out of memory");
}
