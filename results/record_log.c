/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results/record.h"
#include "util/file.h"

#define MAX_NUMBER 1000000000

struct record_log {
    int fd;
    off_t size;  /* of the complete lines */
    bool broken; /* a failed append could not be undone */
    char *path;
};

/* ---- names ---------------------------------------------------------------------------------------------------------- */

char *record_file_name(int shard, int attempt, struct pkb_error *err)
{
    return pkb_format(err, "shard-%06d.%03d.jsonl", shard, attempt);
}

/* At least `width` digits, and no leading zero beyond that width. */
static const char *parse_number(const char *p, int width, int *out)
{
    int64_t value = 0;
    int n = 0;
    for (; isdigit((unsigned char)p[n]); n++) {
        value = value * 10 + (p[n] - '0');
        if (value >= MAX_NUMBER)
            return NULL;
    }
    if (n < width || (n > width && *p == '0'))
        return NULL;
    *out = (int)value;
    return p + n;
}

bool record_file_parse(const char *name, int *shard, int *attempt)
{
    if (strncmp(name, "shard-", 6) != 0)
        return false;
    const char *p = parse_number(name + 6, 6, shard);
    if (!p || *p != '.')
        return false;
    p = parse_number(p + 1, 3, attempt);
    return p && *attempt > 0 && strcmp(p, ".jsonl") == 0;
}

static int largest_attempt(DIR *dir, int shard)
{
    int largest = 0;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        int s, a;
        if (record_file_parse(e->d_name, &s, &a) && s == shard && a > largest)
            largest = a;
    }
    return largest;
}

int record_next_attempt(const char *run, int shard, int *attempt, struct pkb_error *err)
{
    char *path = pkb_format(err, "%s/records", run);
    if (!path)
        return -1;
    DIR *dir = opendir(path);
    int rc = 0;
    if (dir)
        *attempt = largest_attempt(dir, shard) + 1;
    else if (errno == ENOENT && pkb_file_exists(run))
        *attempt = 1;
    else
        rc = pkb_error_errno(err, "%s", path);
    if (dir)
        (void)closedir(dir);
    free(path);
    return rc;
}

/* ---- the file ------------------------------------------------------------------------------------------------------- */

/* Makes the file's name durable, so that a fsynced line cannot vanish with its file. */
static int sync_folder(const char *folder, struct pkb_error *err)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return pkb_error_errno(err, "%s", folder);
    /* Some filesystems cannot sync folders (EINVAL): they order names themselves. */
    int rc = fsync(fd) < 0 && errno != EINVAL ? pkb_error_errno(err, "%s", folder) : 0;
    (void)close(fd);
    return rc;
}

static int open_new(struct record_log *log, const char *folder, struct pkb_error *err)
{
    if (mkdir(folder, 0777) < 0 && errno != EEXIST)
        return pkb_error_errno(err, "%s", folder);
    log->fd = open(log->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (log->fd < 0 && errno == EEXIST)
        return pkb_error_set(err, "%s: exists already: another agent has taken this attempt of the shard", log->path);
    if (log->fd < 0)
        return pkb_error_errno(err, "%s", log->path);
    return sync_folder(folder, err);
}

struct record_log *record_log_create(const char *run, int shard, int attempt, struct pkb_error *err)
{
    if (shard < 0 || attempt < 1) {
        pkb_error_set(err, "shard %d, attempt %d: no such file of records", shard, attempt);
        return NULL;
    }
    struct record_log *log = calloc(1, sizeof(*log));
    char *folder = pkb_format(err, "%s/records", run);
    char *name = record_file_name(shard, attempt, err);
    int rc = -1;
    if (!log)
        pkb_error_set(err, "out of memory");
    else
        log->fd = -1;
    if (log && folder && name)
        log->path = pkb_format(err, "%s/%s", folder, name);
    if (log && log->path)
        rc = open_new(log, folder, err);
    free(folder);
    free(name);
    if (rc == 0)
        return log;
    record_log_close(log);
    return NULL;
}

/* Back to the last complete line. The error that brought us here is set already. */
static int undo(struct record_log *log, struct pkb_error *err)
{
    if (ftruncate(log->fd, log->size) < 0) {
        log->broken = true;
        pkb_error_prefix(err, "a torn line cannot be removed (%s)", strerror(errno));
    }
    return -1;
}

static int append(struct record_log *log, const char *line, size_t size, struct pkb_error *err)
{
    if (size > RECORD_MAX_LINE)
        return pkb_error_set(err, "%s: a record of %zu bytes is longer than %d", log->path, size, RECORD_MAX_LINE);
    if (log->broken)
        return pkb_error_set(err, "%s: ends in a torn line since an earlier failure", log->path);
    if (pkb_write_all(log->fd, line, size) < 0 || fsync(log->fd) < 0) {
        pkb_error_errno(err, "%s: cannot append a record", log->path);
        return undo(log, err);
    }
    log->size += (off_t)size;
    return 0;
}

int record_log_append(struct record_log *log, const json_t *value, struct pkb_error *err)
{
    char *line = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(15));
    if (!line)
        return pkb_error_set(err, "%s: a record cannot be encoded as JSON", log->path);
    size_t size = strlen(line);
    line[size] = '\n'; /* in the place of the final 0 */
    int rc = append(log, line, size + 1, err);
    free(line);
    return rc;
}

void record_log_close(struct record_log *log)
{
    if (!log)
        return;
    int saved = errno;
    if (log->fd >= 0)
        (void)close(log->fd);
    free(log->path);
    free(log);
    errno = saved;
}
