/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/staging.h"

#include <stdint.h>

int staging_lay_out(const size_t *sizes, size_t n, size_t *offsets, size_t *total, struct pkb_error *err)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (sizes[i] > SIZE_MAX / 2 || at > SIZE_MAX / 2 - sizes[i])
            return pkb_error_set(err, "%zu messages are too large for one buffer", n);
        offsets[i] = at;
        at += (sizes[i] + STAGING_ALIGNMENT - 1) / STAGING_ALIGNMENT * STAGING_ALIGNMENT;
    }
    *total = at;
    return 0;
}
