/* SPDX-License-Identifier: Apache-2.0 */
/* Where messages lie in a staging buffer. */
#ifndef PKB_RUNTIME_CUDA_STAGING_H
#define PKB_RUNTIME_CUDA_STAGING_H

#include <stddef.h>

#include "util/error.h"

/* offsets[i] for pieces of sizes[i] bytes, one after another and aligned to STAGING_ALIGNMENT; *total is what all need. -1 with the
 * error set when that is no size. */
#define STAGING_ALIGNMENT ((size_t)256)
int staging_lay_out(const size_t *sizes, size_t n, size_t *offsets, size_t *total, struct pkb_error *err);

#endif
