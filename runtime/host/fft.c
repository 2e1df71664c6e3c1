/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/host/fft.h"

#include <fftw3.h>
#include <pthread.h>
#include <stdlib.h>

#define PLANS 32 /* as many are kept; the oldest one makes room */

struct plan {
    struct rt_fft_form form;
    bool aligned; /* source and destination start where FFTW's vector instructions want them */
    fftwf_plan made;
};

struct host_fft_plans {
    struct plan list[PLANS];
    size_t next;
};

static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER; /* FFTW's is one per process, without a lock of its own */

/* Estimates, because measuring makes plans, and so the last bits of results, differ from run to run. Estimating does not touch the
 * arrays. */
static fftwf_plan make_plan(const struct rt_fft_form *f, bool aligned, float *dst, float *src)
{
    unsigned flags = FFTW_ESTIMATE | FFTW_PRESERVE_INPUT | (aligned ? 0 : FFTW_UNALIGNED);
    ptrdiff_t n = (ptrdiff_t)f->n, half = n / 2 + 1;
    fftwf_iodim64 along = {n, 1, 1}, rows = {(ptrdiff_t)f->count, n, n};
    switch (f->kind) {
    case RT_FFT_REAL:
        rows.os = half;
        return fftwf_plan_guru64_dft_r2c(1, &along, 1, &rows, src, (fftwf_complex *)dst, flags);
    case RT_FFT_TO_REAL:
        rows.is = half;
        return fftwf_plan_guru64_dft_c2r(1, &along, 1, &rows, (fftwf_complex *)src, dst, flags);
    default:
        return fftwf_plan_guru64_dft(1, &along, 1, &rows, (fftwf_complex *)src, (fftwf_complex *)dst,
                                     f->kind == RT_FFT_FORWARD ? FFTW_FORWARD : FFTW_BACKWARD, flags);
    }
}

static fftwf_plan find_plan(struct host_fft_plans *plans, const struct rt_fft_form *f, float *dst, float *src)
{
    bool aligned = fftwf_alignment_of(dst) == 0 && fftwf_alignment_of(src) == 0;
    for (size_t i = 0; i < PLANS; i++) {
        const struct plan *p = &plans->list[i];
        if (p->made && p->form.kind == f->kind && p->form.count == f->count && p->form.n == f->n && p->aligned == aligned)
            return p->made;
    }
    struct plan *p = &plans->list[plans->next];
    (void)pthread_mutex_lock(&planner);
    if (p->made)
        fftwf_destroy_plan(p->made);
    *p = (struct plan){*f, aligned, make_plan(f, aligned, dst, src)};
    (void)pthread_mutex_unlock(&planner);
    plans->next = (plans->next + 1) % PLANS;
    return p->made;
}

static int transform(struct host_fft_plans **plans, const struct rt_fft_form *f, float *dst, const float *src,
                     struct pkb_error *err)
{
    float *from = (float *)(uintptr_t)src; /* FFTW_PRESERVE_INPUT: it is only read */
    if (!*plans)
        *plans = calloc(1, sizeof(**plans));
    fftwf_plan plan = *plans ? find_plan(*plans, f, dst, from) : NULL;
    if (!plan)
        return pkb_error_set(err, "out of memory");
    if (f->kind == RT_FFT_REAL)
        fftwf_execute_dft_r2c(plan, from, (fftwf_complex *)dst);
    else if (f->kind == RT_FFT_TO_REAL)
        fftwf_execute_dft_c2r(plan, (fftwf_complex *)from, dst);
    else
        fftwf_execute_dft(plan, (fftwf_complex *)from, (fftwf_complex *)dst);
    return 0;
}

static void forget(struct host_fft_plans *plans)
{
    (void)pthread_mutex_lock(&planner);
    for (size_t i = 0; plans && i < PLANS; i++) {
        if (plans->list[i].made)
            fftwf_destroy_plan(plans->list[i].made);
    }
    (void)pthread_mutex_unlock(&planner);
    free(plans);
}

extern const struct host_fft pkb_host_fft;

__attribute__((visibility("default"))) const struct host_fft pkb_host_fft = {
    .transform = transform,
    .forget = forget,
};
