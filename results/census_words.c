/* SPDX-License-Identifier: Apache-2.0 */
/* What the splitters of C and Python share. */
#include "results/census_words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void source_words_add(struct source_words *w, enum word_kind kind, const char *text, size_t size, int line, int macro)
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

static int more_buffers(struct source_words *w)
{
    size_t capacity = w->buffer_capacity ? 2 * w->buffer_capacity : 16;
    char **buffers = realloc(w->buffers, capacity * sizeof(*buffers));
    if (!buffers)
        return -1;
    w->buffers = buffers;
    w->buffer_capacity = capacity;
    return 0;
}

char *source_words_buffer(struct source_words *w, size_t size)
{
    bool room = w->n_buffers < w->buffer_capacity || more_buffers(w) == 0;
    char *buffer = room ? malloc(size + 1) : NULL;
    if (buffer)
        w->buffers[w->n_buffers++] = buffer;
    else
        w->no_memory = true;
    return buffer;
}

void source_words_clear(struct source_words *w)
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

bool word_is_live(const struct source_words *w, const struct word *word)
{
    return word->macro < 0 || w->macros[word->macro].used;
}

static int compare_macros(const void *a, const void *b, void *arg)
{
    const struct word_macro *macros = arg;
    const struct word_macro *x = &macros[*(const size_t *)a], *y = &macros[*(const size_t *)b];
    int order = memcmp(x->name, y->name, x->size < y->size ? x->size : y->size);
    return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

/* Macros by name, and a list of those that were found used but not yet looked into. */
struct marking {
    struct source_words *w;
    size_t *order, *open, n_open;
};

static int compare_word(const struct word *word, const struct word_macro *m)
{
    int order = memcmp(word->text, m->name, word->size < m->size ? word->size : m->size);
    return order != 0 ? order : (word->size > m->size) - (word->size < m->size);
}

/* Marks all macros of that name: there may be one for each branch of a conditional. */
static void mark_name(struct marking *k, const struct word *word)
{
    size_t low = 0, high = k->w->n_macros;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_word(word, &k->w->macros[k->order[middle]]) > 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < k->w->n_macros && compare_word(word, &k->w->macros[k->order[low]]) == 0; low++) {
        struct word_macro *m = &k->w->macros[k->order[low]];
        if (!m->used)
            k->open[k->n_open++] = k->order[low];
        m->used = true;
    }
}

static void mark_range(struct marking *k, size_t first, size_t end, int macro)
{
    for (size_t i = first; i < end; i++)
        if (k->w->items[i].kind == WORD_NAME && k->w->items[i].macro == macro)
            mark_name(k, &k->w->items[i]);
}

/* Where each macro's words are: they follow each other. */
static void find_bodies(struct source_words *w)
{
    for (size_t i = 0; i < w->n; i++) {
        if (w->items[i].macro < 0)
            continue;
        struct word_macro *m = &w->macros[w->items[i].macro];
        m->first = m->end == 0 ? i : m->first;
        m->end = i + 1;
    }
}

int source_words_mark_used(struct source_words *w, struct pkb_error *err)
{
    if (w->n_macros == 0)
        return 0;
    struct marking k = {w, malloc(w->n_macros * sizeof(size_t)), malloc(w->n_macros * sizeof(size_t)), 0};
    if (k.order && k.open) {
        for (size_t i = 0; i < w->n_macros; i++)
            k.order[i] = i;
        qsort_r(k.order, w->n_macros, sizeof(*k.order), compare_macros, w->macros);
        find_bodies(w);
        mark_range(&k, 0, w->n, -1);
        while (k.n_open > 0) {
            size_t m = k.open[--k.n_open];
            mark_range(&k, w->macros[m].first, w->macros[m].end, (int)m);
        }
    }
    int rc = k.order && k.open ? 0 : pkb_error_set(err, "out of memory");
    free(k.order);
    free(k.open);
    return rc;
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

void source_words_add_ptx(struct source_words *w, const char *text, size_t size, int line, int macro)
{
    char *buffer = source_words_buffer(w, size);
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
            source_words_add(w, WORD_PTX, start, (size_t)(p - start), line, macro);
        } else {
            p++;
        }
    }
}
