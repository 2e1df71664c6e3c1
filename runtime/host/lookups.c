/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups, moves of rows, counting. */
#include <inttypes.h>
#include <string.h>

#include "runtime/host/device.h"
#include "runtime/host/kernels.h"

static inline size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* An index as i64, all of it in 0..limit-1: its own storage, or a copy in scratch memory A. */
static const int64_t *read_index(struct rt_device *dev, const pkb_tensor *index, int64_t limit, struct pkb_error *err)
{
    size_t n = host_numel(index);
    const int64_t *list = index->data;
    if (index->dtype != PKB_I64) {
        int64_t *wide = host_scratch(dev, SCRATCH_A, n * sizeof(*wide), err);
        if (!wide)
            return NULL;
        dtype_to_i64(index->dtype, wide, index->data, n);
        list = wide;
    }
    for (size_t i = 0; i < n; i++) {
        if (list[i] < 0 || list[i] >= limit) {
            (void)pkb_error_set(err, "index[%zu] is %" PRId64 ", there are %" PRId64 " entries", i, list[i], limit);
            return NULL;
        }
    }
    return list;
}

static size_t row_elements(const pkb_tensor *t)
{
    size_t n = 1;
    for (int i = 1; i < t->ndim; i++)
        n *= (size_t)t->shape[i];
    return n;
}

/* ---- taking -------------------------------------------------------------------------------------------------------- */

/* dst[i] = src[index[i]] for n entries of `size` bytes. */
static void take_entries(char *dst, const char *src, const int64_t *index, size_t n, size_t size)
{
#define TAKE(type)                                                                                                               \
    for (size_t i = 0; i < n; i++)                                                                                               \
        memcpy(dst + i * sizeof(type), src + (size_t)index[i] * sizeof(type), sizeof(type));                                     \
    break
    switch (size) {
    case 1:
        TAKE(uint8_t);
    case 2:
        TAKE(uint16_t);
    case 4:
        TAKE(uint32_t);
    case 8:
        TAKE(uint64_t);
    default:
        for (size_t i = 0; i < n; i++)
            memcpy(dst + i * size, src + (size_t)index[i] * size, size);
    }
#undef TAKE
}

int host_take(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index,
              const struct rt_take_form *f, struct pkb_error *err)
{
    size_t count = (size_t)f->count, entry = (size_t)f->inner * dtype_size(src->dtype), length = (size_t)f->length;
    if (count == 0)
        return 0;
    const int64_t *list = read_index(dev, index, f->length, err);
    if (!list)
        return -1;
    for (size_t o = 0; o < (size_t)f->outer && entry > 0; o++)
        take_entries((char *)dst->data + o * count * entry, (const char *)src->data + o * length * entry, list, count, entry);
    return 0;
}

int host_take_along(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index, struct pkb_error *err)
{
    size_t n = host_numel(dst), size = dtype_size(src->dtype);
    size_t count = (size_t)index->shape[index->ndim - 1], length = (size_t)src->shape[src->ndim - 1];
    if (n == 0)
        return 0;
    const int64_t *list = read_index(dev, index, (int64_t)length, err);
    if (!list)
        return -1;
    for (size_t row = 0; row < n / count; row++)
        take_entries((char *)dst->data + row * count * size, (const char *)src->data + row * length * size, list + row * count,
                     count, size);
    return 0;
}

/* ---- moves of rows ------------------------------------------------------------------------------------------------- */

int host_put_rows(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index, struct pkb_error *err)
{
    size_t n = host_numel(index), row = row_elements(src) * dtype_size(src->dtype);
    if (n == 0)
        return 0;
    const int64_t *list = read_index(dev, index, dst->shape[0], err);
    if (!list)
        return -1;
    for (size_t i = 0; i < n && row > 0; i++)
        memcpy((char *)dst->data + (size_t)list[i] * row, (const char *)src->data + i * row, row);
    return 0;
}

/* For every row of the destination the rows of the source that go there, in ascending order: first[r] is the first one, next[i]
 * the one after i; -1: none. */
struct chains {
    int64_t *first, *next;
};

static int chain(struct rt_device *dev, struct chains *c, const int64_t *index, size_t n, size_t rows, struct pkb_error *err)
{
    c->first = host_scratch(dev, SCRATCH_B, (rows + n) * sizeof(*c->first), err);
    if (!c->first)
        return -1;
    c->next = c->first + rows;
    for (size_t r = 0; r < rows; r++)
        c->first[r] = -1;
    for (size_t i = n; i-- > 0;) {
        c->next[i] = c->first[index[i]];
        c->first[index[i]] = (int64_t)i;
    }
    return 0;
}

/* `count` neighbouring elements of one row of dst: at `from` those of the source's row 0, whose rows are `pitch` bytes apart. */
static void add_chain(enum arithmetic type, pkb_tensor *dst, char *to, const pkb_tensor *src, const char *from, size_t pitch,
                      const struct chains *c, size_t row, size_t count)
{
    union kernel_buffer sum, in;
    kernel_neutral(type, RT_SUM, &sum, count);
    for (int64_t i = c->first[row]; i >= 0; i = c->next[i])
        kernel_accumulate(type, RT_SUM, &sum, kernel_load(type, &in, src->dtype, from + (size_t)i * pitch, count), count);
    kernel_accumulate(type, RT_SUM, &sum, kernel_load(type, &in, dst->dtype, to, count), count);
    if (type == ARITHMETIC_F64)
        dtype_from_f64(dst->dtype, to, sum.f64, count);
    else
        dtype_from_i64(dst->dtype, to, sum.i64, count);
}

int host_add_rows(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index, struct pkb_error *err)
{
    bool floating = dtype_is_float(dst->dtype) || dtype_is_float(src->dtype);
    enum arithmetic type = floating ? ARITHMETIC_F64 : ARITHMETIC_I64;
    size_t n = host_numel(index), row = row_elements(src), rows = (size_t)dst->shape[0];
    size_t dst_size = dtype_size(dst->dtype), src_size = dtype_size(src->dtype);
    struct chains c;
    if (n == 0)
        return 0;
    const int64_t *list = read_index(dev, index, dst->shape[0], err);
    if (!list || chain(dev, &c, list, n, rows, err))
        return -1;
    for (size_t r = 0; r < rows; r++) {
        for (size_t j = 0; j < row && c.first[r] >= 0; j += KERNEL_CHUNK)
            add_chain(type, dst, (char *)dst->data + (r * row + j) * dst_size, src, (const char *)src->data + j * src_size,
                      row * src_size, &c, r, lesser(row - j, KERNEL_CHUNK));
    }
    return 0;
}

/* ---- counting ------------------------------------------------------------------------------------------------------ */

int host_bincount(struct rt_device *dev, pkb_tensor *counts, const pkb_tensor *values, struct pkb_error *err)
{
    int64_t *count = counts->data, chunk[KERNEL_CHUNK];
    size_t n = host_numel(values), size = dtype_size(values->dtype);
    (void)dev;
    for (int64_t i = 0; i < counts->shape[0]; i++)
        count[i] = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t v;
        if (i % KERNEL_CHUNK == 0)
            dtype_to_i64(values->dtype, chunk, (const char *)values->data + i * size, lesser(n - i, KERNEL_CHUNK));
        v = chunk[i % KERNEL_CHUNK];
        if (v < 0 || v >= counts->shape[0])
            return pkb_error_set(err, "values[%zu] is %" PRId64 ", there are %" PRId64 " counts", i, v, counts->shape[0]);
        count[v]++;
    }
    return 0;
}
