/* SPDX-License-Identifier: Apache-2.0 */
#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool pkb_file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

char *pkb_format(struct pkb_error *err, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n >= 0)
        return text;
    pkb_error_set(err, "out of memory");
    return NULL;
}

static int read_fd(int fd, char *data, size_t size, size_t *got)
{
    *got = 0;
    while (*got < size) {
        ssize_t n = read(fd, data + *got, size - *got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return 0;
}

static int read_open_file(int fd, const char *path, size_t limit, char **data, size_t *size, struct pkb_error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return pkb_error_errno(err, "%s", path);
    if (!S_ISREG(st.st_mode))
        return pkb_error_set(err, "%s: not a regular file", path);
    size_t length = (size_t)st.st_size;
    if (limit && length > limit)
        return pkb_error_set(err, "%s: %zu bytes, more than the limit of %zu", path, length, limit);
    char *text = malloc(length + 1);
    if (!text)
        return pkb_error_errno(err, "%s: %zu bytes", path, length);
    if (read_fd(fd, text, length, size) < 0) {
        pkb_error_errno(err, "%s", path);
        free(text);
        return -1;
    }
    text[*size] = '\0';
    *data = text;
    return 0;
}

int pkb_file_read(const char *path, size_t limit, char **data, size_t *size, struct pkb_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return pkb_error_errno(err, "%s", path);
    int rc = read_open_file(fd, path, limit, data, size, err);
    (void)close(fd);
    return rc;
}

int pkb_write_all(int fd, const void *data, size_t size)
{
    const char *p = data;
    while (size > 0) {
        ssize_t n = write(fd, p, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Writes what there is to write, fsyncs where that is wanted, closes. */
static int put(const char *path, int flags, const void *data, size_t size, bool sync, struct pkb_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0666);
    if (fd < 0)
        return pkb_error_errno(err, "%s", path);
    int rc = 0;
    if (pkb_write_all(fd, data, size) < 0 || (sync && fsync(fd) < 0))
        rc = pkb_error_errno(err, "%s", path);
    if (close(fd) < 0 && rc == 0)
        rc = pkb_error_errno(err, "%s", path);
    return rc;
}

int pkb_file_put(const char *path, const void *data, size_t size, struct pkb_error *err)
{
    return put(path, O_CREAT | O_TRUNC, data, size, false, err);
}

int pkb_file_sync(const char *path, struct pkb_error *err)
{
    return put(path, 0, NULL, 0, true, err);
}

int pkb_file_write(const char *path, const void *data, size_t size, struct pkb_error *err)
{
    char *temp = pkb_format(err, "%s.tmp.%d", path, (int)getpid());
    if (!temp)
        return -1;
    int rc = put(temp, O_CREAT | O_TRUNC, data, size, true, err);
    if (rc == 0 && rename(temp, path) < 0)
        rc = pkb_error_errno(err, "%s", path);
    if (rc < 0)
        (void)unlink(temp);
    free(temp);
    return rc;
}

int pkb_mkdirs(const char *path, struct pkb_error *err)
{
    char *copy = strdup(path);
    if (!copy)
        return pkb_error_errno(err, "%s", path);
    int rc = 0;
    for (char *p = copy + 1; rc == 0; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char end = *p;
        *p = '\0';
        if (mkdir(copy, 0777) < 0 && errno != EEXIST)
            rc = pkb_error_errno(err, "%s", copy);
        *p = end;
        if (end == '\0')
            break;
    }
    free(copy);
    struct stat st;
    if (rc == 0 && (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
        rc = pkb_error_set(err, "%s: not a directory", path);
    return rc;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int pkb_remove_tree(const char *path, struct pkb_error *err)
{
    if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT)
        return 0;
    return pkb_error_errno(err, "%s", path);
}
