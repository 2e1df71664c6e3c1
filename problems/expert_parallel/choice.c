/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/expert_parallel/choice.h"

#include <math.h>
#include <stdlib.h>

/* Half of the rows or fewer need another attempt. */
#define ATTEMPTS 64

static int descending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left < right) - (left > right);
}

static double relative_gap(int dtype)
{
    if (dtype == PKB_BF16)
        return 0.02;
    return dtype == PKB_F16 ? 0.0025 : 2.5e-5;
}

bool moe_choice_is_clear(int dtype, double *scores, int64_t n, int64_t k)
{
    if (k >= n)
        return true;
    qsort(scores, (size_t)n, sizeof(*scores), descending);
    double last = scores[k - 1], next = scores[k];
    return last - next > relative_gap(dtype) * fmax(4, fmax(fabs(last), fabs(next)));
}

struct shifted {
    kit_value_fn *value;
    const void *arg;
    size_t first;
};

static double shifted_value(const void *arg, size_t i)
{
    const struct shifted *shifted = arg;
    return shifted->value(shifted->arg, shifted->first + i);
}

void moe_fill_clear(pkb_tensor *t, kit_value_fn *value, const void *arg, const struct moe_choice *choice)
{
    double scores[MOE_MAX_EXPERTS];
    size_t columns = (size_t)t->shape[1], all = kit_numel(t);
    for (size_t r = 0; r < (size_t)t->shape[0]; r++) {
        pkb_tensor row = {.dtype = t->dtype, .ndim = 1, .shape = {t->shape[1]}};
        row.data = (char *)t->data + r * columns * dtype_size(t->dtype);
        for (size_t attempt = 0; attempt < ATTEMPTS; attempt++) {
            struct shifted shifted = {value, arg, attempt * all + r * columns};
            kit_fill_with(&row, shifted_value, &shifted);
            choice->score(choice->score_arg, &row, scores);
            if (moe_choice_is_clear(t->dtype, scores, choice->experts, choice->top_k))
                break;
        }
    }
}
