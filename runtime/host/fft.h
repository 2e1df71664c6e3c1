/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms through FFTW. A module of its own (plugins/host_fft.so), loaded at the first transform: FFTW is under the GPL, and
 * that file is all that is linked to it. */
#ifndef PKB_RUNTIME_HOST_FFT_H
#define PKB_RUNTIME_HOST_FFT_H

#include "runtime/backend.h"

#define HOST_FFT_SYMBOL "pkb_host_fft"
#define HOST_FFT_MODULE "host_fft.so"

struct host_fft_plans;

struct host_fft {
    /* f->count > 0 transforms of length f->n > 0, src to another dst. *plans, NULL at first, keeps what was prepared for forms that were
     * seen before. -1 with the error set when memory runs out. */
    int (*transform)(struct host_fft_plans **plans, const struct rt_fft_form *f, float *dst, const float *src,
                     struct pkb_error *err);
    /* NULL-safe. */
    void (*forget)(struct host_fft_plans *plans);
};

#endif
