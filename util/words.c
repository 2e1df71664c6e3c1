/* SPDX-License-Identifier: Apache-2.0 */
#include "util/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int words_add(struct words *w, struct pkb_error *err, const char *fmt, ...)
{
    va_list args;
    char *word = NULL;
    char **list = realloc(w->list, (w->n + 2) * sizeof(*list));
    if (!list)
        return pkb_error_set(err, "out of memory");
    w->list = list;
    va_start(args, fmt);
    int n = vasprintf(&word, fmt, args);
    va_end(args);
    list[w->n] = n < 0 ? NULL : word;
    if (n < 0)
        return pkb_error_set(err, "out of memory");
    list[++w->n] = NULL;
    return 0;
}

const char *const *words_argv(const struct words *w)
{
    return (const char *const *)w->list;
}

void words_clear(struct words *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->list[i]);
    free(w->list);
    *w = WORDS_NONE;
}
