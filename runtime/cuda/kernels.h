/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the CUDA backend, as functions that C calls. All enqueue on a stream and return the error of the launch. Each
 * operation is compiled for three arithmetic types; element types and operations are arguments of the kernel, which keeps
 * the number of kernels, and so the time to compile them, small.
 */
#ifndef PKB_RUNTIME_CUDA_KERNELS_H
#define PKB_RUNTIME_CUDA_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an operation computes in. */
enum cuda_arithmetic { CUDA_F32, CUDA_F64, CUDA_I64 };

/* What a kernel found wrong with the data. The first one wins; the host reads it when it waits. */
enum cuda_fault_kind {
    FAULT_NONE,
    FAULT_TAKE,
    FAULT_TAKE_ALONG,
    FAULT_PUT_ROWS,
    FAULT_ADD_ROWS,
    FAULT_BINCOUNT,
    FAULT_DIVISION,
    FAULT_BARRIER
};

struct cuda_fault {
    int32_t kind; /* enum cuda_fault_kind */
    int32_t unused;
    int64_t at, value, limit; /* element `at` has a value that is not below the limit; for a barrier: the missing rank */
};

/* An array of elements of a type (enum pkb_dtype). */
struct cuda_array {
    void *data;
    int32_t dtype;
};

/* dst[i] = op(a[i]); KERNEL_COPY only converts. */
#define KERNEL_COPY (-1)
cudaError_t kernel_unary(enum cuda_arithmetic type, int op, struct cuda_array dst, struct cuda_array a, int64_t n,
                         cudaStream_t stream);

/* dst[i] = op(a[i], b), b converted to the arithmetic type unrounded. */
cudaError_t kernel_binary_scalar(enum cuda_arithmetic type, int op, struct cuda_array dst, struct cuda_array a, double b,
                                 int64_t n, cudaStream_t stream);

/* Walks through n elements of a contiguous destination of that shape; operands have strides in elements. */
#define KERNEL_DIMS 8
struct cuda_walk {
    int32_t ndim;
    int64_t n;
    int64_t shape[KERNEL_DIMS];
    int64_t a[KERNEL_DIMS], b[KERNEL_DIMS], c[KERNEL_DIMS];
};

cudaError_t kernel_binary(enum cuda_arithmetic type, int op, struct cuda_array dst, struct cuda_array a, struct cuda_array b,
                          const struct cuda_walk *walk, struct cuda_fault *fault, cudaStream_t stream);

/* dst[i] = condition is not 0 ? a : b, at the walk's places c, a and b; dst, a and b of one type. */
cudaError_t kernel_where(struct cuda_array dst, struct cuda_array condition, struct cuda_array a, struct cuda_array b,
                         const struct cuda_walk *walk, cudaStream_t stream);

/* dst[i] = first + step * i, in f64, or in 64-bit integers where `integer` is set. */
cudaError_t kernel_iota(struct cuda_array dst, double first, double step, bool integer, int64_t n, cudaStream_t stream);

/* dst[i] = a at the walk's place; elements of `size` bytes (1, 2, 4, 8). */
cudaError_t kernel_gather(void *dst, const void *a, int size, const struct cuda_walk *walk, cudaStream_t stream);

/* Rows of `width` bytes that are apart, in memory that the device reaches. The driver's own copy takes a row at a time: this one is
 * for rows that are short. */
struct cuda_rectangle {
    size_t rows, width, dst_pitch, src_pitch;
};
cudaError_t kernel_copy2d(void *dst, const void *src, struct cuda_rectangle r, cudaStream_t stream);

/* n copies of an element of `size` bytes (1, 2, 4, 8). */
cudaError_t kernel_fill(void *dst, uint64_t bits, int size, int64_t n, cudaStream_t stream);

/* dst[o, s, j] = reduction over the s-th of `segments` parts of a[o, :, j]. A reduction in one step has one segment. */
struct cuda_reduction {
    int64_t outer, length, inner;
    int32_t segments;
};

cudaError_t kernel_reduce(enum cuda_arithmetic type, int op, struct cuda_array dst, struct cuda_array a,
                          const struct cuda_reduction *r, cudaStream_t stream);

/* Softmax of each row, in f64 or f32. */
cudaError_t kernel_softmax(enum cuda_arithmetic type, struct cuda_array dst, struct cuda_array a, int64_t rows, int64_t length,
                           cudaStream_t stream);

/* Running sums of each of `outer` rows (inner is 1), in f64 or i64. `sums` are those of the segments, by kernel_reduce; not read when
 * there is one segment. */
cudaError_t kernel_cumsum(enum cuda_arithmetic type, struct cuda_array dst, struct cuda_array a, const void *sums,
                          const struct cuda_reduction *r, cudaStream_t stream);

/* A product of stacked matrices in wrapping 64-bit integers. */
struct cuda_product {
    int64_t batch, m, n, k;
    int32_t trans_a, trans_b;
};

cudaError_t kernel_product_i64(struct cuda_array dst, struct cuda_array a, struct cuda_array b, const struct cuda_product *p,
                               cudaStream_t stream);

/* dst[o, i] = src[o, index[i]]: src is (outer, length), dst (outer, count) entries of `bytes` bytes. With `put` the other way round,
 * dst[o, index[i]] = src[o, i]. An index out of range is the fault `fault`. */
struct cuda_move {
    int64_t outer, length, count, bytes;
    int32_t put, fault;
};

cudaError_t kernel_move(void *dst, const void *src, struct cuda_array index, const struct cuda_move *m, struct cuda_fault *fault,
                        cudaStream_t stream);

/* dst[i] = src[row of i, index[i]]: n elements of `size` bytes in rows of `count`; rows of src have `length`. */
cudaError_t kernel_take_along(void *dst, const void *src, int size, struct cuda_array index, int64_t n, int64_t count,
                              int64_t length, struct cuda_fault *fault, cudaStream_t stream);

/* Row index[i] of dst gets row i of src added, for n rows of `row` elements; dst has `rows`. First the keys, which are then sorted (with
 * as many bits as `rows` has), then the sums. */
struct cuda_row_sums {
    int64_t n, rows, row;
};

cudaError_t kernel_index_keys(uint64_t *key, int64_t *position, struct cuda_array index, int64_t n, int64_t rows,
                              struct cuda_fault *fault, cudaStream_t stream);
cudaError_t kernel_add_sorted(enum cuda_arithmetic type, struct cuda_array dst, struct cuda_array src, const uint64_t *key,
                              const int64_t *position, const struct cuda_row_sums *s, cudaStream_t stream);

/* Adds to counts, which are 0 before. */
cudaError_t kernel_bincount(int64_t *counts, int64_t n_counts, struct cuda_array values, int64_t n, struct cuda_fault *fault,
                            cudaStream_t stream);

/* Sorts n keys by their lowest `bits` bits, stably, and positions along with them. With scratch NULL it only tells in *bytes how much
 * scratch memory that needs. */
struct cuda_sort {
    const uint64_t *key;
    const int64_t *position;
    uint64_t *key_out;
    int64_t *position_out;
    int32_t n, bits;
};

cudaError_t kernel_sort(const struct cuda_sort *s, void *scratch, size_t *bytes, cudaStream_t stream);

/* Keys of n elements in rows of `length`, and their positions 0 .. n-1. The row's number is above the key, from bit `shift` on;
 * shift 64: it is left out. */
cudaError_t kernel_sort_keys(uint64_t *key, int64_t *position, struct cuda_array keys, int64_t n, int64_t length, int shift,
                             cudaStream_t stream);

/* The rows of positions as keys; positions within their rows. */
cudaError_t kernel_row_keys(uint64_t *key, const int64_t *position, int64_t n, int64_t length, cudaStream_t stream);
cudaError_t kernel_within_rows(int64_t *position, int64_t n, int64_t length, cudaStream_t stream);

/* How many of an ascending table's entries are below each value, or with `right` not above it. */
cudaError_t kernel_search(int64_t *position, struct cuda_array table, int64_t length, struct cuda_array values, int64_t n,
                          bool right, cudaStream_t stream);

/* A convolution's operand as a matrix; struct rt_im2col_form says how. */
struct cuda_windows {
    int64_t volumes;
    int64_t size[3], out[3], kernel[3], stride[3], pad[3], dilation[3];
};

cudaError_t kernel_im2col(void *dst, const void *src, int size, const struct cuda_windows *w, cudaStream_t stream);

/* A barrier between the ranks whose pads are listed: rank q's pad holds one word per rank, written by that rank, and behind them
 * the count of barriers that rank q has passed. Gives up after `patience` ns (a fault), or when *cancel is not 0. */
struct cuda_barrier {
    uint32_t *const *pads; /* device array, one entry per rank */
    int32_t rank, world;
    uint64_t patience;
    const volatile uint32_t *cancel; /* mapped host memory */
};

cudaError_t kernel_barrier(const struct cuda_barrier *b, struct cuda_fault *fault, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
