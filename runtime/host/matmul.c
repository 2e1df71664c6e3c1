/* SPDX-License-Identifier: Apache-2.0 */
/* Products: floating types through BLAS in f32 or f64, integers in i64 loops. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "runtime/host/blas.h"
#include "runtime/host/device.h"
#include "runtime/module.h"

static int load_blas(struct rt_device *dev, const struct rt_matmul_form *f, struct pkb_error *err)
{
    if (f->m > INT_MAX || f->n > INT_MAX || f->k > INT_MAX)
        return pkb_error_set(err, "%" PRId64 " x %" PRId64 " x %" PRId64 " is too large for BLAS", f->m, f->n, f->k);
    if (dev->blas)
        return 0;
    dev->blas = rt_module(HOST_BLAS_MODULE, HOST_BLAS_SYMBOL, err);
    if (!dev->blas)
        return -1;
    dev->blas->start();
    return 0;
}

/* n elements in the type of the product: the operand itself, or a converted copy in scratch memory. */
static const void *operand(struct rt_device *dev, enum host_scratch slot, int type, const pkb_tensor *t, size_t first, size_t n,
                           struct pkb_error *err)
{
    const char *src = (const char *)t->data + first * dtype_size(t->dtype);
    if (t->dtype == type)
        return src;
    void *copy = host_scratch(dev, slot, n * dtype_size(type), err);
    if (copy)
        dtype_convert(type, copy, t->dtype, src, n);
    return copy;
}

/* op(a) op(b) in wrapping 64-bit arithmetic. */
static void multiply_i64(const struct rt_matmul_form *f, const uint64_t *a, const uint64_t *b, uint64_t *c)
{
    size_t m = (size_t)f->m, n = (size_t)f->n, k = (size_t)f->k;
    memset(c, 0, m * n * sizeof(*c));
    for (size_t i = 0; i < m; i++) {
        for (size_t p = 0; p < k; p++) {
            uint64_t x = a[f->trans_a ? p * m + i : i * k + p];
            for (size_t j = 0; j < n; j++)
                c[i * n + j] += x * b[f->trans_b ? j * k + p : p * n + j];
        }
    }
}

static void multiply(struct rt_device *dev, const struct rt_matmul_form *f, int type, const void *a, const void *b, void *c)
{
    int m = (int)f->m, n = (int)f->n, k = (int)f->k;
    if (type == PKB_F32)
        dev->blas->sgemm(f->trans_a, f->trans_b, m, n, k, a, b, c);
    else if (type == PKB_F64)
        dev->blas->dgemm(f->trans_a, f->trans_b, m, n, k, a, b, c);
    else
        multiply_i64(f, a, b, c);
}

/* One product of the stack. */
static int product(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b,
                   const struct rt_matmul_form *f, int type, size_t entry, struct pkb_error *err)
{
    size_t mk = (size_t)f->m * (size_t)f->k, kn = (size_t)f->k * (size_t)f->n, mn = (size_t)f->m * (size_t)f->n;
    char *to = (char *)dst->data + entry * mn * dtype_size(dst->dtype);
    const void *x = operand(dev, SCRATCH_A, type, a, entry * mk, mk, err);
    const void *y = x ? operand(dev, SCRATCH_B, type, b, entry * kn, kn, err) : NULL;
    void *c = y && dst->dtype != type ? host_scratch(dev, SCRATCH_C, mn * dtype_size(type), err) : to;
    if (!y || !c)
        return -1;
    multiply(dev, f, type, x, y, c);
    if (c != to)
        dtype_convert(dst->dtype, to, type, c, mn);
    return 0;
}

int host_matmul(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b, const struct rt_matmul_form *f,
                struct pkb_error *err)
{
    int type = a->dtype == PKB_F64 || dst->dtype == PKB_F64 ? PKB_F64 : dtype_is_float(a->dtype) ? PKB_F32 : PKB_I64;
    if (host_numel(dst) == 0)
        return 0;
    if (f->k == 0)
        return host_fill(dev, dst, 0, err);
    if (type != PKB_I64 && load_blas(dev, f, err))
        return -1;
    for (size_t i = 0; i < (size_t)f->batch; i++) {
        if (product(dev, dst, a, b, f, type, i, err))
            return -1;
    }
    return 0;
}
