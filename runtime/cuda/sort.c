/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting and searching. */
#include <inttypes.h>
#include <limits.h>

#include "runtime/cuda/device.h"

/* ---- lists --------------------------------------------------------------------------------------------------------- */

int cuda_bits(int64_t most)
{
    return most > 0 ? 64 - __builtin_clzll((unsigned long long)most) : 0;
}

static size_t aligned(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

int cuda_lists_open(struct rt_device *dev, struct cuda_lists *l, int64_t n, int bits, struct pkb_error *err)
{
    if (n > INT_MAX)
        return pkb_error_set(err, "%" PRId64 " keys are too many", n);
    struct cuda_sort plan = {.n = (int32_t)n, .bits = bits > 0 ? bits : 1};
    size_t list = aligned((size_t)n * sizeof(uint64_t)), rest = 0;
    if (CUDA_FAILS(dev, kernel_sort(&plan, NULL, &rest, dev->stream), err))
        return -1;
    char *scratch = cuda_scratch(dev, SCRATCH_A, 4 * list + (rest ? rest : 1), err);
    if (!scratch)
        return -1;
    *l = (struct cuda_lists){
        .key = (uint64_t *)scratch,
        .key_out = (uint64_t *)(scratch + list),
        .position = (int64_t *)(scratch + 2 * list),
        .position_out = (int64_t *)(scratch + 3 * list),
        .rest = scratch + 4 * list,
        .rest_bytes = rest,
        .n = plan.n,
        .bits = plan.bits,
    };
    return 0;
}

int cuda_lists_sort(struct rt_device *dev, const struct cuda_lists *l, int64_t *position_out, struct pkb_error *err)
{
    struct cuda_sort plan = {l->key, l->position, l->key_out, position_out, l->n, l->bits};
    size_t rest = l->rest_bytes;
    return CUDA_FAILS(dev, kernel_sort(&plan, l->rest, &rest, dev->stream), err) ? -1 : 0;
}

/* ---- sorting ------------------------------------------------------------------------------------------------------- */

/* Keys and rows that do not fit into one number: by key, then, stably, by row. */
static int sort_twice(struct rt_device *dev, int64_t *order, const pkb_tensor *keys, int64_t n, int row_bits,
                      struct pkb_error *err)
{
    struct cuda_lists l;
    int64_t length = cuda_row_length(keys);
    if (cuda_lists_open(dev, &l, n, 64, err) ||
        CUDA_FAILS(dev, kernel_sort_keys(l.key, l.position, cuda_array_of(keys), n, length, 64, dev->stream), err) ||
        cuda_lists_sort(dev, &l, l.position_out, err) ||
        CUDA_FAILS(dev, kernel_row_keys(l.key, l.position_out, n, length, dev->stream), err))
        return -1;
    int64_t *by_key = l.position_out;
    l.position_out = l.position;
    l.position = by_key;
    l.bits = row_bits;
    return cuda_lists_sort(dev, &l, order, err);
}

static int sort_once(struct rt_device *dev, int64_t *order, const pkb_tensor *keys, int64_t n, int key_bits, int row_bits,
                     struct pkb_error *err)
{
    struct cuda_lists l;
    int shift = row_bits > 0 ? key_bits : 64;
    if (cuda_lists_open(dev, &l, n, key_bits + row_bits, err) ||
        CUDA_FAILS(dev, kernel_sort_keys(l.key, l.position, cuda_array_of(keys), n, cuda_row_length(keys), shift, dev->stream),
                   err))
        return -1;
    return cuda_lists_sort(dev, &l, order, err);
}

int cuda_argsort(struct rt_device *dev, pkb_tensor *order, const pkb_tensor *keys, struct pkb_error *err)
{
    int64_t n = cuda_numel(keys), length = cuda_row_length(keys);
    int key_bits = keys->dtype == PKB_BOOL ? 1 : 8 * (int)dtype_size(keys->dtype);
    if (n == 0)
        return 0;
    int row_bits = cuda_bits(n / length - 1);
    int rc = key_bits + row_bits > 64 ? sort_twice(dev, order->data, keys, n, row_bits, err)
                                      : sort_once(dev, order->data, keys, n, key_bits, row_bits, err);
    if (rc || row_bits == 0)
        return rc;
    return CUDA_FAILS(dev, kernel_within_rows(order->data, n, length, dev->stream), err) ? -1 : 0;
}

/* ---- searching ----------------------------------------------------------------------------------------------------- */

int cuda_search_sorted(struct rt_device *dev, pkb_tensor *position, const pkb_tensor *table, const pkb_tensor *values, bool right,
                       struct pkb_error *err)
{
    struct cuda_array list = cuda_array_of(table), wanted = cuda_array_of(values);
    int64_t n = cuda_numel(values);
    if (n == 0)
        return 0;
    return CUDA_FAILS(dev, kernel_search(position->data, list, table->shape[0], wanted, n, right, dev->stream), err) ? -1 : 0;
}
