/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/reinforcement_learning/filter.h"

#include <math.h>
#include <stdlib.h>

struct filter filter_of(const struct problem_setting *s)
{
    return (struct filter){problem_int(s, "top_k"), problem_real(s, "top_p")};
}

struct filter filter_of_call(const struct problem_call *c)
{
    return (struct filter){problem_call_int(c, "top_k"), problem_call_real(c, "top_p")};
}

static bool filters_sums(const struct filter *f)
{
    return f->top_p < 1;
}

/* Entries that top-k leaves, ties aside. */
static int64_t count_of(const struct filter *f, int64_t n)
{
    return f->top_k > 0 && f->top_k < n ? f->top_k : n;
}

/* ---- on the device ------------------------------------------------------------------------------------------------- */

/* Rows in ascending order: the entries, and where they were. */
struct sorted {
    pkb_tensor *order, *rows;
};

static struct sorted sort_rows(const struct problem_call *c, const pkb_tensor *rows)
{
    struct sorted y = {rt_new_like(c->rt, PKB_I64, rows), rt_new_like(c->rt, c->setting->dtype, rows)};
    rt_argsort(c->rt, y.order, rows);
    rt_take_along(c->rt, y.rows, rows, y.order);
    return y;
}

/* 1 for entries that are at least the kk-th largest of their row. */
static pkb_tensor *at_least(const struct problem_call *c, const pkb_tensor *rows, const struct sorted *y, int64_t kk)
{
    pkb_tensor *keep = rt_new_like(c->rt, PKB_F32, rows);
    if (rt_status(c->rt, NULL) < 0)
        return NULL;
    pkb_tensor *least = rt_new(c->rt, c->setting->dtype, RT_SHAPE(rows->shape[0], 1));
    rt_slice(c->rt, least, y->rows, 1, rows->shape[1] - kk);
    rt_binary(c->rt, RT_GE, keep, rows, least);
    return keep;
}

/* 1 where the running sum of the sorted row's probabilities is above 1 - top_p, and for the last entry. */
static pkb_tensor *above_sum(const struct problem_call *c, const pkb_tensor *y, double top_p)
{
    int dtype = c->setting->dtype;
    pkb_tensor *p = rt_new_like(c->rt, dtype, y);
    pkb_tensor *keep = rt_new_like(c->rt, PKB_F32, y);
    if (rt_status(c->rt, NULL) < 0)
        return NULL;
    pkb_tensor *one = rt_new(c->rt, PKB_F32, RT_SHAPE(y->shape[0], 1));
    rt_softmax(c->rt, p, y);
    rt_cumsum(c->rt, p, p);
    rt_binary_scalar(c->rt, RT_GT, keep, p, kit_rounded(dtype, 1 - top_p));
    rt_fill(c->rt, one, 1);
    rt_paste(c->rt, keep, 1, y->shape[1] - 1, one);
    return keep;
}

/* Entries of the sorted row that are not `above` become -infinity. */
static void drop(const struct problem_call *c, pkb_tensor *y, const pkb_tensor *above)
{
    pkb_tensor *nothing = rt_new_like(c->rt, c->setting->dtype, y);
    rt_fill(c->rt, nothing, -INFINITY);
    rt_where(c->rt, y, above, y, nothing);
}

/* Flags of sorted entries, back where the entries were: the position of an entry is found by sorting the order. */
static pkb_tensor *unsort(const struct problem_call *c, const pkb_tensor *flags, const pkb_tensor *order)
{
    pkb_tensor *position = rt_new_like(c->rt, PKB_I64, order);
    pkb_tensor *keep = rt_new_like(c->rt, PKB_F32, flags);
    rt_argsort(c->rt, position, order);
    rt_take_along(c->rt, keep, flags, position);
    return keep;
}

static pkb_tensor *filter_sums(const struct problem_call *c, const struct filter *f, const struct sorted *y, int64_t kk)
{
    pkb_tensor *above = at_least(c, y->rows, y, kk);
    drop(c, y->rows, above);
    pkb_tensor *keep = above_sum(c, y->rows, f->top_p);
    rt_binary(c->rt, RT_MUL, keep, keep, above);
    return unsort(c, keep, y->order);
}

pkb_tensor *filter_rows(const struct problem_call *c, const pkb_tensor *rows)
{
    struct filter f = filter_of_call(c);
    if (rt_status(c->rt, NULL) < 0)
        return NULL;
    int64_t kk = count_of(&f, rows->shape[1]);
    if (!filters_sums(&f) && kk == rows->shape[1]) {
        pkb_tensor *keep = rt_new_like(c->rt, PKB_F32, rows);
        rt_fill(c->rt, keep, 1);
        return keep;
    }
    struct sorted y = sort_rows(c, rows);
    return filters_sums(&f) ? filter_sums(c, &f, &y, kk) : at_least(c, rows, &y, kk);
}

/* ---- on the host --------------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double clearance(int dtype, double bound)
{
    double u = dtype_roundoff(dtype);
    return dtype == PKB_BF16 || dtype == PKB_F16 ? 2 * u * bound + u / 4 : 1e-5;
}

bool filter_is_clear(const struct filter *f, int dtype, double *row, size_t n)
{
    double bound = 1 - f->top_p, distance = clearance(dtype, bound), total = 0, sum = 0;
    size_t first = 0;
    if (!filters_sums(f) || n == 0)
        return true;
    qsort(row, n, sizeof(*row), ascending);
    double least = row[n - (size_t)count_of(f, (int64_t)n)];
    while (row[first] < least)
        first++;
    for (size_t j = first; j < n; j++)
        total += exp(row[j] - row[n - 1]);
    for (size_t j = first; j < n; j++) {
        bool below = sum <= bound;
        sum += exp(row[j] - row[n - 1]) / total;
        if (fabs(sum - bound) <= distance)
            return false;
        if (below && sum > bound && j > first && row[j] == row[j - 1])
            return false;
    }
    return true;
}
