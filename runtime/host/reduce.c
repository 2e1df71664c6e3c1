/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions along an axis, accumulated in f64 (floating types) or i64, rounded once. */
#include "runtime/host/device.h"
#include "runtime/host/kernels.h"

static inline size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A run that lies together in memory, into one accumulator. */
static void reduce_run(enum arithmetic type, enum rt_reduction op, int dtype, const char *src, size_t n, void *accumulator)
{
    union kernel_buffer buf;
    size_t size = dtype_size(dtype);
    for (size_t i = 0; i < n; i += KERNEL_CHUNK) {
        size_t count = lesser(n - i, KERNEL_CHUNK);
        kernel_fold(type, op, accumulator, kernel_load(type, &buf, dtype, src + i * size, count), count);
    }
}

/* `count` neighbouring columns, each over `length` entries that are `pitch` bytes apart. */
static void reduce_columns(enum arithmetic type, enum rt_reduction op, int dtype, const char *src, size_t length, size_t pitch,
                           size_t count, union kernel_buffer *accumulators)
{
    union kernel_buffer buf;
    for (size_t k = 0; k < length; k++)
        kernel_accumulate(type, op, accumulators, kernel_load(type, &buf, dtype, src + k * pitch, count), count);
}

static void store(enum arithmetic type, const union kernel_buffer *accumulators, pkb_tensor *dst, size_t at, size_t count)
{
    char *to = (char *)dst->data + at * dtype_size(dst->dtype);
    if (type == ARITHMETIC_F64)
        dtype_from_f64(dst->dtype, to, accumulators->f64, count);
    else
        dtype_from_i64(dst->dtype, to, accumulators->i64, count);
}

int host_reduce_axis(struct rt_device *dev, enum rt_reduction op, pkb_tensor *dst, const pkb_tensor *a,
                     const struct rt_reduce_form *f, struct pkb_error *err)
{
    enum arithmetic type = dtype_is_float(a->dtype) ? ARITHMETIC_F64 : ARITHMETIC_I64;
    union kernel_buffer accumulators;
    size_t length = (size_t)f->length, inner = (size_t)f->inner, size = dtype_size(a->dtype);
    (void)dev;
    (void)err;
    for (size_t o = 0; o < (size_t)f->outer; o++) {
        const char *src = (const char *)a->data + o * length * inner * size;
        for (size_t j = 0; j < inner; j += KERNEL_CHUNK) {
            size_t count = lesser(inner - j, KERNEL_CHUNK);
            kernel_neutral(type, op, &accumulators, count);
            if (inner == 1)
                reduce_run(type, op, a->dtype, src, length, &accumulators);
            else
                reduce_columns(type, op, a->dtype, src + j * size, length, inner * size, count, &accumulators);
            store(type, &accumulators, dst, o * inner + j, count);
        }
    }
    return 0;
}
