/* SPDX-License-Identifier: Apache-2.0 */
/* Operations along the last axis. */
#include "runtime/host/device.h"
#include "runtime/host/kernels.h"

static inline size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Elements of a row, and how many rows there are. */
static size_t row_length(const pkb_tensor *t, size_t *rows)
{
    size_t n = host_numel(t), length = (size_t)t->shape[t->ndim - 1];
    *rows = n > 0 ? n / length : 0;
    return length;
}

/* ---- softmax ------------------------------------------------------------------------------------------------------- */

/* A row in an arithmetic type; `size` bytes per element. */
struct row {
    enum arithmetic type;
    size_t size, n;
    char *data;
};

static void largest(const struct row *r, union kernel_buffer *most)
{
    kernel_neutral(r->type, RT_AMAX, most, 1);
    kernel_fold(r->type, RT_AMAX, most, r->data, r->n);
    kernel_repeat(r->type, most, lesser(r->n, KERNEL_CHUNK));
}

/* Replaces the row by exp(x - most); their sum, accumulated in f64, goes to *sum. */
static void exponentials(const struct row *r, const union kernel_buffer *most, union kernel_buffer *sum)
{
    int dtype = r->type == ARITHMETIC_F64 ? PKB_F64 : PKB_F32;
    union kernel_buffer wide;
    double total = 0;
    for (size_t i = 0; i < r->n; i += KERNEL_CHUNK) {
        size_t count = lesser(r->n - i, KERNEL_CHUNK);
        char *x = r->data + i * r->size;
        (void)kernel_binary(r->type, RT_SUB, x, x, most, count, NULL);
        kernel_unary(r->type, RT_EXP, x, x, count);
        kernel_fold(ARITHMETIC_F64, RT_SUM, &total, kernel_load(ARITHMETIC_F64, &wide, dtype, x, count), count);
    }
    kernel_spread(r->type, sum, total, lesser(r->n, KERNEL_CHUNK));
}

static void softmax_row(const struct row *r, int dst_dtype, char *dst)
{
    union kernel_buffer most, sum, out;
    size_t dst_size = dtype_size(dst_dtype);
    largest(r, &most);
    exponentials(r, &most, &sum);
    for (size_t i = 0; i < r->n; i += KERNEL_CHUNK) {
        size_t count = lesser(r->n - i, KERNEL_CHUNK);
        char *to = dst + i * dst_size;
        (void)kernel_binary(r->type, RT_DIV, kernel_target(r->type, &out, dst_dtype, to), r->data + i * r->size, &sum, count,
                            NULL);
        kernel_store(r->type, &out, dst_dtype, to, count);
    }
}

int host_softmax(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err)
{
    size_t rows, length = row_length(a, &rows), a_size = dtype_size(a->dtype), dst_size = dtype_size(dst->dtype);
    struct row r = {.type = arithmetic_of(dst->dtype, a->dtype, a->dtype), .n = length};
    int dtype = r.type == ARITHMETIC_F64 ? PKB_F64 : PKB_F32;
    r.size = dtype_size(dtype);
    r.data = host_scratch(dev, SCRATCH_A, length * r.size, err);
    if (!r.data)
        return -1;
    for (size_t i = 0; i < rows; i++) {
        dtype_convert(dtype, r.data, a->dtype, (const char *)a->data + i * length * a_size, length);
        softmax_row(&r, dst->dtype, (char *)dst->data + i * length * dst_size);
    }
    return 0;
}

/* ---- running sums -------------------------------------------------------------------------------------------------- */

int host_cumsum(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err)
{
    enum arithmetic type = dtype_is_float(a->dtype) ? ARITHMETIC_F64 : ARITHMETIC_I64;
    size_t rows, length = row_length(a, &rows), a_size = dtype_size(a->dtype), dst_size = dtype_size(dst->dtype);
    union kernel_buffer in, out, sum;
    (void)dev;
    (void)err;
    for (size_t i = 0; i < rows; i++) {
        kernel_neutral(type, RT_SUM, &sum, 1);
        for (size_t j = 0; j < length; j += KERNEL_CHUNK) {
            size_t count = lesser(length - j, KERNEL_CHUNK), at = i * length + j;
            char *to = (char *)dst->data + at * dst_size;
            const void *x = kernel_load(type, &in, a->dtype, (const char *)a->data + at * a_size, count);
            kernel_scan(type, &sum, kernel_target(type, &out, dst->dtype, to), x, count);
            kernel_store(type, &out, dst->dtype, to, count);
        }
    }
    return 0;
}
