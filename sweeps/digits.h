/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a fixed width, zeros in front. */
#ifndef PKB_SWEEPS_DIGITS_H
#define PKB_SWEEPS_DIGITS_H

#include <stdbool.h>
#include <stdint.h>

/* Writes the last `width` decimal digits of a number. */
static inline void digits_format(uint64_t value, int width, char *text)
{
    for (int i = width - 1; i >= 0; i--) {
        text[i] = (char)('0' + value % 10);
        value /= 10;
    }
}

/* Reads `width` digits (19 at most); false when one is none. */
static inline bool digits_parse(const char *text, int width, uint64_t *value)
{
    uint64_t n = 0;
    for (int i = 0; i < width; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(text[i] - '0');
    }
    *value = n;
    return true;
}

#endif
