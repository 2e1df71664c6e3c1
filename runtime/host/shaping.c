/* SPDX-License-Identifier: Apache-2.0 */
/* Rearrangements and look-ups. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "runtime/host/device.h"

int host_copy2d(struct rt_device *dev, void *dst, const void *src, const struct rt_copy2d_form *form, struct pkb_error *err)
{
    (void)dev;
    (void)err;
    for (size_t i = 0; i < form->rows; i++)
        memcpy((char *)dst + i * form->dst_pitch, (const char *)src + i * form->src_pitch, form->width);
    return 0;
}

/* ---- permute ------------------------------------------------------------------------------------------------------- */

/* n elements, `stride` bytes apart in the source. */
static void gather_strided(char *dst, const char *src, size_t n, int64_t stride, size_t size)
{
#define GATHER(type)                                                                                                             \
    for (size_t i = 0; i < n; i++)                                                                                               \
        memcpy(dst + i * sizeof(type), src + (int64_t)i * stride, sizeof(type));                                                 \
    break
    if (stride == (int64_t)size) {
        memcpy(dst, src, n * size);
        return;
    }
    switch (size) {
    case 1:
        GATHER(uint8_t);
    case 2:
        GATHER(uint16_t);
    case 4:
        GATHER(uint32_t);
    default:
        GATHER(uint64_t);
    }
#undef GATHER
}

int host_permute(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const int *order, struct pkb_error *err)
{
    size_t n = host_numel(dst), size = dtype_size(src->dtype);
    int64_t src_stride[PKB_MAX_DIMS] = {0}, stride[PKB_MAX_DIMS] = {0}, index[PKB_MAX_DIMS] = {0}, step = (int64_t)size;
    (void)dev;
    (void)err;
    if (n == 0)
        return 0;
    for (int i = src->ndim - 1; i >= 0; i--) {
        src_stride[i] = step;
        step *= src->shape[i];
    }
    for (int i = 0; i < src->ndim; i++)
        stride[i] = src_stride[order[i]];
    int last = dst->ndim - 1;
    size_t run = last < 0 ? 1 : (size_t)dst->shape[last];
    const char *from = src->data;
    for (size_t done = 0; done < n; done += run) {
        gather_strided((char *)dst->data + done * size, from, run, last < 0 ? (int64_t)size : stride[last], size);
        for (int i = last - 1; i >= 0; i--) {
            from += stride[i];
            if (++index[i] < dst->shape[i])
                break;
            from -= stride[i] * dst->shape[i];
            index[i] = 0;
        }
    }
    return 0;
}

int host_diagonal(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err)
{
    size_t size = dtype_size(a->dtype);
    (void)dev;
    (void)err;
    if (host_numel(dst) > 0)
        gather_strided(dst->data, a->data, (size_t)dst->shape[0], (a->shape[1] + 1) * (int64_t)size, size);
    return 0;
}

/* ---- look-ups ------------------------------------------------------------------------------------------------------ */

static int64_t integer_at(const pkb_tensor *t, size_t i)
{
    int64_t x;
    dtype_to_i64(t->dtype, &x, (const char *)t->data + i * dtype_size(t->dtype), 1);
    return x;
}

int host_take_rows(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *table, const pkb_tensor *index,
                   struct pkb_error *err)
{
    size_t n = host_numel(index), row = dtype_size(table->dtype);
    (void)dev;
    for (int i = 1; i < table->ndim; i++)
        row *= (size_t)table->shape[i];
    for (size_t i = 0; i < n; i++) {
        int64_t k = integer_at(index, i);
        if (k < 0 || k >= table->shape[0])
            return pkb_error_set(err, "index[%zu] is %" PRId64 ", the table has %" PRId64 " rows", i, k, table->shape[0]);
        if (row > 0)
            memcpy((char *)dst->data + i * row, (const char *)table->data + (size_t)k * row, row);
    }
    return 0;
}

int host_bincount(struct rt_device *dev, pkb_tensor *counts, const pkb_tensor *values, struct pkb_error *err)
{
    int64_t *count = counts->data;
    size_t n = host_numel(values);
    (void)dev;
    for (int64_t i = 0; i < counts->shape[0]; i++)
        count[i] = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t v = integer_at(values, i);
        if (v < 0 || v >= counts->shape[0])
            return pkb_error_set(err, "values[%zu] is %" PRId64 ", there are %" PRId64 " counts", i, v, counts->shape[0]);
        count[v]++;
    }
    return 0;
}

/* ---- sorting ------------------------------------------------------------------------------------------------------- */

struct keyed {
    int64_t key, position;
};

/* Integers in the order of the numbers: -0 equals 0, NaN is last. */
static int64_t sortable(double x)
{
    int64_t bits;
    if (isnan(x))
        return INT64_MAX;
    x += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &x, sizeof(bits));
    return bits < 0 ? INT64_MIN - bits : bits;
}

static void load_keys(struct keyed *list, const pkb_tensor *keys, size_t n)
{
    size_t size = dtype_size(keys->dtype);
    for (size_t i = 0; i < n; i++) {
        double x;
        list[i].position = (int64_t)i;
        if (dtype_is_float(keys->dtype)) {
            dtype_to_f64(keys->dtype, &x, (const char *)keys->data + i * size, 1);
            list[i].key = sortable(x);
        } else {
            list[i].key = integer_at(keys, i);
        }
    }
}

/* Merges two sorted runs, [0, middle) and [middle, n), stably. */
static void merge(struct keyed *to, const struct keyed *from, size_t middle, size_t n)
{
    size_t i = 0, j = middle;
    for (size_t k = 0; k < n; k++) {
        bool left = j == n || (i < middle && from[i].key <= from[j].key);
        to[k] = left ? from[i++] : from[j++];
    }
}

int host_argsort(struct rt_device *dev, pkb_tensor *order, const pkb_tensor *keys, struct pkb_error *err)
{
    size_t n = host_numel(keys);
    int64_t *position = order->data;
    struct keyed *list = host_scratch(dev, SCRATCH_A, n * sizeof(*list), err);
    struct keyed *other = list ? host_scratch(dev, SCRATCH_B, n * sizeof(*list), err) : NULL;
    if (!other)
        return -1;
    load_keys(list, keys, n);
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            size_t count = n - i < 2 * width ? n - i : 2 * width;
            merge(other + i, list + i, count < width ? count : width, count);
        }
        struct keyed *swap = list;
        list = other;
        other = swap;
    }
    for (size_t i = 0; i < n; i++)
        position[i] = list[i].position;
    return 0;
}
