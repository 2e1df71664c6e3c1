/* SPDX-License-Identifier: Apache-2.0 */
#include "topology/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int open_below(const char *root, const char *path, int flags)
{
    char full[PATH_MAX];
    int n = snprintf(full, sizeof(full), "%s/%s", root, path);
    return n > 0 && (size_t)n < sizeof(full) ? open(full, flags | O_CLOEXEC | O_NONBLOCK) : -1;
}

bool sysfs_text(const char *root, const char *path, char *text, size_t size)
{
    int fd = open_below(root, path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return text[0] != '\0';
}

long sysfs_number(const char *root, const char *path, long fallback)
{
    char text[SYSFS_TEXT], *end;
    if (!sysfs_text(root, path, text, sizeof(text)))
        return fallback;
    errno = 0;
    long value = strtol(text, &end, 0);
    return end == text || errno != 0 ? fallback : value;
}

static int visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

void sysfs_each(const char *root, const char *path, sysfs_visit_fn *visit, void *arg)
{
    struct dirent **entries = NULL;
    int fd = open_below(root, path, O_RDONLY | O_DIRECTORY);
    int n = fd < 0 ? -1 : scandirat(fd, ".", &entries, visible, alphasort);
    for (int i = 0; i < n; i++) {
        visit(arg, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (fd >= 0)
        (void)close(fd);
}

int sysfs_list(const char *text, int limit, sysfs_number_fn *visit, void *arg)
{
    int n = 0;
    while (*text >= '0' && *text <= '9') {
        char *end;
        long first = strtol(text, &end, 10), last = first;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        for (long i = first; i <= last && i <= INT_MAX && n < limit; i++, n++)
            visit(arg, (int)i);
        text = *end == ',' ? end + 1 : "";
    }
    return n;
}
