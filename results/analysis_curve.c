/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "results/analysis.h"

double analysis_threshold(int point)
{
    return 0.5 + 0.25 * point;
}

/* Adds the estimates of one task; n counts the samples for which the question is answered, as in metrics.c. */
static void add_task(struct curve *c, const struct report_cell *cells, int n_cells, int k)
{
    int64_t known = 0, fast[CURVE_POINTS] = {0};
    for (int i = 0; i < n_cells; i++) {
        const struct metrics_sample *s = &cells[i].sample;
        bool is_known = s->outcome >= 0 && outcome_is_final((enum outcome)s->outcome);
        bool correct = is_known && s->outcome == OUTCOME_CORRECT;
        known += is_known && (!correct || s->timed);
        for (int p = 0; p < CURVE_POINTS && correct && s->timed; p++)
            fast[p] += s->speedup > analysis_threshold(p);
    }
    c->counted_1 += known >= 1;
    c->counted_k += known >= k;
    for (int p = 0; p < CURVE_POINTS; p++) {
        if (known >= 1)
            c->at_1[p] += metrics_pass_at_k(known, fast[p], 1);
        if (known >= k)
            c->at_k[p] += metrics_pass_at_k(known, fast[p], k);
    }
}

static void divide(double *values, int64_t n)
{
    for (int p = 0; p < CURVE_POINTS; p++)
        values[p] = n > 0 ? values[p] / (double)n : -1;
}

struct curve *analysis_curves(const struct report_data *d, struct pkb_error *err)
{
    struct curve *all = calloc((size_t)d->n_models + 1, sizeof(*all));
    if (!all) {
        pkb_error_set(err, "out of memory for curves");
        return NULL;
    }
    for (size_t first = 0, end; first < d->cells.n; first = end) {
        end = report_cells_task(&d->cells, first);
        add_task(&all[d->cells.cells[first].model], &d->cells.cells[first], (int)(end - first), d->k_max);
    }
    for (int m = 0; m < d->n_models; m++) {
        divide(all[m].at_1, all[m].counted_1);
        divide(all[m].at_k, all[m].counted_k);
    }
    return all;
}
