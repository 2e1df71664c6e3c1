/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operations: broadcasting comes down to runs along which each operand either advances or stands still; a run is
 * handled in chunks that are converted, computed and rounded while they are in the cache. */
#include <string.h>

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

struct operand {
    int dtype;
    const char *data;
    size_t size;                  /* bytes of an element */
    int64_t stride[PKB_MAX_DIMS]; /* in elements, outermost first; 0: stands still */
};

/* Dimensions of a broadcast, merged as far as both operands allow. */
struct plan {
    int ndim;
    int64_t shape[PKB_MAX_DIMS];
    struct operand a, b;
};

static struct operand operand_of(const pkb_tensor *t, int ndim)
{
    struct operand x = {.dtype = t->dtype, .data = t->data, .size = dtype_size(t->dtype)};
    int64_t stride = 1;
    for (int i = t->ndim - 1, j = ndim - 1; i >= 0; i--, j--) {
        x.stride[j] = t->shape[i] == 1 ? 0 : stride;
        stride *= t->shape[i];
    }
    return x;
}

/* Whether walking dimension `outer` is going on where dimension `inner` (of `extent` entries) ended. */
static bool continues(const struct operand *x, int outer, int inner, int64_t extent)
{
    return x->stride[outer] == x->stride[inner] * extent;
}

static void plan_broadcast(struct plan *p, const pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b)
{
    *p = (struct plan){.a = operand_of(a, dst->ndim), .b = operand_of(b, dst->ndim)};
    int last = -1;
    for (int i = 0; i < dst->ndim; i++) {
        if (dst->shape[i] == 1)
            continue;
        bool merge = last >= 0 && continues(&p->a, last, i, dst->shape[i]) && continues(&p->b, last, i, dst->shape[i]);
        last += merge ? 0 : 1;
        p->shape[last] = merge ? p->shape[last] * dst->shape[i] : dst->shape[i];
        p->a.stride[last] = p->a.stride[i];
        p->b.stride[last] = p->b.stride[i];
    }
    p->ndim = last + 1;
    if (p->ndim == 0) {
        p->shape[p->ndim++] = 1;
        p->a.stride[0] = p->b.stride[0] = 0;
    }
}

static const void *load_operand(enum arithmetic type, union kernel_buffer *buf, const struct operand *x, const char *at,
                                bool still, size_t n)
{
    if (!still)
        return kernel_load(type, buf, x->dtype, at, n);
    const void *one = kernel_load(type, buf, x->dtype, at, 1);
    if (one != buf)
        memcpy(buf, one, x->size);
    kernel_repeat(type, buf, n);
    return buf;
}

/* One run of the innermost dimension. */
static int run_binary(enum arithmetic type, enum rt_binary op, int dtype, char *dst, const struct plan *p, const char *a,
                      const char *b, struct pkb_error *err)
{
    union kernel_buffer x_buf, y_buf, out;
    size_t n = (size_t)p->shape[p->ndim - 1], dst_size = dtype_size(dtype);
    bool a_still = p->a.stride[p->ndim - 1] == 0, b_still = p->b.stride[p->ndim - 1] == 0;
    for (size_t i = 0; i < n; i += KERNEL_CHUNK) {
        size_t count = lesser(n - i, KERNEL_CHUNK);
        const void *x = load_operand(type, &x_buf, &p->a, a + (a_still ? 0 : i * p->a.size), a_still, count);
        const void *y = load_operand(type, &y_buf, &p->b, b + (b_still ? 0 : i * p->b.size), b_still, count);
        char *to = dst + i * dst_size;
        if (kernel_binary(type, op, kernel_target(type, &out, dtype, to), x, y, count, err))
            return -1;
        kernel_store(type, &out, dtype, to, count);
    }
    return 0;
}

/* Advances the index of all dimensions but the innermost, and both operands with it. */
static void advance(const struct plan *p, int64_t *index, const char **a, const char **b)
{
    for (int i = p->ndim - 2; i >= 0; i--) {
        *a += p->a.stride[i] * (int64_t)p->a.size;
        *b += p->b.stride[i] * (int64_t)p->b.size;
        if (++index[i] < p->shape[i])
            return;
        *a -= p->a.stride[i] * (int64_t)p->a.size * p->shape[i];
        *b -= p->b.stride[i] * (int64_t)p->b.size * p->shape[i];
        index[i] = 0;
    }
}

int host_binary(struct rt_device *dev, enum rt_binary op, pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b,
                struct pkb_error *err)
{
    enum arithmetic type = arithmetic_of(dst->dtype, a->dtype, b->dtype);
    size_t n = host_numel(dst);
    struct plan p;
    int64_t index[PKB_MAX_DIMS] = {0};
    (void)dev;
    if (n == 0)
        return 0;
    plan_broadcast(&p, dst, a, b);
    size_t run = (size_t)p.shape[p.ndim - 1], step = run * dtype_size(dst->dtype);
    const char *x = p.a.data, *y = p.b.data;
    char *to = dst->data;
    for (size_t done = 0; done < n; done += run, to += step) {
        if (run_binary(type, op, dst->dtype, to, &p, x, y, err))
            return -1;
        advance(&p, index, &x, &y);
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
