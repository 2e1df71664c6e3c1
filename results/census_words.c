/* SPDX-License-Identifier: Apache-2.0 */
/* What the splitters of C and Python share. */
#include "results/census_words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void words_add(struct words *w, enum word_kind kind, const char *text, size_t size, int line, int macro)
{
    if (w->no_memory)
        return;
    if (w->n == w->capacity) {
        size_t capacity = w->capacity ? 2 * w->capacity : 1024;
        struct word *items = realloc(w->items, capacity * sizeof(*items));
        if (!items) {
            w->no_memory = true;
            return;
        }
        w->items = items;
        w->capacity = capacity;
    }
    w->items[w->n++] = (struct word){kind, text, size, line, macro};
}

char *words_buffer(struct words *w, size_t size)
{
    char *buffer = malloc(size + 1);
    char **buffers = realloc(w->buffers, (w->n_buffers + 1) * sizeof(*buffers));
    w->buffers = buffers ? buffers : w->buffers;
    if (!buffer || !buffers) {
        free(buffer);
        w->no_memory = true;
        return NULL;
    }
    w->buffers[w->n_buffers++] = buffer;
    return buffer;
}

void words_clear(struct words *w)
{
    for (size_t i = 0; i < w->n_buffers; i++)
        free(w->buffers[i]);
    free(w->buffers);
    free(w->items);
    free(w->macros);
    memset(w, 0, sizeof(*w));
}

bool word_is(const struct word *word, const char *text)
{
    return strlen(text) == word->size && memcmp(word->text, text, word->size) == 0;
}

/* ---- macros -------------------------------------------------------------------------------------------------------- */

bool word_is_live(const struct words *w, const struct word *word)
{
    return word->macro < 0 || w->macros[word->macro].used;
}

static bool mark_once(struct words *w)
{
    bool changed = false;
    for (size_t i = 0; i < w->n; i++) {
        const struct word *word = &w->items[i];
        if (word->kind != WORD_NAME || !word_is_live(w, word))
            continue;
        for (size_t m = 0; m < w->n_macros; m++) {
            struct word_macro *macro = &w->macros[m];
            if (!macro->used && macro->size == word->size && memcmp(macro->name, word->text, word->size) == 0)
                macro->used = changed = true;
        }
    }
    return changed;
}

void words_mark_used(struct words *w)
{
    while (w->n_macros > 0 && mark_once(w))
        continue;
}

/* ---- inline assembly ------------------------------------------------------------------------------------------------ */

void asm_name(struct asm_state *a, const char *text, size_t size)
{
    static const char *const names[] = {"asm", "__asm__", "__asm", "inline_asm_elementwise"};
    static const char *const between[] = {"volatile", "__volatile__", "goto", "inline"};
    if (a->depth > 0)
        return;
    for (size_t i = 0; i < 4; i++)
        if (a->expected && strlen(between[i]) == size && memcmp(between[i], text, size) == 0)
            return;
    a->expected = false;
    for (size_t i = 0; i < 4; i++)
        if (strlen(names[i]) == size && memcmp(names[i], text, size) == 0)
            a->expected = true;
}

void asm_punctuation(struct asm_state *a, char c)
{
    if (a->depth == 0) {
        a->depth = a->expected && c == '(';
        a->expected = false;
        a->operands = false;
    } else if (c == '(') {
        a->depth++;
    } else if (c == ')') {
        a->depth--;
    } else if (c == ':' && a->depth == 1) {
        a->operands = true;
    }
}

bool asm_takes_string(const struct asm_state *a)
{
    return a->depth > 0 && !a->operands;
}

/* ---- PTX ----------------------------------------------------------------------------------------------------------- */

static bool is_ptx(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == ':' || c == '%' || c == '$';
}

/* Skips a comment at p; NULL: there is none. */
static const char *skip_ptx_comment(const char *p, const char *end)
{
    if (end - p < 2 || p[0] != '/' || (p[1] != '/' && p[1] != '*'))
        return NULL;
    bool line = p[1] == '/';
    for (p += 2; p < end; p++) {
        if (line && *p == '\n')
            return p;
        if (!line && end - p >= 2 && p[0] == '*' && p[1] == '/')
            return p + 2;
    }
    return end;
}

/* The string as the assembler sees it, as far as it matters: escapes become blanks, \n a newline. */
static size_t unescape(const char *text, size_t size, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '\\' || i + 1 == size) {
            out[n++] = text[i];
            continue;
        }
        i++;
        out[n++] = text[i] == 'n' ? '\n' : ' ';
    }
    return n;
}

void words_add_ptx(struct words *w, const char *text, size_t size, int line, int macro)
{
    char *buffer = words_buffer(w, size);
    if (!buffer)
        return;
    const char *end = buffer + unescape(text, size, buffer);
    for (const char *p = buffer; p < end;) {
        const char *behind = skip_ptx_comment(p, end);
        if (behind) {
            p = behind;
        } else if (is_ptx(*p)) {
            const char *start = p;
            while (p < end && is_ptx(*p))
                p++;
            words_add(w, WORD_PTX, start, (size_t)(p - start), line, macro);
        } else {
            p++;
        }
    }
}
