/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of a result with the reference's, in blocks of elements that are converted to f64. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "problems/problem.h"

#define BLOCK 512

/* Sums for the Frobenius norm. */
struct norms {
    double difference, expected;
};

/* What is compared: two tensors of one form. */
struct pair {
    const struct problem_check *check;
    enum problem_profile tolerance;
    const pkb_tensor *expected, *actual;
    const float *tol;
    double allowed; /* CHECK_ROWS: of every element of the row, besides rtol * |expected| */
};

/* A block of both tensors, as values and as stored. */
struct block {
    size_t count, width;
    const unsigned char *raw_expected, *raw_actual;
    double expected[BLOCK], actual[BLOCK];
};

static size_t count_elements(const pkb_tensor *t)
{
    size_t n = 1;
    for (int i = 0; i < t->ndim; i++)
        n *= (size_t)t->shape[i];
    return n;
}

/* The published comparison converts both sides to f32 first. */
static void round_to_f32(double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = (double)(float)values[i];
}

static void load_block(struct block *b, const struct pair *p, size_t at, size_t count)
{
    b->count = count;
    b->width = dtype_size(p->expected->dtype);
    b->raw_expected = (const unsigned char *)p->expected->data + at * b->width;
    b->raw_actual = (const unsigned char *)p->actual->data + at * b->width;
    dtype_to_f64(p->expected->dtype, b->expected, b->raw_expected, count);
    dtype_to_f64(p->actual->dtype, b->actual, b->raw_actual, count);
    if (p->tolerance == PROFILE_PKB) {
        round_to_f32(b->expected, count);
        round_to_f32(b->actual, count);
    }
}

/* Element i of the block, which is element `at` + i of the tensors. */
static bool element_ok(const struct pair *p, const struct block *b, size_t i, size_t at)
{
    const struct problem_check *check = p->check;
    double e = b->expected[i], a = b->actual[i];
    if (check->kind == CHECK_EXACT) {
        bool same_bits = memcmp(b->raw_expected + i * b->width, b->raw_actual + i * b->width, b->width) == 0;
        return same_bits || (isnan(e) && isnan(a));
    }
    if (isnan(e) && isnan(a))
        return p->tolerance == PROFILE_HARDENED;
    if (e == a)
        return true;
    if (!isfinite(e) || !isfinite(a))
        return false;
    if (check->kind == CHECK_BOUND)
        return fabs(e - a) <= (double)p->tol[at + i];
    if (check->kind == CHECK_ROWS)
        return fabs(e - a) <= p->allowed + check->rtol * fabs(e);
    return fabs(e - a) <= check->atol + check->rtol * fabs(p->tolerance == PROFILE_PKB ? a : e);
}

/* The larger one, with NaN above everything. */
static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

static double add_squares(struct norms *norms, double e, double a)
{
    bool same = e == a || (isnan(e) && isnan(a));
    double difference = same ? 0 : fabs(e - a);
    norms->difference += difference * difference;
    if (isfinite(e))
        norms->expected += e * e;
    return difference;
}

static void measure(struct problem_difference *d, struct norms *norms, double e, double a)
{
    double difference = add_squares(norms, e, a);
    d->max_abs = larger(d->max_abs, difference);
    if (difference != 0)
        d->max_rel = larger(d->max_rel, difference / fabs(e));
}

static void note_first(struct problem_difference *d, const pkb_tensor *form, size_t index, double expected, double actual)
{
    d->first = (int64_t)index;
    d->expected = expected;
    d->actual = actual;
    for (int i = form->ndim - 1; i >= 0; i--) {
        d->first_index[i] = (int64_t)(index % (size_t)form->shape[i]);
        index /= (size_t)form->shape[i];
    }
}

static double relative_norm(const struct norms *norms)
{
    if (norms->difference == 0)
        return 0;
    return sqrt(norms->difference / norms->expected);
}

/* The usual end of an exact comparison, without a look at the elements. */
static bool all_bits_equal(const struct problem_check *check, const pkb_tensor *expected, const pkb_tensor *actual, size_t n)
{
    return check->kind == CHECK_EXACT && n > 0 && memcmp(expected->data, actual->data, n * dtype_size(expected->dtype)) == 0;
}

/* Compares elements at .. end - 1. */
static void compare_range(const struct pair *p, size_t at, size_t end, struct norms *norms, struct problem_difference *d)
{
    struct block b;
    for (; at < end; at += b.count) {
        load_block(&b, p, at, end - at < BLOCK ? end - at : BLOCK);
        for (size_t i = 0; i < b.count; i++) {
            measure(d, norms, b.expected[i], b.actual[i]);
            if (element_ok(p, &b, i, at))
                continue;
            if (d->wrong++ == 0)
                note_first(d, p->expected, at + i, b.expected[i], b.actual[i]);
        }
    }
}

static struct norms norms_of(const struct pair *p, size_t at, size_t end)
{
    struct norms norms = {0, 0};
    struct block b;
    for (; at < end; at += b.count) {
        load_block(&b, p, at, end - at < BLOCK ? end - at : BLOCK);
        for (size_t i = 0; i < b.count; i++)
            (void)add_squares(&norms, b.expected[i], b.actual[i]);
    }
    return norms;
}

/* A row's size says what its elements may differ by, and how much it may differ as a whole. */
static void compare_row(struct pair *p, size_t at, size_t end, struct norms *norms, struct problem_difference *d)
{
    const struct problem_check *check = p->check;
    struct norms row = norms_of(p, at, end);
    double n = (double)(end - at), size = sqrt(row.expected / n), difference = sqrt(row.difference / n);
    double allowed = check->row_rms * size + check->atol;
    p->allowed = check->row_max * size + check->atol;
    compare_range(p, at, end, norms, d);
    if (difference <= allowed || d->rows_wrong++ > 0)
        return;
    d->first_row = (int64_t)at / d->row;
    d->row_rms = difference;
    d->row_allowed = allowed;
}

static void compare_rows(struct pair *p, size_t n, struct norms *norms, struct problem_difference *d)
{
    d->row = p->check->row > 0 ? p->check->row : n > 0 ? (int64_t)n : 1;
    for (size_t at = 0; at < n; at += (size_t)d->row)
        compare_row(p, at, n - at < (size_t)d->row ? n : at + (size_t)d->row, norms, d);
}

static double element(const pkb_tensor *t, size_t index)
{
    double value;
    dtype_to_f64(t->dtype, &value, (const char *)t->data + index * dtype_size(t->dtype), 1);
    return value;
}

void problem_difference_add(struct problem_difference *d, const pkb_tensor *expected, const pkb_tensor *actual, size_t index,
                            bool ok)
{
    struct norms unused = {0, 0};
    double e = element(expected, index), a = element(actual, index);
    measure(d, &unused, e, a);
    d->elements++;
    if (!ok && d->wrong++ == 0)
        note_first(d, expected, index, e, a);
    d->ok = d->wrong == 0;
}

void problem_compare(const struct problem_check *check, enum problem_profile tolerance, const pkb_tensor *expected,
                     const pkb_tensor *actual, const float *tol, struct problem_difference *d)
{
    struct pair p = {check, tolerance, expected, actual, tol, 0};
    size_t n = count_elements(expected);
    struct norms norms = {0, 0};
    memset(d, 0, sizeof(*d));
    d->elements = (int64_t)n;
    d->first = d->first_row = -1;
    d->frobenius_limit = check->frobenius;
    d->ok = all_bits_equal(check, expected, actual, n);
    if (d->ok)
        return;
    if (check->kind == CHECK_ROWS)
        compare_rows(&p, n, &norms, d);
    else
        compare_range(&p, 0, n, &norms, d);
    d->frobenius = relative_norm(&norms);
    d->ok = d->wrong == 0 && d->rows_wrong == 0 && (check->frobenius <= 0 || d->frobenius <= check->frobenius);
}

/* Appends to a text of limited size. */
static void append(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);
    if (used < size)
        (void)snprintf(text + used, size - used, "%s", more);
}

static void append_index(char *text, size_t size, const int64_t *index, int ndim)
{
    char number[32];
    append(text, size, "[");
    for (int i = 0; i < ndim; i++) {
        (void)snprintf(number, sizeof(number), "%s%lld", i ? ", " : "", (long long)index[i]);
        append(text, size, number);
    }
    append(text, size, "]");
}

/* What is wrong where no element is. */
static void describe_whole(const struct problem_difference *d, char *text, size_t size)
{
    if (d->rows_wrong > 0)
        (void)snprintf(text, size,
                       "no single element is out of bounds, but %lld rows of %lld elements are, first row %lld: its root mean "
                       "square difference is %.6g, above %.6g",
                       (long long)d->rows_wrong, (long long)d->row, (long long)d->first_row, d->row_rms, d->row_allowed);
    else
        (void)snprintf(text, size, "no single element is out of bounds, but the relative error of the whole is %.6g, above %.6g",
                       d->frobenius, d->frobenius_limit);
}

/* The row of the first wrong element. */
static void append_row(char *text, size_t size, const struct problem_difference *d)
{
    char part[200];
    if (d->row == 0)
        return;
    (void)snprintf(part, sizeof(part), ", row %lld", (long long)(d->first / d->row));
    append(text, size, part);
    if (d->rows_wrong == 0)
        return;
    (void)snprintf(part, sizeof(part), "; root mean square difference of row %lld: %.6g, above %.6g", (long long)d->first_row,
                   d->row_rms, d->row_allowed);
    append(text, size, part);
}

void problem_difference_describe(const struct problem_difference *d, int ndim, char *text, size_t size)
{
    char part[160];
    if (d->wrong == 0 && d->ok) {
        (void)snprintf(text, size, "all %lld elements agree (max abs %.6g, max rel %.6g)", (long long)d->elements, d->max_abs,
                       d->max_rel);
        return;
    }
    if (d->wrong == 0) {
        describe_whole(d, text, size);
        return;
    }
    (void)snprintf(text, size, "%lld of %lld elements differ, first at ", (long long)d->wrong, (long long)d->elements);
    append_index(text, size, d->first_index, ndim);
    (void)snprintf(part, sizeof(part), ": expected %.9g, got %.9g (max abs %.6g, max rel %.6g)", d->expected, d->actual,
                   d->max_abs, d->max_rel);
    append(text, size, part);
    append_row(text, size, d);
}
