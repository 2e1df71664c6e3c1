/* SPDX-License-Identifier: Apache-2.0 */
#include "results/record.h"
#include "results/record_lines.h"
#include "util/json.h"

struct reading {
    record_visit_fn *visit;
    void *arg;
};

static int read_line(void *arg, const struct record_line *line)
{
    struct reading *r = arg;
    struct pkb_error reason;
    json_t *value = NULL;
    if (!line->complete)
        return 0;
    if (line->too_long)
        pkb_error_set(&reason, "longer than %d bytes", RECORD_MAX_LINE);
    else
        value = pkb_json_parse(line->text, line->size, &reason);
    if (value && !json_is_object(value)) {
        json_decref(value);
        value = NULL;
        pkb_error_set(&reason, "not a JSON object");
    }
    int rc = r->visit(r->arg, line->number, value, value ? NULL : reason.text);
    json_decref(value);
    return rc;
}

int record_file_read(const char *path, record_visit_fn *visit, void *arg, struct pkb_error *err)
{
    struct reading r = {.visit = visit, .arg = arg};
    return record_lines_read(path, NULL, read_line, &r, NULL, err);
}
