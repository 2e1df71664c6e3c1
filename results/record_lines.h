/* SPDX-License-Identifier: Apache-2.0 */
/* A file line by line, with bounded memory however long its lines are. */
#ifndef PKB_RESULTS_RECORD_LINES_H
#define PKB_RESULTS_RECORD_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct record_line {
    int64_t number; /* from 1 */
    int64_t offset; /* of its first byte */
    const char *text;
    size_t size;   /* without the newline */
    bool complete; /* ends in a newline */
    bool too_long; /* more than RECORD_MAX_LINE bytes: `text` is not all of it, not to be read */
};

/* Where to start: after `line` complete lines, which end at byte `offset`. NULL or zero: at the beginning. */
struct record_start {
    int64_t offset, lines;
};

/* Calls `visit` for every line in order; the text is borrowed for the call. Stops when it returns non-zero and returns that. *size
 * (may be NULL) becomes the size up to which it was read. -1 with the error set when the file cannot be read. */
typedef int record_line_fn(void *arg, const struct record_line *line);
int record_lines_read(const char *path, const struct record_start *start, record_line_fn *visit, void *arg, int64_t *size,
                      struct pkb_error *err);

#endif
