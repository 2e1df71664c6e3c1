/* SPDX-License-Identifier: Apache-2.0 */
/* Files of records, read and parsed by a thread of their own while the caller works on what was parsed: half of a merge is parsing.
 * Memory is bounded: the thread waits when it is too far ahead.
 */
#ifndef PKB_RESULTS_RECORD_PIPE_H
#define PKB_RESULTS_RECORD_PIPE_H

#include "results/record_files.h"
#include "results/record_scan.h"

struct record_pipe;

/* Starts on the files of records of a list (attempt above 0), in order; `run` and `list` are borrowed until it is destroyed. */
struct record_pipe *record_pipe_create(const char *run, const struct record_files *list, struct pkb_error *err);

/* Stops the thread, wherever it is. */
void record_pipe_destroy(struct record_pipe *p);

/* The next file, as record_file_scan would give it; the lines' texts are not there (NULL). */
int record_pipe_scan(struct record_pipe *p, record_scan_fn *visit, void *arg, int64_t *size, struct pkb_error *err);

#endif
