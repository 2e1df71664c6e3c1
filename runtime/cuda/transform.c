/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms, by the module that is linked to cuFFT. */
#include "runtime/cuda/device.h"
#include "runtime/cuda/fft.h"
#include "runtime/module.h"

/* cuFFT wants whole complex numbers at addresses that fit them, real vectors too. */
static bool fits(const void *data)
{
    return (uintptr_t)data % (2 * sizeof(float)) == 0;
}

static int copy_bytes(struct rt_device *dev, void *dst, const void *src, size_t bytes, struct pkb_error *err)
{
    return CUDA_FAILS(dev, cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, dev->stream), err) ? -1 : 0;
}

int cuda_transform(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const struct rt_fft_form *form,
                   struct pkb_error *err)
{
    size_t in = (size_t)cuda_numel(src) * sizeof(float), out = (size_t)cuda_numel(dst) * sizeof(float);
    void *from = src->data, *to = dst->data;
    if (!dev->fft)
        dev->fft = rt_module(CUDA_FFT_MODULE, CUDA_FFT_SYMBOL, err);
    if (!dev->fft)
        return -1;
    if (form->kind == RT_FFT_TO_REAL || !fits(from)) { /* such a transform overwrites what it reads */
        from = cuda_scratch(dev, SCRATCH_A, in, err);
        if (!from || copy_bytes(dev, from, src->data, in, err))
            return -1;
    }
    if (!fits(to))
        to = cuda_scratch(dev, SCRATCH_B, out, err);
    if (!to || dev->fft->transform(dev, form, to, from, err))
        return -1;
    return to == dst->data ? 0 : copy_bytes(dev, dst->data, to, out, err);
}

void cuda_transform_teardown(struct rt_device *dev)
{
    if (dev->fft)
        dev->fft->close(dev);
}
