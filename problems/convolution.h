/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions as products with the windows of their operand, which several references take. */
#ifndef PKB_PROBLEMS_CONVOLUTION_H
#define PKB_PROBLEMS_CONVOLUTION_H

#include "problems/kit.h"

/* Elements of an output axis: floor((size + 2 pad - dilation (kernel - 1) - 1) / stride) + 1, or 0 when no window fits. */
int64_t convolution_size(int64_t size, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation);

/* dst[b, o, position] = sum over channels c and taps of src[b, c, position * stride - pad + tap * dilation] * weight[o, c, tap],
 * zero outside of src: the kernel is not flipped. src (B, C, one to three spatial axes), weight (O, C, the kernel's axes, equal
 * to window->kernel), one dtype; dst (B, O, the sizes of convolution_size), of their dtype or f32. Rounded once, after the
 * accumulation in f32 or better. */
void convolution(const struct problem_call *c, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *weight,
                 const struct rt_window *window);

/* Adds bias[o] to dst[b, o, ...] into sum, of dst's shape, and rounds to its dtype. */
void convolution_add_bias(const struct problem_call *c, pkb_tensor *sum, const pkb_tensor *dst, const pkb_tensor *bias);

#endif
