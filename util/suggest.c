/* SPDX-License-Identifier: Apache-2.0 */
#include "util/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Longer words are not compared: no key of ours comes near. */
#define MAX_WORD 64

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Insertions, deletions, replacements and swaps of neighbours, a row of the table (one per character of a) at a time. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][MAX_WORD + 1];
    size_t n = strlen(b), m = strlen(a);
    for (size_t j = 0; j <= n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + !same(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]) && second[j - 2] + 1 < row[j])
                row[j] = second[j - 2] + 1;
        }
    }
    return rows[m % 3][n];
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
