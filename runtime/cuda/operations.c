/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operations and reductions: what the kernels need to know is worked out here. */
#include <string.h>

#include "runtime/cuda/device.h"

/* ---- copy, fill, unary --------------------------------------------------------------------------------------------- */

/* Goes through a type that holds every value of the source. */
int cuda_convert(struct rt_device *dev, struct cuda_array dst, struct cuda_array src, int64_t n, struct pkb_error *err)
{
    enum cuda_arithmetic type = cuda_arithmetic_of(src.dtype, src.dtype, src.dtype);
    if (n == 0)
        return 0;
    return CUDA_FAILS(dev, kernel_unary(type, KERNEL_COPY, dst, src, n, dev->stream), err) ? -1 : 0;
}

int cuda_copy(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, struct pkb_error *err)
{
    int64_t n = cuda_numel(src);
    size_t bytes = (size_t)n * dtype_size(src->dtype);
    if (dst->dtype != src->dtype)
        return cuda_convert(dev, cuda_array_of(dst), cuda_array_of(src), n, err);
    if (bytes == 0 || dst->data == src->data)
        return 0;
    return CUDA_FAILS(dev, cudaMemcpyAsync(dst->data, src->data, bytes, cudaMemcpyDefault, dev->stream), err) ? -1 : 0;
}

int cuda_fill(struct rt_device *dev, pkb_tensor *dst, double value, struct pkb_error *err)
{
    int64_t n = cuda_numel(dst);
    uint64_t bits = 0;
    if (n == 0)
        return 0;
    dtype_from_f64(dst->dtype, &bits, &value, 1); /* the bytes of one element; little endian, as all GPUs */
    return CUDA_FAILS(dev, kernel_fill(dst->data, bits, (int)dtype_size(dst->dtype), n, dev->stream), err) ? -1 : 0;
}

int cuda_unary(struct rt_device *dev, enum rt_unary op, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err)
{
    enum cuda_arithmetic type = cuda_arithmetic_of(dst->dtype, a->dtype, a->dtype);
    int64_t n = cuda_numel(dst);
    if (n == 0)
        return 0;
    return CUDA_FAILS(dev, kernel_unary(type, (int)op, cuda_array_of(dst), cuda_array_of(a), n, dev->stream), err) ? -1 : 0;
}

/* ---- binary -------------------------------------------------------------------------------------------------------- */

/* Strides of an operand along the destination's dimensions; 0: it stretches. */
static void strides_of(const pkb_tensor *t, int ndim, int64_t *strides)
{
    int64_t stride = 1;
    memset(strides, 0, PKB_MAX_DIMS * sizeof(*strides));
    for (int i = t->ndim - 1, j = ndim - 1; i >= 0; i--, j--) {
        strides[j] = t->shape[i] == 1 ? 0 : stride;
        stride *= t->shape[i];
    }
}

/* For operands that are not there. */
static const int64_t none[PKB_MAX_DIMS];

/* A walk with as few dimensions as all operands allow. */
static struct cuda_walk walk_of(int ndim, const int64_t *shape, const int64_t *a, const int64_t *b, const int64_t *c)
{
    struct cuda_walk w = {.n = 1};
    int last = -1;
    for (int i = 0; i < ndim; i++) {
        w.n *= shape[i];
        if (shape[i] == 1)
            continue;
        bool merge = last >= 0 && w.a[last] == a[i] * shape[i] && w.b[last] == b[i] * shape[i] && w.c[last] == c[i] * shape[i];
        last += merge ? 0 : 1;
        w.shape[last] = merge ? w.shape[last] * shape[i] : shape[i];
        w.a[last] = a[i];
        w.b[last] = b[i];
        w.c[last] = c[i];
    }
    w.ndim = last + 1;
    return w; /* with ndim 0, the strides of the only element are 0 */
}

int cuda_binary(struct rt_device *dev, enum rt_binary op, pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b,
                struct pkb_error *err)
{
    enum cuda_arithmetic type = cuda_arithmetic_of(dst->dtype, a->dtype, b->dtype);
    struct cuda_array to = cuda_array_of(dst), x = cuda_array_of(a), y = cuda_array_of(b);
    int64_t a_strides[PKB_MAX_DIMS], b_strides[PKB_MAX_DIMS];
    strides_of(a, dst->ndim, a_strides);
    strides_of(b, dst->ndim, b_strides);
    struct cuda_walk walk = walk_of(dst->ndim, dst->shape, a_strides, b_strides, none);
    if (walk.n == 0)
        return 0;
    return CUDA_FAILS(dev, kernel_binary(type, (int)op, to, x, y, &walk, dev->fault, dev->stream), err) ? -1 : 0;
}

int cuda_binary_scalar(struct rt_device *dev, enum rt_binary op, pkb_tensor *dst, const pkb_tensor *a, double b,
                       struct pkb_error *err)
{
    enum cuda_arithmetic type = cuda_arithmetic_of(dst->dtype, a->dtype, a->dtype);
    struct cuda_array to = cuda_array_of(dst), x = cuda_array_of(a);
    int64_t n = cuda_numel(dst);
    if (n == 0)
        return 0;
    if (type == CUDA_I64 && (op == RT_DIV || op == RT_FLOORDIV || op == RT_MOD) && (int64_t)b == 0)
        return pkb_error_set(err, "division by zero");
    return CUDA_FAILS(dev, kernel_binary_scalar(type, (int)op, to, x, b, n, dev->stream), err) ? -1 : 0;
}

/* ---- selection, counting ------------------------------------------------------------------------------------------- */

int cuda_where(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *condition, const pkb_tensor *a, const pkb_tensor *b,
               struct pkb_error *err)
{
    struct cuda_array to = cuda_array_of(dst), c = cuda_array_of(condition), x = cuda_array_of(a), y = cuda_array_of(b);
    int64_t a_strides[PKB_MAX_DIMS], b_strides[PKB_MAX_DIMS], c_strides[PKB_MAX_DIMS];
    strides_of(a, dst->ndim, a_strides);
    strides_of(b, dst->ndim, b_strides);
    strides_of(condition, dst->ndim, c_strides);
    struct cuda_walk walk = walk_of(dst->ndim, dst->shape, a_strides, b_strides, c_strides);
    if (walk.n == 0)
        return 0;
    return CUDA_FAILS(dev, kernel_where(to, c, x, y, &walk, dev->stream), err) ? -1 : 0;
}

int cuda_iota(struct rt_device *dev, pkb_tensor *dst, double first, double step, struct pkb_error *err)
{
    int64_t n = cuda_numel(dst);
    bool integer = !dtype_is_float(dst->dtype);
    if (n == 0)
        return 0;
    return CUDA_FAILS(dev, kernel_iota(cuda_array_of(dst), first, step, integer, n, dev->stream), err) ? -1 : 0;
}

/* ---- reductions ---------------------------------------------------------------------------------------------------- */

#define BUSY_BLOCKS 1024 /* so many keep a GPU busy */
#define SEGMENTS_MOST 1024

/* Not below what a block does in a moment. */
struct cuda_reduction cuda_segments(const struct rt_reduce_form *f)
{
    bool rows = f->inner == 1;
    int64_t blocks = f->outer * (rows ? 1 : (f->inner + 127) / 128);
    int64_t useful = f->length / (rows ? 4096 : 64), wanted = blocks > 0 ? BUSY_BLOCKS / blocks : 1;
    int64_t segments = useful < wanted ? useful : wanted;
    segments = segments < 2 ? 1 : segments > SEGMENTS_MOST ? SEGMENTS_MOST : segments;
    return (struct cuda_reduction){f->outer, f->length, f->inner, (int32_t)segments};
}

int cuda_reduce_axis(struct rt_device *dev, enum rt_reduction op, pkb_tensor *dst, const pkb_tensor *a,
                     const struct rt_reduce_form *f, struct pkb_error *err)
{
    static const int types[] = {[CUDA_F32] = PKB_F32, [CUDA_F64] = PKB_F64, [CUDA_I64] = PKB_I64};
    enum cuda_arithmetic type = dtype_is_float(a->dtype) ? cuda_arithmetic_of(dst->dtype, a->dtype, a->dtype) : CUDA_I64;
    struct cuda_reduction first = cuda_segments(f);
    struct cuda_reduction second = {f->outer, first.segments, f->inner, 1};
    struct cuda_array to = cuda_array_of(dst), from = cuda_array_of(a), parts = {NULL, types[type]};
    if (cuda_numel(dst) == 0)
        return 0;
    if (first.segments == 1)
        return CUDA_FAILS(dev, kernel_reduce(type, (int)op, to, from, &first, dev->stream), err) ? -1 : 0;
    size_t bytes = (size_t)(f->outer * f->inner) * (size_t)first.segments * dtype_size(parts.dtype);
    parts.data = cuda_scratch(dev, SCRATCH_A, bytes, err);
    if (!parts.data || CUDA_FAILS(dev, kernel_reduce(type, (int)op, parts, from, &first, dev->stream), err))
        return -1;
    return CUDA_FAILS(dev, kernel_reduce(type, (int)op, to, parts, &second, dev->stream), err) ? -1 : 0;
}

/* ---- rearrangements ------------------------------------------------------------------------------------------------ */

#define SHORT_ROW 4096 /* bytes */

int cuda_copy2d(struct rt_device *dev, void *dst, const void *src, const struct rt_copy2d_form *f, struct pkb_error *err)
{
    struct cuda_rectangle r = {f->rows, f->width, f->dst_pitch, f->src_pitch};
    if (f->rows == 0 || f->width == 0)
        return 0;
    if (f->width <= SHORT_ROW)
        return CUDA_FAILS(dev, kernel_copy2d(dst, src, r, dev->stream), err) ? -1 : 0;
    return CUDA_FAILS(dev,
                      cudaMemcpy2DAsync(dst, f->dst_pitch, src, f->src_pitch, f->width, f->rows, cudaMemcpyDefault, dev->stream),
                      err)
               ? -1
               : 0;
}

static int gather(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const int64_t *strides, struct pkb_error *err)
{
    struct cuda_walk walk = walk_of(dst->ndim, dst->shape, strides, none, none);
    int size = (int)dtype_size(src->dtype);
    if (walk.n == 0)
        return 0;
    return CUDA_FAILS(dev, kernel_gather(dst->data, src->data, size, &walk, dev->stream), err) ? -1 : 0;
}

int cuda_permute(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const int *order, struct pkb_error *err)
{
    int64_t strides[PKB_MAX_DIMS] = {0}, stride = 1, of_src[PKB_MAX_DIMS] = {0};
    for (int i = src->ndim - 1; i >= 0; i--) {
        of_src[i] = stride;
        stride *= src->shape[i];
    }
    for (int i = 0; i < src->ndim; i++)
        strides[i] = of_src[order[i]];
    return gather(dev, dst, src, strides, err);
}

int cuda_im2col(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const struct rt_im2col_form *f,
                struct pkb_error *err)
{
    struct cuda_windows w = {.volumes = f->volumes};
    for (int i = 0; i < 3; i++) {
        w.size[i] = f->size[i];
        w.out[i] = f->out[i];
        w.kernel[i] = f->window.kernel[i];
        w.stride[i] = f->window.stride[i];
        w.pad[i] = f->window.pad[i];
        w.dilation[i] = f->window.dilation[i];
    }
    int size = (int)dtype_size(src->dtype);
    return CUDA_FAILS(dev, kernel_im2col(dst->data, src->data, size, &w, dev->stream), err) ? -1 : 0;
}

int cuda_diagonal(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err)
{
    int64_t strides[PKB_MAX_DIMS] = {a->shape[1] + 1};
    return gather(dev, dst, a, strides, err);
}
