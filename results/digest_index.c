/* SPDX-License-Identifier: Apache-2.0 */
#include "results/digest_index.h"

#include <stdlib.h>
#include <string.h>

struct digest_index {
    size_t capacity, used, mask;
    uint8_t (*digests)[PKB_DIGEST_BYTES];
    uint32_t *slots; /* first entry with a digest; open addressing, at most half full */
    uint32_t *next;  /* per entry */
    uint32_t *last;  /* per first entry: the end of its chain */
};

struct digest_index *digest_index_create(size_t n, struct pkb_error *err)
{
    size_t slots = 16;
    while (slots < 2 * n)
        slots *= 2;
    struct digest_index *x = calloc(1, sizeof(*x));
    if (x && n < UINT32_MAX / 2) {
        x->capacity = n;
        x->mask = slots - 1;
        x->digests = calloc(n + 1, sizeof(*x->digests));
        x->slots = malloc(slots * sizeof(*x->slots));
        x->next = calloc(n + 1, sizeof(*x->next));
        x->last = calloc(n + 1, sizeof(*x->last));
    }
    if (!x || !x->digests || !x->slots || !x->next || !x->last) {
        pkb_error_set(err, "out of memory for an index of %zu digests", n);
        digest_index_destroy(x);
        return NULL;
    }
    memset(x->slots, 0xff, slots * sizeof(*x->slots));
    return x;
}

void digest_index_destroy(struct digest_index *x)
{
    if (!x)
        return;
    free(x->digests);
    free(x->slots);
    free(x->next);
    free(x->last);
    free(x);
}

/* Value + 1 of a digit, 0 for what is none. A table: this runs 64 times per record. */
static const uint8_t digits[256] = {
    ['0'] = 1, ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

static int parse(const char *hex, uint8_t out[PKB_DIGEST_BYTES])
{
    const uint8_t *p = (const uint8_t *)hex;
    for (int i = 0; i < PKB_DIGEST_BYTES; i++, p += 2) {
        int high = digits[p[0]];
        int low = high ? digits[p[1]] : 0; /* the text may end after p[0] */
        if (!low)
            return -1;
        out[i] = (uint8_t)((high - 1) << 4 | (low - 1));
    }
    return 0;
}

/* The slot that holds the digest, or the empty one where it belongs. A digest's own bits are as good as any hash. */
static uint32_t *slot_of(const struct digest_index *x, const uint8_t digest[PKB_DIGEST_BYTES])
{
    uint64_t hash;
    memcpy(&hash, digest, sizeof(hash));
    size_t i = (size_t)hash & x->mask;
    while (x->slots[i] != DIGEST_INDEX_NONE && memcmp(x->digests[x->slots[i]], digest, PKB_DIGEST_BYTES) != 0)
        i = (i + 1) & x->mask;
    return &x->slots[i];
}

int digest_index_add(struct digest_index *x, const char hex[PKB_DIGEST_HEX], struct pkb_error *err)
{
    if (x->used == x->capacity)
        return pkb_error_set(err, "more digests than the index was made for (%zu)", x->capacity);
    uint32_t entry = (uint32_t)x->used;
    if (parse(hex, x->digests[entry]) < 0)
        return pkb_error_set(err, "\"%s\" is not a digest", hex);
    uint32_t *slot = slot_of(x, x->digests[entry]);
    if (*slot == DIGEST_INDEX_NONE)
        *slot = entry;
    else
        x->next[x->last[*slot]] = entry;
    x->next[entry] = DIGEST_INDEX_NONE;
    x->last[*slot] = entry;
    x->used++;
    return 0;
}

uint32_t digest_index_find(const struct digest_index *x, const char *hex)
{
    uint8_t digest[PKB_DIGEST_BYTES];
    return parse(hex, digest) < 0 ? DIGEST_INDEX_NONE : *slot_of(x, digest);
}

uint32_t digest_index_next(const struct digest_index *x, uint32_t entry)
{
    return x->next[entry];
}

void digest_index_hex(const struct digest_index *x, uint32_t entry, char hex[PKB_DIGEST_HEX])
{
    pkb_digest_hex(x->digests[entry], hex);
}
