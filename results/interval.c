/* SPDX-License-Identifier: Apache-2.0 */
#include "results/interval.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/random.h"

#define Z 1.959963984540054 /* of 97.5 % */
#define TAIL 0.025

struct bootstrap {
    int n, replicates;
    double *draws;  /* [replicate][problem]: how often it was drawn */
    double *values; /* [replicate]: working space */
};

struct interval interval_wilson(int64_t good, int64_t n)
{
    struct interval x = {.known = n > 0};
    if (n <= 0)
        return x;
    double m = (double)n, p = (double)good / m, z2 = Z * Z;
    double middle = (p + z2 / (2 * m)) / (1 + z2 / m);
    double half = Z / (1 + z2 / m) * sqrt(p * (1 - p) / m + z2 / (4 * m * m));
    x.low = good == 0 ? 0 : middle - half;
    x.high = good == n ? 1 : middle + half;
    return x;
}

static void draw(struct bootstrap *b, uint64_t seed)
{
    struct rng r = rng_make(0, seed, 0, RNG_ALL_RANKS, 0);
    for (int k = 0; k < b->replicates; k++)
        for (int i = 0; i < b->n; i++) {
            uint64_t index = (uint64_t)k * (uint64_t)b->n + (uint64_t)i;
            b->draws[(size_t)k * (size_t)b->n + (size_t)rng_integer(&r, index, 0, b->n)]++;
        }
}

struct bootstrap *bootstrap_create(int n, int replicates, uint64_t seed, struct pkb_error *err)
{
    struct bootstrap *b = calloc(1, sizeof(*b));
    if (b) {
        b->n = n;
        b->replicates = replicates;
        b->draws = calloc((size_t)replicates * (size_t)n + 1, sizeof(double));
        b->values = calloc((size_t)replicates, sizeof(double));
    }
    if (!b || !b->draws || !b->values) {
        pkb_error_set(err, "out of memory for %d replicates of %d problems", replicates, n);
        bootstrap_destroy(b);
        return NULL;
    }
    draw(b, seed);
    return b;
}

void bootstrap_destroy(struct bootstrap *b)
{
    if (!b)
        return;
    free(b->draws);
    free(b->values);
    free(b);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

struct interval bootstrap_ratio(struct bootstrap *b, const double *part, const double *weight)
{
    int with_weight = 0, m = 0;
    for (int i = 0; i < b->n; i++)
        with_weight += weight[i] > 0;
    for (int k = 0; k < b->replicates && with_weight > 1; k++) {
        const double *draws = &b->draws[(size_t)k * (size_t)b->n];
        double sum = 0, all = 0;
        for (int i = 0; i < b->n; i++) {
            sum += draws[i] * part[i];
            all += draws[i] * weight[i];
        }
        if (all > 0)
            b->values[m++] = sum / all;
    }
    if (m == 0)
        return (struct interval){.known = false};
    qsort(b->values, (size_t)m, sizeof(double), ascending);
    int cut = (int)(TAIL * m);
    return (struct interval){.known = true, .low = b->values[cut], .high = b->values[m - 1 - cut]};
}

double sign_test(int64_t a, int64_t b)
{
    int64_t n = a + b, few = a < b ? a : b;
    double sum = 0;
    /* log C(n, i) - n log 2, so that nothing overflows */
    for (int64_t i = 0; i <= few; i++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) - (double)n * log(2));
    double p = 2 * sum;
    return p < 1 ? p : 1;
}
