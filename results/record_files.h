/* SPDX-License-Identifier: Apache-2.0 */
/* The files of RUN/records/, in the order in which they count. */
#ifndef PKB_RESULTS_RECORD_FILES_H
#define PKB_RESULTS_RECORD_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct record_file {
    char *name;         /* without the folder */
    int shard, attempt; /* attempt 0: the name is not one of a file of records */
    int64_t bytes;      /* -1: cannot be examined */
};

struct record_files {
    struct record_file *files; /* by attempt, shard, name */
    size_t n;
};

/* Lists them. Names that start with a dot are left out; a missing folder gives an empty list. */
int record_files_list(const char *run, struct record_files *list, struct pkb_error *err);
void record_files_destroy(struct record_files *list);

#endif
