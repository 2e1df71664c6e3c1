/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "results/analysis.h"

/* Sums of logarithms per problem. */
struct logs {
    double *sum, *n;
};

enum { LOGS_ALL, LOGS_BEST, LOGS_BEST_K, LOGS_COUNT };

static void add_log(struct logs *x, int problem, double value)
{
    x->sum[problem] += log(value);
    x->n[problem] += 1;
}

static struct geomean mean_of(const struct report_data *d, const struct logs *x)
{
    struct geomean g = {0};
    double sum = 0;
    for (int i = 0; i < d->cells.n_problems; i++) {
        sum += x->sum[i];
        g.n += (int64_t)x->n[i];
    }
    if (g.n == 0)
        return g;
    g.value = exp(sum / (double)g.n);
    g.interval = bootstrap_ratio(d->bootstrap, x->sum, x->n);
    g.interval.low = exp(g.interval.low);
    g.interval.high = exp(g.interval.high);
    return g;
}

static void add_task(const struct report_data *d, struct speeds *s, struct logs *x, size_t first, size_t end)
{
    int problem = d->cells.settings[d->cells.cells[first].setting].problem;
    double best_1 = 0, best_k = 0;
    for (size_t i = first; i < end; i++) {
        const struct metrics_sample *m = &d->cells.cells[i].sample;
        if (m->outcome != OUTCOME_CORRECT)
            continue;
        s->correct++;
        if (!m->timed || m->speedup <= 0)
            continue;
        s->timed++;
        s->fast += m->speedup > d->p;
        s->largest = fmax(s->largest, m->speedup);
        add_log(&x[LOGS_ALL], problem, m->speedup);
        if (i == first)
            best_1 = m->speedup;
        if (i < first + (size_t)d->k_max)
            best_k = fmax(best_k, m->speedup);
    }
    if (best_1 > 0)
        add_log(&x[LOGS_BEST], problem, best_1);
    if (best_k > 0)
        add_log(&x[LOGS_BEST_K], problem, best_k);
}

/* Room for the logarithms of all models, in one block: [model][kind][sum, n][problem]. */
static void lay_out(const struct report_data *d, double *block, int model, struct logs x[LOGS_COUNT])
{
    size_t n = (size_t)d->cells.n_problems;
    double *from = block + (size_t)model * LOGS_COUNT * 2 * n;
    for (int i = 0; i < LOGS_COUNT; i++)
        x[i] = (struct logs){from + (size_t)i * 2 * n, from + ((size_t)i * 2 + 1) * n};
}

struct speeds *analysis_speeds(const struct report_data *d, struct pkb_error *err)
{
    struct logs x[LOGS_COUNT];
    size_t n_models = (size_t)d->n_models;
    struct speeds *all = calloc(n_models + 1, sizeof(*all));
    double *block = calloc(n_models * LOGS_COUNT * 2 * (size_t)d->cells.n_problems + 1, sizeof(double));
    if (!all || !block) {
        free(all);
        free(block);
        pkb_error_set(err, "out of memory for speedups");
        return NULL;
    }
    for (size_t first = 0, end; first < d->cells.n; first = end) {
        int model = d->cells.cells[first].model;
        end = report_cells_task(&d->cells, first);
        lay_out(d, block, model, x);
        add_task(d, &all[model], x, first, end);
    }
    for (int m = 0; m < d->n_models; m++) {
        lay_out(d, block, m, x);
        all[m].all = mean_of(d, &x[LOGS_ALL]);
        all[m].best = mean_of(d, &x[LOGS_BEST]);
        all[m].best_k = mean_of(d, &x[LOGS_BEST_K]);
    }
    free(block);
    return all;
}
