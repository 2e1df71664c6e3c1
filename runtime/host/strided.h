/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PKB_RUNTIME_HOST_STRIDED_H
#define PKB_RUNTIME_HOST_STRIDED_H

#include <stddef.h>
#include <stdint.h>

/* n elements of `size` bytes (1, 2, 4, 8), `stride` bytes apart in the source, side by side. */
void gather_strided(char *dst, const char *src, size_t n, int64_t stride, size_t size);

#endif
