/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/blas.h"

#include <cublas_v2.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

/* What NVIDIA recommends for Hopper and later; earlier GPUs need less. */
#define WORKSPACE_BYTES ((size_t)32 << 20)

struct blas {
    cublasHandle_t handle;
    void *workspace;
};

static int blas_failed(const struct rt_device *dev, cublasStatus_t status, const char *call, struct pkb_error *err)
{
    return status == CUBLAS_STATUS_SUCCESS ? 0 : cuda_error(dev, err, "%s: %s", call, cublasGetStatusString(status));
}

static void blas_close(struct rt_device *dev)
{
    struct blas *b = dev->blas_handle;
    if (!b)
        return;
    if (b->handle)
        (void)cublasDestroy(b->handle);
    (void)cudaFree(b->workspace);
    free(b);
    dev->blas_handle = NULL;
}

static int configure(struct rt_device *dev, struct blas *b, struct pkb_error *err)
{
    /* No TF32 and no sums in bf16 or f16: products are as exact as their type allows. */
    cublasMath_t mode = CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    if (blas_failed(dev, cublasCreate(&b->handle), "cublasCreate", err) ||
        blas_failed(dev, cublasSetStream(b->handle, dev->stream), "cublasSetStream", err) ||
        CUDA_FAILS(dev, cudaMalloc(&b->workspace, WORKSPACE_BYTES), err))
        return -1;
    if (blas_failed(dev, cublasSetWorkspace(b->handle, b->workspace, WORKSPACE_BYTES), "cublasSetWorkspace", err))
        return -1;
    return blas_failed(dev, cublasSetMathMode(b->handle, mode), "cublasSetMathMode", err);
}

static int blas_open(struct rt_device *dev, struct pkb_error *err)
{
    struct blas *b = calloc(1, sizeof(*b));
    if (!b)
        return pkb_error_set(err, "out of memory");
    dev->blas_handle = b;
    if (configure(dev, b, err)) {
        blas_close(dev);
        return -1;
    }
    return 0;
}

static cudaDataType_t type_of(int dtype)
{
    switch (dtype) {
    case PKB_BF16:
        return CUDA_R_16BF;
    case PKB_F16:
        return CUDA_R_16F;
    case PKB_F32:
        return CUDA_R_32F;
    default:
        return CUDA_R_64F;
    }
}

static cublasOperation_t flag(bool transposed)
{
    return transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/* cuBLAS counts columns first: it is asked for the transposed product, op(b)' op(a)'. */
static int blas_product(struct rt_device *dev, const struct rt_matmul_form *f, struct cuda_array c, struct cuda_array a,
                        struct cuda_array b, struct pkb_error *err)
{
    struct blas *blas = dev->blas_handle;
    const float one_f32 = 1, zero_f32 = 0;
    const double one_f64 = 1, zero_f64 = 0;
    bool wide = c.dtype == PKB_F64;
    const void *one = wide ? (const void *)&one_f64 : &one_f32, *zero = wide ? (const void *)&zero_f64 : &zero_f32;
    if (f->m > INT_MAX || f->n > INT_MAX || f->k > INT_MAX || f->batch > INT_MAX)
        return pkb_error_set(err, "%" PRId64 " x %" PRId64 " x %" PRId64 " is too large for cuBLAS", f->m, f->n, f->k);
    int m = (int)f->m, n = (int)f->n, k = (int)f->k;
    cublasStatus_t status = cublasGemmStridedBatchedEx(
        blas->handle, flag(f->trans_b), flag(f->trans_a), n, m, k, one, b.data, type_of(b.dtype), f->trans_b ? k : n, f->k * f->n,
        a.data, type_of(a.dtype), f->trans_a ? m : k, f->m * f->k, zero, c.data, type_of(c.dtype), n, f->m * f->n, (int)f->batch,
        wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    return blas_failed(dev, status, "cublasGemmStridedBatchedEx", err);
}

extern const struct cuda_blas_ops pkb_cuda_blas;

__attribute__((visibility("default"))) const struct cuda_blas_ops pkb_cuda_blas = {
    .open = blas_open,
    .close = blas_close,
    .product = blas_product,
};
