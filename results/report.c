/* SPDX-License-Identifier: Apache-2.0 */
#include "results/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/report_data.h"

#define SUMMARY_PROBLEMS 120

bool report_wants_colour(FILE *out)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no && no[0])
        return false;
    return isatty(fileno(out)) && term && strcmp(term, "dumb") != 0;
}

static int merge_if_stale(const char *run, struct pkb_error *err)
{
    bool stale = true;
    if (merge_is_stale(run, &stale, err) < 0)
        return -1;
    return stale ? merge_run(run, NULL, err) : 0;
}

static int print(struct report_data *d, FILE *out, const struct report_options *o, bool with_problems, struct pkb_error *err)
{
    int rc = 0;
    switch (o->format) {
    case REPORT_TEXT:
        rc = report_text(d, out, o->colour, with_problems, err);
        break;
    case REPORT_JSON:
        rc = report_json(d, out, err);
        break;
    case REPORT_CSV:
        rc = report_csv(d, o->csv, out, err);
        break;
    }
    if (rc == 0 && (fflush(out) == EOF || ferror(out)))
        rc = pkb_error_errno(err, "the report cannot be written");
    return rc;
}

static int report(const char *run, FILE *out, const struct report_options *o, size_t max_problems, bool *complete,
                  struct pkb_error *err)
{
    struct report_data d;
    if (merge_if_stale(run, err) < 0 || report_data_load(&d, run, o, err) < 0)
        return -1;
    if (complete)
        *complete = d.summary.done == d.summary.cells;
    int rc = print(&d, out, o, d.n_problems <= max_problems, err);
    report_data_clear(&d);
    return rc;
}

int report_print(const char *run, FILE *out, const struct report_options *o, bool *complete, struct pkb_error *err)
{
    return report(run, out, o, SIZE_MAX, complete, err);
}

int report_print_summary(const char *run, FILE *out, const struct report_options *o, struct pkb_error *err)
{
    return report(run, out, o, SUMMARY_PROBLEMS, NULL, err);
}
