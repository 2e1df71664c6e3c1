/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution operands as matrices. */
#include <string.h>

#include "runtime/host/device.h"
#include "runtime/host/strided.h"

/* The output positions lo .. hi-1 along a dimension whose source, position * stride + shift, lies inside. */
struct inside {
    int64_t lo, hi, shift;
};

static int64_t ceiling(int64_t a, int64_t b)
{
    return a <= 0 ? 0 : (a + b - 1) / b;
}

static struct inside inside_of(const struct rt_im2col_form *f, int dim, int64_t tap)
{
    struct inside x = {.shift = tap * f->window.dilation[dim] - f->window.pad[dim]};
    int64_t out = f->out[dim], stride = f->window.stride[dim];
    x.lo = ceiling(-x.shift, stride);
    x.hi = ceiling(f->size[dim] - x.shift, stride);
    x.lo = x.lo < out ? x.lo : out;
    x.hi = x.hi < out ? x.hi : out;
    x.hi = x.hi > x.lo ? x.hi : x.lo;
    return x;
}

/* One row of output positions along the last dimension. */
static void fill_row(char *dst, const char *line, const struct inside *x, int64_t out, int64_t stride, size_t size)
{
    memset(dst, 0, (size_t)x->lo * size);
    if (x->hi > x->lo)
        gather_strided(dst + (size_t)x->lo * size, line + (x->lo * stride + x->shift) * (int64_t)size, (size_t)(x->hi - x->lo),
                       stride * (int64_t)size, size);
    memset(dst + (size_t)x->hi * size, 0, (size_t)(out - x->hi) * size);
}

/* All positions of one tap of one volume. */
static void fill_tap(char *dst, const char *volume, const struct rt_im2col_form *f, const int64_t tap[3], size_t size)
{
    struct inside x[3];
    for (int d = 0; d < 3; d++)
        x[d] = inside_of(f, d, tap[d]);
    for (int64_t i = 0; i < f->out[0]; i++) {
        for (int64_t j = 0; j < f->out[1]; j++, dst += (size_t)f->out[2] * size) {
            int64_t p = i * f->window.stride[0] + x[0].shift, q = j * f->window.stride[1] + x[1].shift;
            if (p >= 0 && p < f->size[0] && q >= 0 && q < f->size[1])
                fill_row(dst, volume + (p * f->size[1] + q) * f->size[2] * (int64_t)size, &x[2], f->out[2], f->window.stride[2],
                         size);
            else
                memset(dst, 0, (size_t)f->out[2] * size);
        }
    }
}

int host_im2col(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const struct rt_im2col_form *f,
                struct pkb_error *err)
{
    const int64_t *kernel = f->window.kernel;
    size_t size = dtype_size(src->dtype), positions = (size_t)(f->out[0] * f->out[1] * f->out[2]) * size;
    size_t volume = (size_t)(f->size[0] * f->size[1] * f->size[2]) * size;
    const char *from = src->data;
    char *to = dst->data;
    (void)dev;
    (void)err;
    for (int64_t v = 0; v < f->volumes; v++, from += volume) {
        for (int64_t k = 0; k < kernel[0] * kernel[1] * kernel[2]; k++, to += positions) {
            int64_t tap[3] = {k / kernel[2] / kernel[1], k / kernel[2] % kernel[1], k % kernel[2]};
            fill_tap(to, from, f, tap, size);
        }
    }
    return 0;
}
