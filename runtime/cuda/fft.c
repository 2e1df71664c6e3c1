/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/fft.h"

#include <cufft.h>
#include <stdlib.h>

#define PLANS 32 /* as many are kept, with their work areas; the oldest one makes room */

struct plan {
    struct rt_fft_form form;
    cufftHandle handle;
    bool made;
};

struct cuda_fft_plans {
    struct plan list[PLANS];
    size_t next;
};

static int fft_failed(const struct rt_device *dev, cufftResult status, const char *call, struct pkb_error *err)
{
    if (status == CUFFT_ALLOC_FAILED)
        return cuda_error(dev, err, "out of memory in %s", call);
    return status == CUFFT_SUCCESS ? 0 : cuda_error(dev, err, "%s: cuFFT's error %d", call, (int)status);
}

static cufftResult prepare(const struct rt_device *dev, const struct rt_fft_form *f, cufftHandle handle)
{
    static const cufftType types[] = {
        [RT_FFT_FORWARD] = CUFFT_C2C, [RT_FFT_INVERSE] = CUFFT_C2C, [RT_FFT_REAL] = CUFFT_R2C, [RT_FFT_TO_REAL] = CUFFT_C2R};
    long long n = f->n, half = n / 2 + 1;
    long long in = f->kind == RT_FFT_TO_REAL ? half : n, out = f->kind == RT_FFT_REAL ? half : n;
    size_t work;
    cufftResult status = cufftSetStream(handle, dev->stream);
    if (status != CUFFT_SUCCESS)
        return status;
    return cufftMakePlanMany64(handle, 1, &n, &in, 1, in, &out, 1, out, types[f->kind], f->count, &work);
}

static int make_plan(const struct rt_device *dev, struct plan *p, const struct rt_fft_form *f, struct pkb_error *err)
{
    *p = (struct plan){.form = *f};
    if (fft_failed(dev, cufftCreate(&p->handle), "cufftCreate", err))
        return -1;
    if (fft_failed(dev, prepare(dev, f, p->handle), "cufftMakePlanMany64", err)) {
        (void)cufftDestroy(p->handle);
        return -1;
    }
    p->made = true;
    return 0;
}

static struct plan *find_plan(struct rt_device *dev, const struct rt_fft_form *f, struct pkb_error *err)
{
    struct cuda_fft_plans *plans = dev->fft_plans;
    for (size_t i = 0; i < PLANS; i++) {
        struct plan *p = &plans->list[i];
        if (p->made && p->form.kind == f->kind && p->form.count == f->count && p->form.n == f->n)
            return p;
    }
    struct plan *p = &plans->list[plans->next];
    if (p->made && cuda_wait(dev, err)) /* the work area may be in use */
        return NULL;
    if (p->made)
        (void)cufftDestroy(p->handle);
    p->made = false;
    plans->next = (plans->next + 1) % PLANS;
    return make_plan(dev, p, f, err) ? NULL : p;
}

static int fft_transform(struct rt_device *dev, const struct rt_fft_form *f, float *dst, float *src, struct pkb_error *err)
{
    if (!dev->fft_plans)
        dev->fft_plans = calloc(1, sizeof(*dev->fft_plans));
    if (!dev->fft_plans)
        return pkb_error_set(err, "out of memory");
    struct plan *p = find_plan(dev, f, err);
    if (!p)
        return -1;
    if (f->kind == RT_FFT_REAL)
        return fft_failed(dev, cufftExecR2C(p->handle, src, (cufftComplex *)dst), "cufftExecR2C", err);
    if (f->kind == RT_FFT_TO_REAL)
        return fft_failed(dev, cufftExecC2R(p->handle, (cufftComplex *)src, dst), "cufftExecC2R", err);
    int direction = f->kind == RT_FFT_FORWARD ? CUFFT_FORWARD : CUFFT_INVERSE;
    return fft_failed(dev, cufftExecC2C(p->handle, (cufftComplex *)src, (cufftComplex *)dst, direction), "cufftExecC2C", err);
}

static void fft_close(struct rt_device *dev)
{
    for (size_t i = 0; dev->fft_plans && i < PLANS; i++) {
        if (dev->fft_plans->list[i].made)
            (void)cufftDestroy(dev->fft_plans->list[i].handle);
    }
    free(dev->fft_plans);
    dev->fft_plans = NULL;
}

extern const struct cuda_fft_ops pkb_cuda_fft;

__attribute__((visibility("default"))) const struct cuda_fft_ops pkb_cuda_fft = {
    .transform = fft_transform,
    .close = fft_close,
};
