/* SPDX-License-Identifier: Apache-2.0 */
/* The files of RUN/records/, in the order in which they count. */
#ifndef PKB_RESULTS_RECORD_FILES_H
#define PKB_RESULTS_RECORD_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "results/record_scan.h"
#include "util/error.h"

struct record_file {
    char *name;         /* without the folder */
    int shard, attempt; /* attempt 0: the name is not one of a file of records */
    int64_t bytes;      /* -1: cannot be examined */
    int64_t key;        /* orders files as they count; unique in a list */
};

/* What follows from a file's name and a line's number alone, so that identifiers of records never depend on when they were merged:
 * they sort as records count. Attempts up to 16383, shards up to 2097151; files beyond are no files of records. */
#define RECORD_KEY_SHARD_BITS 21
#define RECORD_KEY_LINE_BITS 28
#define RECORD_MAX_ATTEMPT 16383
#define RECORD_MAX_SHARD ((1 << RECORD_KEY_SHARD_BITS) - 1)
#define RECORD_MAX_LINES ((INT64_C(1) << RECORD_KEY_LINE_BITS) - 1)

static inline int64_t record_line_key(const struct record_file *file, int64_t line)
{
    return file->key << RECORD_KEY_LINE_BITS | line;
}

struct record_files {
    struct record_file *files; /* by attempt, shard, name */
    size_t n;
};

/* Lists them. Names that start with a dot are left out; a missing folder gives an empty list. */
int record_files_list(const char *run, struct record_files *list, struct pkb_error *err);
void record_files_destroy(struct record_files *list);

/* Calls `visit` for every line of every file of records, in the order in which they count. Stops when it returns non-zero and
 * returns that; -1 with the error set when a file cannot be read. */
int record_files_scan(const char *run, record_scan_fn *visit, void *arg, struct pkb_error *err);

#endif
