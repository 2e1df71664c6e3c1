/* SPDX-License-Identifier: Apache-2.0 */
/* Files: whole-file reads, atomic replacement, durable appends, folders. All descriptors are close-on-exec.
 * Errors name the path. */
#ifndef PKB_UTIL_FILE_H
#define PKB_UTIL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "util/error.h"

/* Reads a whole file. The caller frees *data; a 0 byte that *size does not count follows the contents.
 * A file larger than `limit` bytes is an error (limit 0: none). */
int pkb_file_read(const char *path, size_t limit, char **data, size_t *size, struct pkb_error *err);

/* Replaces a file at once: writes PATH.tmp.PID, fsyncs it, renames it. On failure the old file is untouched and the temporary gone. */
int pkb_file_write(const char *path, const void *data, size_t size, struct pkb_error *err);

/* Many new files at a time: writes one, not yet durable and not at once; a call of pkb_file_sync for each of them, after all are
 * written, makes them durable, which takes a fraction of the time of an fsync between any two. */
int pkb_file_put(const char *path, const void *data, size_t size, struct pkb_error *err);
int pkb_file_sync(const char *path, struct pkb_error *err);

/* Writes all bytes to a descriptor, going on after short writes and EINTR. Returns 0 or -1 with errno. */
int pkb_write_all(int fd, const void *data, size_t size);

/* mkdir -p with mode 0777 & ~umask. */
int pkb_mkdirs(const char *path, struct pkb_error *err);

/* rm -rf of a folder that we made; a path that does not exist is fine. Does not follow links. */
int pkb_remove_tree(const char *path, struct pkb_error *err);

bool pkb_file_exists(const char *path);

/* asprintf that returns NULL with the error set when memory runs out. The caller frees. */
char *pkb_format(struct pkb_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
