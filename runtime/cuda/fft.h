/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms through cuFFT. A module of its own (plugins/cuda_fft.so): loading cuFFT takes time and memory, which only runs
 * with transforms shall pay for. */
#ifndef PKB_RUNTIME_CUDA_FFT_H
#define PKB_RUNTIME_CUDA_FFT_H

#include "runtime/cuda/device.h"

#define CUDA_FFT_SYMBOL "pkb_cuda_fft"
#define CUDA_FFT_MODULE "cuda_fft.so"

struct cuda_fft_ops {
    /* f->count > 0 transforms of length f->n > 0, src to another dst, both at addresses that are a multiple of 8. src is overwritten by
     * RT_FFT_TO_REAL. What was prepared for forms that were seen before is kept in dev->fft_plans. */
    int (*transform)(struct rt_device *dev, const struct rt_fft_form *f, float *dst, float *src, struct pkb_error *err);
    void (*close)(struct rt_device *dev);
};

#endif
