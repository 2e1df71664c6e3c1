/* SPDX-License-Identifier: Apache-2.0 */
/* What runners print: the first and the last 64 KiB of each runner's output, in one file per rank, however much it prints.
 * A log that cannot be written loses text, never a cell. */
#ifndef PKB_NODE_AGENT_RUNLOG_H
#define PKB_NODE_AGENT_RUNLOG_H

#include <stddef.h>

#include "util/error.h"

#define RUNLOG_HEAD (64 << 10)
#define RUNLOG_TAIL (64 << 10)

struct runlog;

/* Appends to the file at `path`; a line with `title` precedes the first output. Nothing is written when nothing is printed. */
struct runlog *runlog_create(const char *path, const char *title, struct pkb_error *err);

void runlog_write(struct runlog *log, const void *data, size_t size);

/* The end of the output as printable text, at most size - 1 bytes. */
void runlog_last(const struct runlog *log, char *text, size_t size);

/* NULL-safe. Writes the tail, with the number of bytes left out in front of it. */
void runlog_destroy(struct runlog *log);

#endif
