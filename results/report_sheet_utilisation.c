/* SPDX-License-Identifier: Apache-2.0 */
/* Closeness to the hardware: how much of the roofline's bound the correct candidates of each model reach. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/report_sheets.h"

/* Of one model. */
struct spread {
    double *values; /* utilisations, sorted in the end */
    size_t n;
    int64_t timed; /* with or without a bound */
    int64_t compute, memory, link, impossible;
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The smallest value that a share q of all do not exceed. */
static double quantile(const struct spread *s, double q)
{
    size_t rank = (size_t)ceil(q * (double)s->n);
    return s->values[rank > 0 ? rank - 1 : 0];
}

static void add_cell(struct spread *s, const struct report_cell *c)
{
    s->timed += c->sample.outcome == OUTCOME_CORRECT && c->time_ns > 0;
    if (c->bound_ns <= 0)
        return;
    s->compute += strcmp(c->resource, "compute") == 0;
    s->memory += strcmp(c->resource, "memory") == 0;
    s->link += strcmp(c->resource, "link") == 0;
    if (strcmp(c->verdict, "impossible") == 0)
        s->impossible++;
    else
        s->values[s->n++] = c->bound_ns / c->time_ns;
}

static void row(struct sheet *s, const struct report_data *d, const struct report_group *g, const struct spread *x)
{
    static const double quantiles[] = {0, 0.25, 0.5, 0.75, 1};
    sheet_text(s, TONE_NONE, "%s", d->models[g->model]);
    sheet_number(s, TONE_NONE, (double)x->n);
    sheet_number(s, TONE_NONE, (double)x->timed);
    for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
        sheet_number_or_unknown(s, x->n > 0, x->n > 0 ? quantile(x, quantiles[i]) : 0);
    sheet_number(s, TONE_NONE, (double)x->compute);
    sheet_number(s, TONE_NONE, (double)x->memory);
    sheet_number(s, TONE_NONE, (double)x->link);
    sheet_number(s, x->impossible ? TONE_BAD : TONE_FAINT, (double)x->impossible);
    report_open_values(s, &g->metrics);
}

static struct sheet *columns(const struct report_machine *machine)
{
    char note[512];
    static const struct sheet_column all[] = {
        {"model", "model", SHEET_TEXT, SHEET_EVERYWHERE},
        {"candidates", "n", SHEET_COUNT, SHEET_EVERYWHERE},
        {"timed", "of", SHEET_COUNT, SHEET_EVERYWHERE},
        {"least", "least", SHEET_SHARE, SHEET_EVERYWHERE},
        {"quarter", "25 %", SHEET_SHARE, SHEET_EVERYWHERE},
        {"median", "median", SHEET_SHARE, SHEET_EVERYWHERE},
        {"three_quarters", "75 %", SHEET_SHARE, SHEET_EVERYWHERE},
        {"most", "most", SHEET_SHARE, SHEET_EVERYWHERE},
        {"compute", "compute", SHEET_COUNT, SHEET_EVERYWHERE},
        {"memory", "memory", SHEET_COUNT, SHEET_EVERYWHERE},
        {"link", "link", SHEET_COUNT, SHEET_EVERYWHERE},
        {"impossible", "impossible", SHEET_COUNT, SHEET_EVERYWHERE},
    };
    (void)snprintf(note, sizeof(note),
                   "Bounds of %s (%s figures, %.12s). Correct candidates with a time and a bound, by the resource that binds. "
                   "Impossibly fast ones did not do the work: they are in no quantile.",
                   machine->name, machine->figures, machine->digest);
    struct sheet *s = sheet_create("utilisation", "Closeness to the hardware: bound / measured, %", note);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        sheet_column(s, all[i].key, all[i].title, all[i].kind, all[i].use);
    report_open_columns(s);
    return s;
}

struct sheet *report_sheet_utilisation(const struct report_data *d)
{
    struct spread x;
    struct sheet *s = columns(d->machine);
    double *values = malloc((d->cells.n + 1) * sizeof(*values));
    for (size_t g = 0; g < d->total.n && values; g++) {
        x = (struct spread){.values = values};
        for (size_t i = 0; i < d->cells.n; i++)
            if (d->cells.cells[i].model == d->total.items[g].model)
                add_cell(&x, &d->cells.cells[i]);
        if (x.n > 1)
            qsort(values, x.n, sizeof(*values), ascending);
        if (x.n > 0 || x.impossible > 0)
            row(s, d, &d->total.items[g], &x);
    }
    if (!values && s)
        s->failed = true;
    free(values);
    return s;
}
