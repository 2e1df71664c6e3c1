/* SPDX-License-Identifier: Apache-2.0 */
/* Rearrangements. */
#include "runtime/host/strided.h"

#include <string.h>

#include "runtime/host/device.h"

int host_copy2d(struct rt_device *dev, void *dst, const void *src, const struct rt_copy2d_form *form, struct pkb_error *err)
{
    (void)dev;
    (void)err;
    for (size_t i = 0; i < form->rows; i++)
        memcpy((char *)dst + i * form->dst_pitch, (const char *)src + i * form->src_pitch, form->width);
    return 0;
}

/* ---- permute ------------------------------------------------------------------------------------------------------- */

void gather_strided(char *dst, const char *src, size_t n, int64_t stride, size_t size)
{
#define GATHER(type)                                                                                                             \
    for (size_t i = 0; i < n; i++)                                                                                               \
        memcpy(dst + i * sizeof(type), src + (int64_t)i * stride, sizeof(type));                                                 \
    break
    if (stride == (int64_t)size) {
        memcpy(dst, src, n * size);
        return;
    }
    switch (size) {
    case 1:
        GATHER(uint8_t);
    case 2:
        GATHER(uint16_t);
    case 4:
        GATHER(uint32_t);
    default:
        GATHER(uint64_t);
    }
#undef GATHER
}

int host_permute(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const int *order, struct pkb_error *err)
{
    size_t n = host_numel(dst), size = dtype_size(src->dtype);
    int64_t src_stride[PKB_MAX_DIMS] = {0}, stride[PKB_MAX_DIMS] = {0}, index[PKB_MAX_DIMS] = {0}, step = (int64_t)size;
    (void)dev;
    (void)err;
    if (n == 0)
        return 0;
    for (int i = src->ndim - 1; i >= 0; i--) {
        src_stride[i] = step;
        step *= src->shape[i];
    }
    for (int i = 0; i < src->ndim; i++)
        stride[i] = src_stride[order[i]];
    int last = dst->ndim - 1;
    size_t run = last < 0 ? 1 : (size_t)dst->shape[last];
    const char *from = src->data;
    for (size_t done = 0; done < n; done += run) {
        gather_strided((char *)dst->data + done * size, from, run, last < 0 ? (int64_t)size : stride[last], size);
        for (int i = last - 1; i >= 0; i--) {
            from += stride[i];
            if (++index[i] < dst->shape[i])
                break;
            from -= stride[i] * dst->shape[i];
            index[i] = 0;
        }
    }
    return 0;
}

int host_diagonal(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err)
{
    size_t size = dtype_size(a->dtype);
    (void)dev;
    (void)err;
    if (host_numel(dst) > 0)
        gather_strided(dst->data, a->data, (size_t)dst->shape[0], (a->shape[1] + 1) * (int64_t)size, size);
    return 0;
}
