/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting and searching: keys of all types become 64-bit integers in the order of the numbers. */
#include <math.h>
#include <string.h>

#include "runtime/host/device.h"

struct keyed {
    int64_t key, position;
};

/* -0 equals 0, NaN is last. */
static int64_t sortable(double x)
{
    int64_t bits;
    if (isnan(x))
        return INT64_MAX;
    x += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &x, sizeof(bits));
    return bits < 0 ? INT64_MIN - bits : bits;
}

static int64_t key_at(const pkb_tensor *t, size_t i)
{
    const char *at = (const char *)t->data + i * dtype_size(t->dtype);
    int64_t integer;
    double real;
    if (dtype_is_float(t->dtype)) {
        dtype_to_f64(t->dtype, &real, at, 1);
        return sortable(real);
    }
    dtype_to_i64(t->dtype, &integer, at, 1);
    return integer;
}

/* ---- sorting ------------------------------------------------------------------------------------------------------- */

/* Merges two sorted runs, [0, middle) and [middle, n), stably. */
static void merge(struct keyed *to, const struct keyed *from, size_t middle, size_t n)
{
    size_t i = 0, j = middle;
    for (size_t k = 0; k < n; k++) {
        bool left = j == n || (i < middle && from[i].key <= from[j].key);
        to[k] = left ? from[i++] : from[j++];
    }
}

/* Sorts n keys; both lists have room for them. Returns the one that is sorted. */
static const struct keyed *sort(struct keyed *list, struct keyed *other, size_t n)
{
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            size_t count = n - i < 2 * width ? n - i : 2 * width;
            merge(other + i, list + i, count < width ? count : width, count);
        }
        struct keyed *swap = list;
        list = other;
        other = swap;
    }
    return list;
}

int host_argsort(struct rt_device *dev, pkb_tensor *order, const pkb_tensor *keys, struct pkb_error *err)
{
    size_t n = host_numel(keys), length = (size_t)keys->shape[keys->ndim - 1];
    int64_t *position = order->data;
    struct keyed *list = host_scratch(dev, SCRATCH_A, length * sizeof(*list), err);
    struct keyed *other = list ? host_scratch(dev, SCRATCH_B, length * sizeof(*list), err) : NULL;
    if (!other)
        return -1;
    for (size_t row = 0; row < n; row += length) {
        for (size_t i = 0; i < length; i++)
            list[i] = (struct keyed){key_at(keys, row + i), (int64_t)i};
        const struct keyed *sorted = sort(list, other, length);
        for (size_t i = 0; i < length; i++)
            position[row + i] = sorted[i].position;
    }
    return 0;
}

/* ---- searching ----------------------------------------------------------------------------------------------------- */

/* How many of n ascending entries are below a key, or with `right` not above it. */
static size_t count_before(const int64_t *table, size_t n, int64_t key, bool right)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table[middle] < key || (right && table[middle] == key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int host_search_sorted(struct rt_device *dev, pkb_tensor *position, const pkb_tensor *table, const pkb_tensor *values, bool right,
                       struct pkb_error *err)
{
    size_t n = host_numel(values), length = (size_t)table->shape[0];
    int64_t *to = position->data, *keys = host_scratch(dev, SCRATCH_A, length * sizeof(*keys), err);
    if (!keys)
        return -1;
    for (size_t i = 0; i < length; i++)
        keys[i] = key_at(table, i);
    for (size_t i = 0; i < n; i++)
        to[i] = (int64_t)count_before(keys, length, key_at(values, i), right);
    return 0;
}
