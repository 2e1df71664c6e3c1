/* SPDX-License-Identifier: Apache-2.0 */
#include "results/record_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "results/record.h"
#include "util/file.h"

static int by_attempt(const void *a, const void *b)
{
    const struct record_file *x = a, *y = b;
    if (x->attempt != y->attempt)
        return x->attempt < y->attempt ? -1 : 1;
    if (x->shard != y->shard)
        return x->shard < y->shard ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int add(struct record_files *list, size_t *capacity, DIR *dir, const char *name, struct pkb_error *err)
{
    if (list->n == *capacity) {
        size_t larger = *capacity ? 2 * *capacity : 64;
        struct record_file *files = reallocarray(list->files, larger, sizeof(*files));
        if (!files)
            return pkb_error_set(err, "out of memory for %zu names", larger);
        list->files = files;
        *capacity = larger;
    }
    struct record_file *f = &list->files[list->n];
    struct stat st;
    *f = (struct record_file){.name = strdup(name), .bytes = -1};
    if (!f->name)
        return pkb_error_set(err, "out of memory");
    if (!record_file_parse(name, &f->shard, &f->attempt) || f->shard > RECORD_MAX_SHARD || f->attempt > RECORD_MAX_ATTEMPT)
        f->shard = f->attempt = 0;
    if (fstatat(dirfd(dir), name, &st, 0) == 0 && S_ISREG(st.st_mode))
        f->bytes = st.st_size;
    list->n++;
    return 0;
}

/* Files of records by attempt and shard; others, which stand before them, by their place. */
static void number_files(struct record_files *list)
{
    for (size_t i = 0; i < list->n; i++) {
        struct record_file *f = &list->files[i];
        f->key = f->attempt > 0 ? (int64_t)f->attempt << RECORD_KEY_SHARD_BITS | f->shard : (int64_t)i + 1;
    }
}

static int list_folder(DIR *dir, struct record_files *list, struct pkb_error *err)
{
    size_t capacity = 0;
    errno = 0;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        if (e->d_name[0] != '.' && add(list, &capacity, dir, e->d_name, err) < 0)
            return -1;
        errno = 0;
    }
    if (errno)
        return pkb_error_errno(err, "cannot list");
    if (list->n > 0)
        qsort(list->files, list->n, sizeof(*list->files), by_attempt);
    number_files(list);
    return 0;
}

int record_files_list(const char *run, struct record_files *list, struct pkb_error *err)
{
    memset(list, 0, sizeof(*list));
    char *path = pkb_format(err, "%s/records", run);
    if (!path)
        return -1;
    DIR *dir = opendir(path);
    int rc = 0;
    if (dir)
        rc = list_folder(dir, list, err) < 0 ? pkb_error_prefix(err, "%s", path) : 0;
    else if (errno != ENOENT)
        rc = pkb_error_errno(err, "%s", path);
    if (dir)
        (void)closedir(dir);
    free(path);
    if (rc < 0)
        record_files_destroy(list);
    return rc;
}

void record_files_destroy(struct record_files *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->n; i++)
        free(list->files[i].name);
    free(list->files);
    memset(list, 0, sizeof(*list));
}

int record_files_scan(const char *run, record_scan_fn *visit, void *arg, struct pkb_error *err)
{
    struct record_files list;
    int rc = record_files_list(run, &list, err);
    for (size_t i = 0; i < list.n && rc == 0; i++) {
        if (list.files[i].attempt == 0)
            continue;
        char *path = pkb_format(err, "%s/records/%s", run, list.files[i].name);
        rc = path ? record_file_scan(path, visit, arg, NULL, err) : -1;
        free(path);
    }
    record_files_destroy(&list);
    return rc;
}
