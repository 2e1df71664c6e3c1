/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups and sorting. */
#include <inttypes.h>
#include <limits.h>

#include "runtime/cuda/device.h"

int cuda_take(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index,
              const struct rt_take_form *f, struct pkb_error *err)
{
    struct cuda_take t = {f->outer, f->length, f->count, f->inner * (int64_t)dtype_size(src->dtype)};
    if (f->count == 0 || f->outer == 0)
        return 0;
    return CUDA_FAILS(dev, kernel_take(dst->data, src->data, cuda_array_of(index), &t, dev->fault, dev->stream), err) ? -1 : 0;
}

int cuda_bincount(struct rt_device *dev, pkb_tensor *counts, const pkb_tensor *values, struct pkb_error *err)
{
    int64_t n = cuda_numel(values), n_counts = counts->shape[0];
    size_t bytes = (size_t)n_counts * sizeof(int64_t);
    if (bytes > 0 && CUDA_FAILS(dev, cudaMemsetAsync(counts->data, 0, bytes, dev->stream), err))
        return -1;
    if (n == 0)
        return 0;
    return CUDA_FAILS(dev, kernel_bincount(counts->data, n_counts, cuda_array_of(values), n, dev->fault, dev->stream), err) ? -1
                                                                                                                            : 0;
}

int cuda_argsort(struct rt_device *dev, pkb_tensor *order, const pkb_tensor *keys, struct pkb_error *err)
{
    int64_t n = cuda_numel(keys);
    size_t bytes = 0;
    if (n == 0)
        return 0;
    if (n > INT_MAX)
        return pkb_error_set(err, "%" PRId64 " keys are too many", n);
    if (CUDA_FAILS(dev, kernel_argsort(order->data, cuda_array_of(keys), (int)n, NULL, &bytes, dev->stream), err))
        return -1;
    void *scratch = cuda_scratch(dev, SCRATCH_A, bytes, err);
    if (!scratch)
        return -1;
    return CUDA_FAILS(dev, kernel_argsort(order->data, cuda_array_of(keys), (int)n, scratch, &bytes, dev->stream), err) ? -1 : 0;
}
