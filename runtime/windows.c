/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of sliding windows. */
#include <inttypes.h>

#include "runtime/front.h"

/* So that products of two of them, and sums of those, stay below 2^63. */
#define LARGEST (INT64_C(1) << 30)

static int check_window(const struct rt_window *w, int i, struct pkb_error *err)
{
    const struct {
        const char *name;
        int64_t value, least;
    } parts[] = {
        {"kernel", w->kernel[i], 1}, {"stride", w->stride[i], 1}, {"pad", w->pad[i], 0}, {"dilation", w->dilation[i], 1}};
    for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
        if (parts[k].value < parts[k].least || parts[k].value > LARGEST)
            return pkb_error_set(err, "%s %" PRId64 " along spatial dimension %d", parts[k].name, parts[k].value, i);
    }
    return 0;
}

/* Dimension i of the window lies along dimension `at` of the form. */
static int place_window(struct rt_im2col_form *f, int at, const struct rt_window *w, int i, int64_t size, struct pkb_error *err)
{
    int64_t span = w->dilation[i] * (w->kernel[i] - 1) + 1, room;
    if (__builtin_add_overflow(size, 2 * w->pad[i], &room) || room < span)
        return pkb_error_set(err,
                             "a window of %" PRId64 " does not fit into %" PRId64 " + 2 * %" PRId64 " along spatial dimension %d",
                             span, size, w->pad[i], i);
    f->size[at] = size;
    f->out[at] = (room - span) / w->stride[i] + 1;
    f->window.kernel[at] = w->kernel[i];
    f->window.stride[at] = w->stride[i];
    f->window.pad[at] = w->pad[i];
    f->window.dilation[at] = w->dilation[i];
    return 0;
}

static int im2col_form(struct rt_im2col_form *f, const pkb_tensor *src, const struct rt_window *w, struct pkb_error *err)
{
    int n = src->ndim - 2;
    if (n < 1 || n > 3)
        return pkb_error_set(err, "source is %s, one to three spatial dimensions are needed", front_form(src).text);
    if (!w)
        return pkb_error_set(err, "window is missing");
    *f = (struct rt_im2col_form){.size = {1, 1, 1}, .out = {1, 1, 1}, .window = {{1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}}};
    if (__builtin_mul_overflow(src->shape[0], src->shape[1], &f->volumes))
        return pkb_error_set(err, "source %s is too large", front_form(src).text);
    for (int i = 0; i < n; i++) {
        if (check_window(w, i, err) || place_window(f, 3 - n + i, w, i, src->shape[2 + i], err))
            return -1;
    }
    return 0;
}

static int check_im2col(const pkb_tensor *dst, const pkb_tensor *src, const struct rt_window *w, struct rt_im2col_form *f,
                        struct pkb_error *err)
{
    if (front_check(dst, "destination", err) || front_check(src, "source", err) || im2col_form(f, src, w, err))
        return -1;
    pkb_tensor form = {.dtype = src->dtype, .ndim = 3, .shape = {src->shape[0], src->shape[1], 1}};
    for (int i = 0; i < 3; i++) {
        if (__builtin_mul_overflow(form.shape[1], f->window.kernel[i], &form.shape[1]) ||
            __builtin_mul_overflow(form.shape[2], f->out[i], &form.shape[2]))
            return pkb_error_set(err, "the result of %s is too large", front_form(src).text);
    }
    if (!tensor_same_form(dst, &form))
        return pkb_error_set(err, "destination is %s, the result %s", front_form(dst).text, front_form(&form).text);
    if (front_shares(dst, src))
        return pkb_error_set(err, "destination is the source");
    return 0;
}

void rt_im2col(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src, const struct rt_window *window)
{
    struct pkb_error err;
    struct rt_im2col_form form;
    if (rt->failed)
        return;
    if (check_im2col(dst, src, window, &form, &err) || (front_numel(dst) > 0 && rt->be->im2col(rt->dev, dst, src, &form, &err)))
        front_fail(rt, "im2col", &err);
}
