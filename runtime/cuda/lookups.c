/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups, moves of rows, counting. */
#include "runtime/cuda/device.h"

static int64_t row_elements(const pkb_tensor *t)
{
    int64_t n = 1;
    for (int i = 1; i < t->ndim; i++)
        n *= t->shape[i];
    return n;
}

/* ---- taking, putting ----------------------------------------------------------------------------------------------- */

int cuda_take(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index,
              const struct rt_take_form *f, struct pkb_error *err)
{
    struct cuda_move m = {f->outer, f->length, f->count, f->inner * (int64_t)dtype_size(src->dtype), .fault = FAULT_TAKE};
    if (cuda_numel(dst) == 0)
        return 0;
    return CUDA_FAILS(dev, kernel_move(dst->data, src->data, cuda_array_of(index), &m, dev->fault, dev->stream), err) ? -1 : 0;
}

int cuda_put_rows(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index, struct pkb_error *err)
{
    struct cuda_move m = {1,    dst->shape[0], src->shape[0], row_elements(src) * (int64_t)dtype_size(src->dtype),
                          true, FAULT_PUT_ROWS};
    if (cuda_numel(src) == 0)
        return 0;
    return CUDA_FAILS(dev, kernel_move(dst->data, src->data, cuda_array_of(index), &m, dev->fault, dev->stream), err) ? -1 : 0;
}

int cuda_take_along(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index, struct pkb_error *err)
{
    int64_t n = cuda_numel(dst), count = cuda_row_length(dst), length = cuda_row_length(src);
    int size = (int)dtype_size(src->dtype);
    if (n == 0)
        return 0;
    return CUDA_FAILS(
               dev,
               kernel_take_along(dst->data, src->data, size, cuda_array_of(index), n, count, length, dev->fault, dev->stream),
               err)
               ? -1
               : 0;
}

/* ---- sums of rows -------------------------------------------------------------------------------------------------- */

int cuda_add_rows(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index, struct pkb_error *err)
{
    enum cuda_arithmetic type = cuda_arithmetic_of(dst->dtype, src->dtype, src->dtype);
    struct cuda_array to = cuda_array_of(dst), from = cuda_array_of(src), by = cuda_array_of(index);
    struct cuda_row_sums sums = {src->shape[0], dst->shape[0], row_elements(src)};
    struct cuda_lists lists;
    if (cuda_numel(src) == 0)
        return 0;
    if (cuda_lists_open(dev, &lists, sums.n, cuda_bits(sums.rows), err) ||
        CUDA_FAILS(dev, kernel_index_keys(lists.key, lists.position, by, sums.n, sums.rows, dev->fault, dev->stream), err) ||
        cuda_lists_sort(dev, &lists, lists.position_out, err))
        return -1;
    return CUDA_FAILS(dev, kernel_add_sorted(type, to, from, lists.key_out, lists.position_out, &sums, dev->stream), err) ? -1
                                                                                                                          : 0;
}

/* ---- counting ------------------------------------------------------------------------------------------------------ */

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
