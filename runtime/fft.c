/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of Fourier transforms. */
#include <inttypes.h>

#include "runtime/front.h"

/* Complex numbers lie along a last dimension of 2, after that of the vector. */
static int check_side(const pkb_tensor *t, const char *what, bool complex, struct pkb_error *err)
{
    if (front_check(t, what, err))
        return -1;
    if (t->dtype != PKB_F32)
        return pkb_error_set(err, "%s is %s, f32 is needed", what, front_form(t).text);
    if (t->ndim < 1 || (complex && (t->ndim < 2 || t->shape[t->ndim - 1] != 2)))
        return pkb_error_set(err, "%s is %s, %s numbers are needed", what, front_form(t).text, complex ? "complex" : "real");
    return 0;
}

static int fft_form(struct rt_fft_form *f, const pkb_tensor *dst, const pkb_tensor *src, struct pkb_error *err)
{
    bool from_real = f->kind == RT_FFT_REAL, to_real = f->kind == RT_FFT_TO_REAL;
    if (check_side(dst, "destination", !to_real, err) || check_side(src, "source", !from_real, err))
        return -1;
    int leading = src->ndim - (from_real ? 1 : 2);
    pkb_tensor form = *src; /* what dst is to be */
    f->n = to_real ? dst->shape[dst->ndim - 1] : src->shape[leading];
    form.ndim = leading + (to_real ? 1 : 2);
    if (form.ndim > PKB_MAX_DIMS)
        return pkb_error_set(err, "source %s has no room for complex numbers", front_form(src).text);
    form.shape[leading] = from_real ? f->n / 2 + 1 : f->n;
    if (!to_real)
        form.shape[leading + 1] = 2;
    if (!tensor_same_form(dst, &form) || (to_real && src->shape[leading] != f->n / 2 + 1))
        return pkb_error_set(err, "destination is %s, source %s", front_form(dst).text, front_form(src).text);
    f->count = 1;
    for (int i = 0; i < leading; i++)
        f->count *= src->shape[i];
    return 0;
}

static int check_fft(struct rt_fft_form *f, const pkb_tensor *dst, const pkb_tensor *src, struct pkb_error *err)
{
    if ((unsigned)f->kind > RT_FFT_TO_REAL)
        return pkb_error_set(err, "%d is no transform", (int)f->kind);
    if (fft_form(f, dst, src, err))
        return -1;
    if (f->n < 1)
        return pkb_error_set(err, "of %" PRId64 " numbers", f->n);
    if (front_shares(dst, src))
        return pkb_error_set(err, "destination is the source");
    return 0;
}

void rt_fft(struct rt *rt, enum rt_fft_kind kind, pkb_tensor *dst, const pkb_tensor *src)
{
    struct pkb_error err;
    struct rt_fft_form form = {.kind = kind};
    if (rt->failed)
        return;
    if (check_fft(&form, dst, src, &err) || (form.count > 0 && rt->be->fft(rt->dev, dst, src, &form, &err)))
        front_fail(rt, "fft", &err);
}
