/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms, by the module that is linked to FFTW. */
#include "runtime/host/device.h"
#include "runtime/host/fft.h"
#include "runtime/module.h"

int host_transform(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const struct rt_fft_form *form,
                   struct pkb_error *err)
{
    if (!dev->fft)
        dev->fft = rt_module(HOST_FFT_MODULE, HOST_FFT_SYMBOL, err);
    return dev->fft ? dev->fft->transform(&dev->fft_plans, form, dst->data, src->data, err) : -1;
}

void host_transform_teardown(struct rt_device *dev)
{
    if (dev->fft)
        dev->fft->forget(dev->fft_plans);
}
