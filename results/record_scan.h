/* SPDX-License-Identifier: Apache-2.0 */
/* Files of records read fast: every line is checked as record_decode checks it, but nothing is allocated per line and `more` is
 * left out (NULL).
 */
#ifndef PKB_RESULTS_RECORD_SCAN_H
#define PKB_RESULTS_RECORD_SCAN_H

#include "results/record.h"
#include "results/record_lines.h"

enum record_line_kind {
    LINE_CELL,
    LINE_BASELINE,
    LINE_TORN,      /* the last line, without a newline: being written, or cut off */
    LINE_MALFORMED, /* not JSON, or a member is missing or wrong */
    LINE_SCHEMA,    /* an unknown schema version or kind of record */
};

struct record_scan {
    const struct record_line *line;
    enum record_line_kind kind;
    struct record cell;              /* of LINE_CELL */
    struct record_baseline baseline; /* of LINE_BASELINE */
    struct pkb_error reason;         /* of the others */
};

/* "torn", "malformed", "schema"; "cell", "baseline". */
const char *record_line_kind_name(enum record_line_kind kind);

/* What a line is. */
void record_scan_line(const struct record_line *line, struct record_scan *out);

/* Calls `visit` for every line, a torn last one included; *size (may be NULL) becomes the number of bytes read. Stops when visit
 * returns non-zero and returns that; -1 with the error set when the file cannot be read. */
typedef int record_scan_fn(void *arg, const struct record_scan *scan);
int record_file_scan(const char *path, record_scan_fn *visit, void *arg, int64_t *size, struct pkb_error *err);

/* The same for the lines after `start`. */
int record_file_scan_from(const char *path, const struct record_start *start, record_scan_fn *visit, void *arg, int64_t *size,
                          struct pkb_error *err);

#endif
