/* SPDX-License-Identifier: Apache-2.0 */
/* Time as 64-bit nanoseconds. */
#ifndef PKB_UTIL_CLOCK_H
#define PKB_UTIL_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* Monotonic time (CLOCK_MONOTONIC) in nanoseconds; the same clock in every process of a node. */
int64_t pkb_now_ns(void);

/* Now in UTC as "2026-01-31T23:59:59Z". `size` must be at least 21. */
void pkb_utc_now(char *text, size_t size);

/* The seconds since 1970 of such a text; -1 when it is none. */
int64_t pkb_utc_seconds(const char *text);

#endif
