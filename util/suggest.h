/* SPDX-License-Identifier: Apache-2.0 */
/* "did you mean": the known word nearest to an unknown one. */
#ifndef PKB_UTIL_SUGGEST_H
#define PKB_UTIL_SUGGEST_H

#include <stddef.h>

/* The entry of `words` (n of them) with the smallest edit distance to `word`, or NULL when none is near enough to be meant
 * (distance, in which swapped neighbours count once, above a third of the longer length, and at least 1). Case is ignored. */
const char *pkb_suggest(const char *word, const char *const *words, size_t n);

#endif
