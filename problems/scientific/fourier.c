/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/scientific/fourier.h"

#include <math.h>

/* The tensor with an axis and the one before the pair exchanged. */
static pkb_tensor *exchange_axes(const struct problem_call *c, const pkb_tensor *x, int axis)
{
    int order[PKB_MAX_DIMS], inner = x->ndim - 2;
    pkb_tensor form = *x;
    for (int i = 0; i < x->ndim; i++)
        order[i] = i;
    order[axis] = inner;
    order[inner] = axis;
    form.shape[axis] = x->shape[inner];
    form.shape[inner] = x->shape[axis];
    pkb_tensor *exchanged = rt_new_like(c->rt, x->dtype, &form);
    rt_permute(c->rt, exchanged, x, order);
    return exchanged;
}

static pkb_tensor *transform(const struct problem_call *c, enum rt_fft_kind kind, const pkb_tensor *x)
{
    pkb_tensor *spectrum = rt_new_like(c->rt, PKB_F32, x);
    rt_fft(c->rt, kind, spectrum, x);
    rt_binary_scalar(c->rt, RT_MUL, spectrum, spectrum, 1 / sqrt((double)x->shape[x->ndim - 2]));
    return spectrum;
}

pkb_tensor *fourier_along(const struct problem_call *c, enum rt_fft_kind kind, const pkb_tensor *x, int axis)
{
    if (rt_status(c->rt, NULL) < 0)
        return NULL;
    if (axis == x->ndim - 2)
        return transform(c, kind, x);
    pkb_tensor *inner = exchange_axes(c, x, axis);
    pkb_tensor *spectrum = inner ? transform(c, kind, inner) : NULL;
    return spectrum ? exchange_axes(c, spectrum, axis) : NULL;
}

void fourier_check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)s, (void)output;
    *check = (struct problem_check){.kind = CHECK_CLOSE, .atol = 1e-4};
}
