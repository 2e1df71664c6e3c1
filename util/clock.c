/* SPDX-License-Identifier: Apache-2.0 */
#include "util/clock.h"

#include <time.h>

int64_t pkb_now_ns(void)
{
    struct timespec ts = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void pkb_utc_now(char *text, size_t size)
{
    time_t now = time(NULL);
    struct tm tm = {0};
    (void)gmtime_r(&now, &tm);
    if (size == 0 || strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        if (size > 0)
            text[0] = '\0';
}

int64_t pkb_utc_seconds(const char *text)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return end && !*end ? (int64_t)timegm(&tm) : -1;
}
