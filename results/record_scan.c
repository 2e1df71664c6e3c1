/* SPDX-License-Identifier: Apache-2.0 */
#include "results/record_scan.h"

#include <stdlib.h>

#include "results/record_fields.h"
#include "results/scan.h"

const char *record_line_kind_name(enum record_line_kind kind)
{
    static const char *const names[] = {
        [LINE_CELL] = "cell",           [LINE_BASELINE] = "baseline", [LINE_TORN] = "torn",
        [LINE_MALFORMED] = "malformed", [LINE_SCHEMA] = "schema",
    };
    return names[kind];
}

static enum record_line_kind scan_record(const struct record_line *line, struct record_scan *out)
{
    struct value object;
    enum record_kind kind = RECORD_CELL;
    if (scan_object(line->text, line->size, &object, &out->reason) < 0)
        return LINE_MALFORMED;
    int rc = record_read_kind(&object, scan_members, &kind, &out->reason);
    if (rc < 0)
        return rc == -2 ? LINE_SCHEMA : LINE_MALFORMED;
    if (kind == RECORD_CELL)
        return record_read_cell(&object, scan_members, &out->cell, &out->reason) == 0 ? LINE_CELL : LINE_MALFORMED;
    return record_read_baseline(&object, scan_members, &out->baseline, &out->reason) == 0 ? LINE_BASELINE : LINE_MALFORMED;
}

void record_scan_line(const struct record_line *line, struct record_scan *out)
{
    out->line = line;
    if (!line->complete) {
        out->kind = LINE_TORN;
        pkb_error_set(&out->reason, "the last line is not complete (%zu bytes)", line->size);
    } else if (line->too_long) {
        out->kind = LINE_MALFORMED;
        pkb_error_set(&out->reason, "longer than %d bytes", RECORD_MAX_LINE);
    } else {
        out->kind = scan_record(line, out);
    }
}

struct scanning {
    record_scan_fn *visit;
    void *arg;
    struct record_scan scan;
};

static int visit_line(void *arg, const struct record_line *line)
{
    struct scanning *s = arg;
    record_scan_line(line, &s->scan);
    return s->visit(s->arg, &s->scan);
}

int record_file_scan_from(const char *path, const struct record_start *start, record_scan_fn *visit, void *arg, int64_t *size,
                          struct pkb_error *err)
{
    struct scanning s = {.visit = visit, .arg = arg};
    return record_lines_read(path, start, visit_line, &s, size, err);
}

int record_file_scan(const char *path, record_scan_fn *visit, void *arg, int64_t *size, struct pkb_error *err)
{
    return record_file_scan_from(path, NULL, visit, arg, size, err);
}
