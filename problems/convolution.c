/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/convolution.h"

int64_t convolution_size(int64_t size, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation)
{
    int64_t room = size + 2 * pad - dilation * (kernel - 1) - 1;
    return room < 0 ? 0 : room / stride + 1;
}

/* Elements of the axes from `first` on. */
static int64_t volume(const pkb_tensor *t, int first)
{
    int64_t n = 1;
    for (int i = first; i < t->ndim; i++)
        n *= t->shape[i];
    return n;
}

void convolution(const struct problem_call *c, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *weight,
                 const struct rt_window *window)
{
    if (rt_status(c->rt, NULL) < 0)
        return;
    int64_t batch = src->shape[0], outputs = weight->shape[0], terms = volume(weight, 1), positions = volume(dst, 2);
    pkb_tensor *columns = rt_new(c->rt, src->dtype, RT_SHAPE(batch, terms, positions));
    pkb_tensor *kernels = rt_view(c->rt, weight, RT_SHAPE(outputs, terms));
    pkb_tensor *results = rt_view(c->rt, dst, RT_SHAPE(batch, outputs, positions));
    rt_im2col(c->rt, columns, src, window);
    for (int64_t b = 0; b < batch; b++)
        rt_matmul(c->rt, rt_entry(c->rt, results, b), kernels, false, rt_entry(c->rt, columns, b), false);
}

void convolution_add_bias(const struct problem_call *c, pkb_tensor *sum, const pkb_tensor *dst, const pkb_tensor *bias)
{
    if (rt_status(c->rt, NULL) < 0)
        return;
    int64_t batch = dst->shape[0], outputs = dst->shape[1], positions = volume(dst, 2);
    rt_binary(c->rt, RT_ADD, rt_view(c->rt, sum, RT_SHAPE(batch, outputs, positions)),
              rt_view(c->rt, dst, RT_SHAPE(batch, outputs, positions)), rt_view(c->rt, bias, RT_SHAPE(outputs, 1)));
}
