/* SPDX-License-Identifier: Apache-2.0 */
/* From a SHA-256 digest to the number (0, 1, ...) under which it was added. About 45 bytes per entry. */
#ifndef PKB_RESULTS_DIGEST_INDEX_H
#define PKB_RESULTS_DIGEST_INDEX_H

#include <stdint.h>

#include "util/digest.h"

#define DIGEST_INDEX_NONE UINT32_MAX

struct digest_index;

/* Room for n entries (below 2^31). */
struct digest_index *digest_index_create(size_t n, struct pkb_error *err);
void digest_index_destroy(struct digest_index *x);

/* Adds the next entry. The same digest may come again. -1: not hexadecimal, or no room. */
int digest_index_add(struct digest_index *x, const char hex[PKB_DIGEST_HEX], struct pkb_error *err);

/* The first entry with that digest, and the one with the same digest after it; DIGEST_INDEX_NONE where there is none. */
uint32_t digest_index_find(const struct digest_index *x, const char *hex);
uint32_t digest_index_next(const struct digest_index *x, uint32_t entry);

/* The digest of an entry. */
void digest_index_hex(const struct digest_index *x, uint32_t entry, char hex[PKB_DIGEST_HEX]);

#endif
