/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "results/analysis.h"

/* What the models have of one setting. */
struct best {
    int fast_models; /* with a fast correct candidate */
    struct new_kernel kernel;
    int64_t unknown; /* samples of all models */
    int64_t own;     /* of kernel.model */
};

static bool is_open(const struct metrics_sample *s)
{
    if (s->outcome < 0 || !outcome_is_final((enum outcome)s->outcome))
        return true;
    return s->outcome == OUTCOME_CORRECT && !s->timed;
}

static void add_task(const struct report_data *d, struct best *b, size_t first, size_t end)
{
    struct new_kernel k = {.setting = d->cells.cells[first].setting, .model = d->cells.cells[first].model};
    int64_t open = 0;
    for (size_t i = first; i < end; i++) {
        const struct metrics_sample *s = &d->cells.cells[i].sample;
        open += is_open(s);
        if (s->outcome == OUTCOME_CORRECT && s->timed && s->speedup > d->p && s->speedup > k.speedup) {
            k.speedup = s->speedup;
            k.sample = s->number;
        }
    }
    b->unknown += open;
    if (k.speedup <= 0)
        return;
    b->fast_models++;
    b->kernel = k;
    b->own = open;
}

int analysis_new(const struct report_data *d, struct new_kernel **rows, size_t *n, struct pkb_error *err)
{
    const struct report_cells *c = &d->cells;
    *n = 0;
    *rows = calloc((size_t)c->n_settings + 1, sizeof(**rows));
    if (!*rows)
        return pkb_error_set(err, "out of memory for new kernels");
    for (size_t first = 0; first < c->n && d->n_models > 1;) {
        struct best b = {0};
        int setting = c->cells[first].setting;
        while (first < c->n && c->cells[first].setting == setting) {
            size_t end = report_cells_task(c, first);
            add_task(d, &b, first, end);
            first = end;
        }
        if (b.fast_models != 1)
            continue;
        b.kernel.unknown = b.unknown - b.own;
        (*rows)[(*n)++] = b.kernel;
    }
    return 0;
}
