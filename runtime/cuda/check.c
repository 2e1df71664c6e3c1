/* SPDX-License-Identifier: Apache-2.0 */
/* Errors that say which call failed, on which rank and GPU. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/cuda/device.h"

int cuda_error(const struct rt_device *dev, struct pkb_error *err, const char *fmt, ...)
{
    char text[sizeof(err->text)];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return pkb_error_set(err, "%s (rank %d, GPU %d)", text, dev->options->rank, dev->ordinal);
}

int cuda_check(const struct rt_device *dev, cudaError_t status, const char *call, struct pkb_error *err)
{
    if (status == cudaSuccess)
        return 0;
    (void)cudaGetLastError(); /* an error that does not stay must not be found by the next call */
    return cuda_error(dev, err, "%.*s: %s: %s", (int)strcspn(call, "("), call, cudaGetErrorName(status),
                      cudaGetErrorString(status));
}
