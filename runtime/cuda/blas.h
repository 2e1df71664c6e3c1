/* SPDX-License-Identifier: Apache-2.0 */
/* Products through cuBLAS. A module of its own (plugins/cuda_blas.so): loading cuBLAS takes time and memory, which only runs with
 * products shall pay for. */
#ifndef PKB_RUNTIME_CUDA_BLAS_H
#define PKB_RUNTIME_CUDA_BLAS_H

#include "runtime/cuda/device.h"

#define CUDA_BLAS_SYMBOL "pkb_cuda_blas"
#define CUDA_BLAS_MODULE "cuda_blas.so"

struct cuda_blas_ops {
    /* Sets dev->blas_handle, with its workspace. */
    int (*open)(struct rt_device *dev, struct pkb_error *err);
    void (*close)(struct rt_device *dev);

    /* c = op(a) op(b). a and b have one type. Those that work: bf16 or f16 into itself or f32, f32 into f32, f64 into f64; m, n, k and
     * batch > 0. Accumulates in f32, or f64. */
    int (*product)(struct rt_device *dev, const struct rt_matmul_form *f, struct cuda_array c, struct cuda_array a,
                   struct cuda_array b, struct pkb_error *err);
};

#endif
