/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds the work of a Lua pattern: matching backtracks inside one library call, where no instruction limit can see it. */
#ifndef PKB_SWEEPS_PATTERN_H
#define PKB_SWEEPS_PATTERN_H

#include <stddef.h>

/* At most this much work, in units of a VM instruction, is done to search a subject of n bytes for the pattern (or, plainly,
 * for its text). May be infinite. */
double sweep_pattern_work(const char *pattern, size_t size, size_t n);

#endif
