/* SPDX-License-Identifier: Apache-2.0 */
/* The report in Markdown and in LaTeX: its sheets one after the other. */
#include <string.h>

#include "results/report_sheets.h"

int report_markdown(const struct report_data *d, const struct report_sheets *s, FILE *out, struct pkb_error *err)
{
    (void)fputs("# Run ", out);
    sheet_escape_markdown(out, d->name[0] ? d->name : "(unnamed)");
    (void)fprintf(out, "\n\n%lld of %lld planned cells have a result; %lld problems, %d models.\n", (long long)d->summary.done,
                  (long long)d->summary.cells, (long long)d->n_problems_named, d->n_models);
    if (d->environment[0]) {
        (void)fputs("\nMeasured with ", out);
        sheet_escape_markdown(out, d->environment);
        (void)fputs(".\n", out);
    }
    for (int i = 0; i < s->n; i++)
        if (sheet_print_markdown(s->items[i], out, err) < 0)
            return -1;
    return 0;
}

/* Tables that fit a page; single problems and cells are for the other formats. */
static bool is_for_paper(const struct sheet *s)
{
    static const char *const left_out[] = {"problems", "not_counted", "curves", "changes"};
    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
        if (strcmp(s->name, left_out[i]) == 0)
            return false;
    return true;
}

int report_latex(const struct report_data *d, const struct report_sheets *s, FILE *out, struct pkb_error *err)
{
    (void)fputs("% Tables of a pkb report. Needs \\usepackage{booktabs} and \\usepackage{textcomp}.\n", out);
    (void)fprintf(out, "%% %lld of %lld planned cells have a result.\n\n", (long long)d->summary.done,
                  (long long)d->summary.cells);
    for (int i = 0; i < s->n; i++)
        if (is_for_paper(s->items[i]) && sheet_print_latex(s->items[i], out, err) < 0)
            return -1;
    return 0;
}
