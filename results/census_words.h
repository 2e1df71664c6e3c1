/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a candidate's source that a compiler would see. */
#ifndef PKB_RESULTS_CENSUS_WORDS_H
#define PKB_RESULTS_CENSUS_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

enum word_kind {
    WORD_NAME,  /* an identifier or keyword */
    WORD_PTX,   /* a word of inline assembly, with its dots: "multimem.ld_reduce.relaxed.sys" */
    WORD_OTHER, /* a number, or punctuation of one character, "->", "::" */
};

struct word {
    enum word_kind kind;
    const char *text; /* not terminated */
    size_t size;
    int line;
    int macro; /* number of the macro whose body it is in; -1: none */
};

struct word_macro {
    const char *name;
    size_t size;
    bool used;
    size_t first, end; /* words of its body */
};

struct source_words {
    struct word *items;
    size_t n, capacity;
    struct word_macro *macros;
    size_t n_macros, macro_capacity;
    char **buffers; /* texts that items point into, besides the source */
    size_t n_buffers, buffer_capacity;
    bool no_memory;
};

/* Splits a source of C, C++ or CUDA, or of Python. The text must outlive the words. 0, or -1 when memory runs out. */
int source_words_of_c(const char *text, size_t size, struct source_words *w, struct pkb_error *err);
int source_words_of_python(const char *text, size_t size, struct source_words *w, struct pkb_error *err);
void source_words_clear(struct source_words *w);

/* Marks the macros that are used outside of macros, or by used ones. 0, or -1 when memory runs out. */
int source_words_mark_used(struct source_words *w, struct pkb_error *err);

/* Whether the compiler sees a word: it is in no macro, or in one that is used. */
bool word_is_live(const struct source_words *w, const struct word *word);

bool word_is(const struct word *word, const char *text);

/* ---- for the two splitters ------------------------------------------------------------------------------------------ */

void source_words_add(struct source_words *w, enum word_kind kind, const char *text, size_t size, int line, int macro);

/* Memory for a text that lives as long as the words; NULL (and no_memory) when there is none. */
char *source_words_buffer(struct source_words *w, size_t size);

/* Adds the words of a text of C that starts at a line. */
void source_words_add_c(struct source_words *w, const char *text, size_t size, int line);

/* Adds the words of PTX: of a string's content as written, with its escapes. */
void source_words_add_ptx(struct source_words *w, const char *text, size_t size, int line, int macro);

/* Inline assembly: the strings between its parentheses are PTX. */
struct asm_state {
    bool expected; /* the word asm was there, its parenthesis not yet */
    int depth;     /* of parentheses inside; 0: not in assembly */
    bool operands; /* behind the first ':', where strings are constraints */
};
void asm_name(struct asm_state *a, const char *text, size_t size);
void asm_punctuation(struct asm_state *a, char c);
bool asm_takes_string(const struct asm_state *a);

#endif
