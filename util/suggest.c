/* SPDX-License-Identifier: Apache-2.0 */
#include "util/suggest.h"

#include <ctype.h>
#include <string.h>

/* Longer words are not compared: no key of ours comes near. */
#define MAX_WORD 64

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Levenshtein distance, one row of the table at a time. */
static size_t distance(const char *a, const char *b)
{
    size_t row[MAX_WORD + 1];
    size_t n = strlen(b);
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t above = row[j];
            size_t same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]) ? 0 : 1;
            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + same);
            diagonal = above;
        }
    }
    return row[n];
}

const char *pkb_suggest(const char *word, const char *const *words, size_t n)
{
    const char *best = NULL;
    size_t best_distance = 0;
    size_t length = strlen(word);
    if (length > MAX_WORD)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        size_t other = strlen(words[i]);
        if (other > MAX_WORD)
            continue;
        size_t longest = length > other ? length : other;
        size_t limit = longest / 3 > 1 ? longest / 3 : 1;
        size_t d = distance(word, words[i]);
        if (d <= limit && (!best || d < best_distance)) {
            best = words[i];
            best_distance = d;
        }
    }
    return best;
}
