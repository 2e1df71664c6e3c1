/* SPDX-License-Identifier: Apache-2.0 */
/* Products: floating types through cuBLAS, in the type of the operands where it has one for them; integers in a kernel of our own. */
#include "runtime/cuda/blas.h"
#include "runtime/cuda/device.h"
#include "runtime/module.h"

static int load_blas(struct rt_device *dev, struct pkb_error *err)
{
    if (dev->blas)
        return 0;
    const struct cuda_blas_ops *blas = rt_module(CUDA_BLAS_MODULE, CUDA_BLAS_SYMBOL, err);
    if (!blas || blas->open(dev, err))
        return -1;
    dev->blas = blas;
    return 0;
}

void cuda_matmul_teardown(struct rt_device *dev)
{
    if (dev->blas)
        dev->blas->close(dev);
}

/* The type in which cuBLAS gets the operands. bf16 holds every e4m3. */
static int operand_type(const pkb_tensor *dst, const pkb_tensor *a)
{
    if (a->dtype == PKB_F64 || dst->dtype == PKB_F64)
        return PKB_F64;
    return a->dtype == PKB_FP8_E4M3 ? PKB_BF16 : a->dtype;
}

/* The type in which cuBLAS gives the product: the destination's where it can, so that it is rounded once. */
static int product_type(int operands, int dst)
{
    if (operands == PKB_F64)
        return PKB_F64;
    return dst == operands ? dst : PKB_F32;
}

/* The operand, or a converted copy. */
static int prepare(struct rt_device *dev, enum cuda_scratch slot, int type, const pkb_tensor *t, struct cuda_array *x,
                   struct pkb_error *err)
{
    int64_t n = cuda_numel(t);
    *x = cuda_array_of(t);
    if (t->dtype == type)
        return 0;
    *x = (struct cuda_array){cuda_scratch(dev, slot, (size_t)n * dtype_size(type), err), type};
    return x->data ? cuda_convert(dev, *x, cuda_array_of(t), n, err) : -1;
}

static int product(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b,
                   const struct rt_matmul_form *f, struct pkb_error *err)
{
    int type = operand_type(dst, a), out = product_type(type, dst->dtype);
    int64_t n = cuda_numel(dst);
    struct cuda_array x, y, c = cuda_array_of(dst);
    if (load_blas(dev, err) || prepare(dev, SCRATCH_A, type, a, &x, err) || prepare(dev, SCRATCH_B, type, b, &y, err))
        return -1;
    if (out != dst->dtype)
        c = (struct cuda_array){cuda_scratch(dev, SCRATCH_C, (size_t)n * dtype_size(out), err), out};
    if (!c.data || dev->blas->product(dev, f, c, x, y, err))
        return -1;
    return out == dst->dtype ? 0 : cuda_convert(dev, cuda_array_of(dst), c, n, err);
}

int cuda_matmul(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b, const struct rt_matmul_form *f,
                struct pkb_error *err)
{
    struct cuda_product p = {f->batch, f->m, f->n, f->k, f->trans_a, f->trans_b};
    if (cuda_numel(dst) == 0)
        return 0;
    if (f->k == 0)
        return cuda_fill(dev, dst, 0, err);
    if (dtype_is_float(a->dtype) || dst->dtype == PKB_F64)
        return product(dev, dst, a, b, f, err);
    return CUDA_FAILS(dev, kernel_product_i64(cuda_array_of(dst), cuda_array_of(a), cuda_array_of(b), &p, dev->stream), err) ? -1
                                                                                                                             : 0;
}
