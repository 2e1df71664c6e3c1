/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/record.h"

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Value in the middle; `sorted` has at least one entry. */
static double middle(const double *sorted, int n)
{
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static double deviation(const double *samples, int n, double mean)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (samples[i] - mean) * (samples[i] - mean);
    return n > 1 ? sqrt(sum / (n - 1)) : 0;
}

void record_times_from_samples(struct record_times *t, const double *samples, int n)
{
    memset(t, 0, sizeof(*t));
    double *sorted = n > 0 ? malloc((size_t)n * sizeof(*sorted)) : NULL;
    if (!sorted)
        return;
    memcpy(sorted, samples, (size_t)n * sizeof(*sorted));
    qsort(sorted, (size_t)n, sizeof(*sorted), ascending);
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += sorted[i];
    t->iterations = n;
    t->min = sorted[0];
    t->max = sorted[n - 1];
    /* Rounding must not push the mean out of the range of the samples. */
    t->mean = fmin(fmax(sum / n, t->min), t->max);
    t->median = middle(sorted, n);
    t->std = deviation(samples, n, t->mean);
    free(sorted);
}
