/* SPDX-License-Identifier: Apache-2.0 */
#include "util/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int pkb_error_set(struct pkb_error *err, const char *fmt, ...)
{
    int saved = errno;
    va_list ap;
    if (err) {
        va_start(ap, fmt);
        (void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
        va_end(ap);
    }
    errno = saved;
    return -1;
}

static void append(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);
    (void)snprintf(text + used, size - used, "%s", more);
}

int pkb_error_errno(struct pkb_error *err, const char *fmt, ...)
{
    int saved = errno;
    va_list ap;
    if (err) {
        va_start(ap, fmt);
        (void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
        va_end(ap);
        append(err->text, sizeof(err->text), ": ");
        append(err->text, sizeof(err->text), strerror(saved));
    }
    errno = saved;
    return -1;
}

int pkb_error_prefix(struct pkb_error *err, const char *fmt, ...)
{
    int saved = errno;
    va_list ap;
    if (err) {
        struct pkb_error inner = *err;
        va_start(ap, fmt);
        (void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
        va_end(ap);
        append(err->text, sizeof(err->text), ": ");
        append(err->text, sizeof(err->text), inner.text);
    }
    errno = saved;
    return -1;
}
