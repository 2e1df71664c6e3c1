/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operations: a run is handled in chunks that are converted, computed and rounded while they are in the cache. */
#include <string.h>

#include "runtime/host/broadcast.h"
#include "runtime/host/device.h"
#include "runtime/host/kernels.h"

static inline size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- copy, fill, unary --------------------------------------------------------------------------------------------- */

int host_copy(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, struct pkb_error *err)
{
    size_t n = host_numel(src), bytes = n * dtype_size(src->dtype);
    void *apart;
    if (dst->dtype == src->dtype) {
        if (bytes > 0)
            memmove(dst->data, src->data, bytes);
        return 0;
    }
    if (dst->data != src->data) {
        dtype_convert(dst->dtype, dst->data, src->dtype, src->data, n);
        return 0;
    }
    apart = host_scratch(dev, SCRATCH_A, bytes, err);
    if (!apart)
        return -1;
    if (bytes > 0)
        memcpy(apart, src->data, bytes);
    dtype_convert(dst->dtype, dst->data, src->dtype, apart, n);
    return 0;
}

int host_fill(struct rt_device *dev, pkb_tensor *dst, double value, struct pkb_error *err)
{
    size_t n = host_numel(dst), size = dtype_size(dst->dtype), chunk = lesser(n, KERNEL_CHUNK);
    double values[KERNEL_CHUNK];
    (void)dev;
    (void)err;
    for (size_t i = 0; i < chunk; i++)
        values[i] = value;
    dtype_from_f64(dst->dtype, dst->data, values, chunk);
    for (size_t i = chunk; i < n; i += chunk)
        memcpy((char *)dst->data + i * size, dst->data, lesser(n - i, chunk) * size);
    return 0;
}

int host_unary(struct rt_device *dev, enum rt_unary op, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err)
{
    enum arithmetic type = arithmetic_of(dst->dtype, a->dtype, a->dtype);
    size_t n = host_numel(dst), dst_size = dtype_size(dst->dtype), a_size = dtype_size(a->dtype);
    union kernel_buffer in, out;
    (void)dev;
    (void)err;
    for (size_t i = 0; i < n; i += KERNEL_CHUNK) {
        size_t count = lesser(n - i, KERNEL_CHUNK);
        char *to = (char *)dst->data + i * dst_size;
        const void *x = kernel_load(type, &in, a->dtype, (const char *)a->data + i * a_size, count);
        kernel_unary(type, op, kernel_target(type, &out, dst->dtype, to), x, count);
        kernel_store(type, &out, dst->dtype, to, count);
    }
    return 0;
}

/* ---- binary -------------------------------------------------------------------------------------------------------- */

/* n elements of the current run from its i-th on. */
static const void *load_operand(enum arithmetic type, union kernel_buffer *buf, const struct broadcast_operand *x, size_t i,
                                size_t n)
{
    if (!x->still)
        return kernel_load(type, buf, x->dtype, x->at + i * x->size, n);
    const void *one = kernel_load(type, buf, x->dtype, x->at, 1);
    if (one != buf)
        memcpy(buf, one, x->size);
    kernel_repeat(type, buf, n);
    return buf;
}

/* One run of the innermost dimension. */
static int run_binary(enum arithmetic type, enum rt_binary op, int dtype, char *dst, const struct broadcast *p,
                      struct pkb_error *err)
{
    union kernel_buffer x_buf, y_buf, out;
    const struct broadcast_operand *a = &p->operands[0], *b = &p->operands[1];
    size_t dst_size = dtype_size(dtype);
    for (size_t i = 0; i < p->run; i += KERNEL_CHUNK) {
        size_t count = lesser(p->run - i, KERNEL_CHUNK);
        const void *x = load_operand(type, &x_buf, a, i, count);
        const void *y = load_operand(type, &y_buf, b, i, count);
        char *to = dst + i * dst_size;
        if (kernel_binary(type, op, kernel_target(type, &out, dtype, to), x, y, count, err))
            return -1;
        kernel_store(type, &out, dtype, to, count);
    }
    return 0;
}

int host_binary(struct rt_device *dev, enum rt_binary op, pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b,
                struct pkb_error *err)
{
    enum arithmetic type = arithmetic_of(dst->dtype, a->dtype, b->dtype);
    size_t n = host_numel(dst);
    struct broadcast p;
    (void)dev;
    if (n == 0)
        return 0;
    broadcast_plan(&p, dst, 2, (const pkb_tensor *const[]){a, b});
    size_t step = p.run * dtype_size(dst->dtype);
    char *to = dst->data;
    for (size_t done = 0; done < n; done += p.run, to += step) {
        if (run_binary(type, op, dst->dtype, to, &p, err))
            return -1;
        broadcast_advance(&p);
    }
    return 0;
}

int host_binary_scalar(struct rt_device *dev, enum rt_binary op, pkb_tensor *dst, const pkb_tensor *a, double b,
                       struct pkb_error *err)
{
    enum arithmetic type = arithmetic_of(dst->dtype, a->dtype, a->dtype);
    size_t n = host_numel(dst), dst_size = dtype_size(dst->dtype), a_size = dtype_size(a->dtype);
    union kernel_buffer in, scalar, out;
    (void)dev;
    kernel_spread(type, &scalar, b, lesser(n, KERNEL_CHUNK));
    for (size_t i = 0; i < n; i += KERNEL_CHUNK) {
        size_t count = lesser(n - i, KERNEL_CHUNK);
        char *to = (char *)dst->data + i * dst_size;
        const void *x = kernel_load(type, &in, a->dtype, (const char *)a->data + i * a_size, count);
        if (kernel_binary(type, op, kernel_target(type, &out, dst->dtype, to), x, &scalar, count, err))
            return -1;
        kernel_store(type, &out, dst->dtype, to, count);
    }
    return 0;
}

/* ---- selection, counting ------------------------------------------------------------------------------------------- */

/* d[i] = flag[i] ? a[i] : b[i]; a and b advance by 0 or 1 elements. */
static void select_elements(size_t size, char *d, const uint8_t *flag, const char *a, size_t a_step, const char *b, size_t b_step,
                            size_t n)
{
#define SELECT(type)                                                                                                             \
    for (size_t i = 0; i < n; i++) {                                                                                             \
        type x = ((const type *)a)[i * a_step], y = ((const type *)b)[i * b_step];                                               \
        ((type *)d)[i] = flag[i] ? x : y;                                                                                        \
    }                                                                                                                            \
    break
    switch (size) {
    case 1:
        SELECT(uint8_t);
    case 2:
        SELECT(uint16_t);
    case 4:
        SELECT(uint32_t);
    default:
        SELECT(uint64_t);
    }
#undef SELECT
}

static void run_where(size_t size, char *dst, const struct broadcast *p)
{
    uint8_t flags[KERNEL_CHUNK];
    const struct broadcast_operand *c = &p->operands[0], *a = &p->operands[1], *b = &p->operands[2];
    for (size_t i = 0; i < p->run; i += KERNEL_CHUNK) {
        size_t count = lesser(p->run - i, KERNEL_CHUNK), from = c->still ? 0 : i;
        dtype_convert(PKB_BOOL, flags, c->dtype, c->at + from * c->size, c->still ? 1 : count);
        if (c->still)
            memset(flags, flags[0], count);
        select_elements(size, dst + i * size, flags, a->at + (a->still ? 0 : i * size), !a->still,
                        b->at + (b->still ? 0 : i * size), !b->still, count);
    }
}

int host_where(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *condition, const pkb_tensor *a, const pkb_tensor *b,
               struct pkb_error *err)
{
    size_t n = host_numel(dst), size = dtype_size(dst->dtype);
    struct broadcast p;
    (void)dev;
    (void)err;
    if (n == 0)
        return 0;
    broadcast_plan(&p, dst, 3, (const pkb_tensor *const[]){condition, a, b});
    char *to = dst->data;
    for (size_t done = 0; done < n; done += p.run, to += p.run * size) {
        run_where(size, to, &p);
        broadcast_advance(&p);
    }
    return 0;
}

/* In f64 for floating types, so that one rounding is left, and in wrapping i64 for integers. */
int host_iota(struct rt_device *dev, pkb_tensor *dst, double first, double step, struct pkb_error *err)
{
    enum arithmetic type = dtype_is_float(dst->dtype) ? ARITHMETIC_F64 : ARITHMETIC_I64;
    size_t n = host_numel(dst), size = dtype_size(dst->dtype);
    union kernel_buffer out;
    (void)dev;
    (void)err;
    for (size_t i = 0; i < n; i += KERNEL_CHUNK) {
        size_t count = lesser(n - i, KERNEL_CHUNK);
        char *to = (char *)dst->data + i * size;
        kernel_iota(type, kernel_target(type, &out, dst->dtype, to), first, step, i, count);
        kernel_store(type, &out, dst->dtype, to, count);
    }
    return 0;
}
