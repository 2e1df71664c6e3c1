/* SPDX-License-Identifier: Apache-2.0 */
/* The two readers of record lines must agree on every line, and what they accept must be written and read back the same. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/record.h"
#include "results/record_scan.h"
#include "util/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void stop(const char *what, const char *a, const char *b)
{
    (void)fprintf(stderr, "%s: '%s', '%s'\n", what, a, b);
    abort();
}

/* As merge does. */
static void read_fast(const uint8_t *data, size_t size, struct record_scan *scan)
{
    static struct record_line line;
    line = (struct record_line){.number = 1, .text = (const char *)data, .size = size, .complete = true};
    memset(scan, 0, sizeof(*scan));
    record_scan_line(&line, scan);
}

/* As resume does. */
static enum record_line_kind read_slow(const uint8_t *data, size_t size, struct record *cell, struct record_baseline *b,
                                       struct pkb_error *err)
{
    enum record_kind kind;
    enum record_line_kind result = LINE_MALFORMED;
    json_t *value = pkb_json_parse((const char *)data, size, err);
    if (json_is_object(value) && record_kind_of(value, &kind, err) < 0)
        result = LINE_SCHEMA;
    else if (json_is_object(value) && kind == RECORD_CELL)
        result = record_decode(value, cell, err) == 0 ? LINE_CELL : LINE_MALFORMED;
    else if (json_is_object(value))
        result = record_baseline_decode(value, b, err) == 0 ? LINE_BASELINE : LINE_MALFORMED;
    json_decref(value);
    return result;
}

static void check_round_trip(const struct record *r)
{
    struct record again;
    struct pkb_error err;
    json_t *value = record_encode(r);
    if (value && record_decode(value, &again, &err) < 0)
        stop("a record that was read cannot be read again", err.text, r->detail);
    if (value)
        record_clear(&again);
    json_decref(value);
}

/* Inside `more`, which the fast reader leaves as the text that it is, it neither looks for names given twice nor converts numbers. */
static bool is_known_difference(const struct pkb_error *err)
{
    static const char *const known[] = {"duplicate object key", "too big integer", "too big negative integer",
                                        "real number overflow"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strstr(err->text, known[i]))
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct record_scan scan;
    static struct record cell;
    static struct record_baseline baseline;
    struct pkb_error err = {{0}};
    if (memchr(data, '\n', size))
        return 0;
    memset(&cell, 0, sizeof(cell));
    memset(&baseline, 0, sizeof(baseline));
    read_fast(data, size, &scan);
    enum record_line_kind slow = read_slow(data, size, &cell, &baseline, &err);
    bool fast_accepts = scan.kind == LINE_CELL || scan.kind == LINE_BASELINE;
    if (fast_accepts && slow != scan.kind && is_known_difference(&err))
        return 0;
    if (fast_accepts ? scan.kind != slow : slow == LINE_CELL || slow == LINE_BASELINE)
        stop("the readers disagree", fast_accepts ? "accepted" : scan.reason.text, err.text);
    if (slow == LINE_CELL) {
        if (strcmp(cell.detail, scan.cell.detail) != 0 || memcmp(&cell.time, &scan.cell.time, sizeof(cell.time)) != 0 ||
            cell.sample != scan.cell.sample || cell.outcome != scan.cell.outcome)
            stop("the readers read different values", cell.detail, scan.cell.detail);
        check_round_trip(&cell);
    }
    record_clear(&cell);
    record_baseline_clear(&baseline);
    return 0;
}
