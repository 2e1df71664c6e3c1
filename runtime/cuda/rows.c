/* SPDX-License-Identifier: Apache-2.0 */
/* Operations along the last axis. */
#include "runtime/cuda/device.h"

int cuda_softmax(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err)
{
    enum cuda_arithmetic type = cuda_arithmetic_of(dst->dtype, a->dtype, a->dtype);
    int64_t n = cuda_numel(a), length = cuda_row_length(a);
    if (n == 0)
        return 0;
    return CUDA_FAILS(dev, kernel_softmax(type, cuda_array_of(dst), cuda_array_of(a), n / length, length, dev->stream), err) ? -1
                                                                                                                             : 0;
}

/* Long rows in two steps: what their segments sum up to, then the running sums of each segment. */
int cuda_cumsum(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err)
{
    enum cuda_arithmetic type = dtype_is_float(a->dtype) ? CUDA_F64 : CUDA_I64;
    struct cuda_array to = cuda_array_of(dst), from = cuda_array_of(a), sums = {NULL, type == CUDA_F64 ? PKB_F64 : PKB_I64};
    int64_t n = cuda_numel(a), length = cuda_row_length(a);
    if (n == 0)
        return 0;
    struct cuda_reduction r = cuda_segments(&(struct rt_reduce_form){n / length, length, 1});
    if (r.segments > 1) {
        sums.data = cuda_scratch(dev, SCRATCH_A, (size_t)(r.outer * r.segments) * dtype_size(sums.dtype), err);
        if (!sums.data || CUDA_FAILS(dev, kernel_reduce(type, RT_SUM, sums, from, &r, dev->stream), err))
            return -1;
    }
    return CUDA_FAILS(dev, kernel_cumsum(type, to, from, sums.data, &r, dev->stream), err) ? -1 : 0;
}
