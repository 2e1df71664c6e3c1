/* SPDX-License-Identifier: Apache-2.0 */
/* A growing list of words: the arguments of a command. */
#ifndef PKB_UTIL_WORDS_H
#define PKB_UTIL_WORDS_H

#include <stddef.h>

#include "util/error.h"

struct words {
    char **list; /* n words, then a NULL; NULL while there is none */
    size_t n;
};

#define WORDS_NONE ((struct words){0})

/* Appends one word. -1 when memory runs out. */
int words_add(struct words *w, struct pkb_error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* For exec; borrowed. NULL while there is no word. */
const char *const *words_argv(const struct words *w);

void words_clear(struct words *w);

#endif
