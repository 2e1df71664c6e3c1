/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime: tensors on a device, operations, collectives, symmetric memory, events. A problem's reference is written once
 * against this header; a backend plugin (runtime/backend.h: `host`, `cuda`) does the work.
 *
 * Order. Operations are enqueued on one stream per runtime and may run later; only the functions marked "waits" wait. Tensor
 * data are device addresses: never dereference them, use rt_upload and rt_download.
 *
 * Errors are sticky. Operations return nothing; the first failure (wrong shape, library error, lost peer) is kept with the
 * operation's name, everything after it is skipped, and rt_status() reports it. So a reference reads like its mathematics
 * and is checked once. Functions that return a tensor return NULL after a failure, and NULL is accepted as an operand.
 *
 * Destination first. Every operation writes a tensor that the caller provides: an output, or a temporary from rt_new.
 * Temporaries live in an arena until rt_release_all(), which the engine calls after every reference() call; memory is kept, so
 * that a loop does not allocate after its first iteration.
 *
 * Arithmetic. An operation computes in f64 when one of its tensors (operands or destination) is f64, else in f32 when one of them
 * is a floating type, else in i64, and rounds once to the destination. Integers wrap around; a division of integers by zero is a
 * failure. Reductions and products accumulate in f32 or better (i64 for integer operands) and round once. Destination dtypes may
 * differ from the operands': f32 results of bf16 products are had by giving an f32 destination. NaN wins in minima and maxima.
 *
 * Threads. A runtime belongs to one thread.
 */
#ifndef PKB_RUNTIME_RUNTIME_H
#define PKB_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/dtype.h"
#include "util/error.h"

struct rt;

/* ---- life ---------------------------------------------------------------------------------------------------------- */

/* How ranks find each other: gives every rank's blob to every rank. `all` has room for world * size bytes and is filled in rank
 * order; every rank passes the same size. Returns 0, or -1 with the error set. Called when communication is set up (rt_connect) and
 * for symmetric memory (the first rt_symm_barrier, every rt_symm_alloc), by all ranks in the same order. */
typedef int rt_exchange_fn(void *arg, const void *blob, size_t size, void *all, struct pkb_error *err);

struct rt_options {
    int rank, world;
    const int *node_of_rank;  /* world entries: ranks with equal numbers share a node; NULL: all on one node */
    int device;               /* device ordinal; ignored by the host backend */
    const char *shm_prefix;   /* names of POSIX shared memory objects start with it ("/pkb.x"); the caller may unlink leftovers */
    rt_exchange_fn *exchange; /* may be NULL when world is 1 */
    void *exchange_arg;
};

/* Loads the plugin `backend_<name>.so` from the plugin folder (util/paths.h) and opens the device. Communication between ranks is
 * set up at the first operation that needs it, not here. NULL with the error set when the backend is absent or fails. */
struct rt *rt_open(const char *backend, const struct rt_options *options, struct pkb_error *err);

/* NULL-safe. Frees everything that belongs to the runtime. Does not wait for peers: whoever closes must know (by a barrier at the
 * end, or through the exchange) that no peer still needs a message from this rank. */
void rt_close(struct rt *rt);

int rt_rank(const struct rt *rt);
int rt_world_size(const struct rt *rt);
void *rt_stream(const struct rt *rt);            /* cudaStream_t, or NULL on the host */
const char *rt_device_name(const struct rt *rt); /* CPU or GPU model, for records */

/* 0 when nothing has failed so far, else -1 with the first failure. Does not wait. */
int rt_status(const struct rt *rt, struct pkb_error *err);

/* Waits until all enqueued work is done. 0, or -1 with the first failure. */
int rt_sync(struct rt *rt, struct pkb_error *err);

/* Bytes of the largest cache between the device's cores and its memory, or 0 where timing needs no cold data (host). */
size_t rt_cache_bytes(const struct rt *rt);

/* What foreign code that has used the device left behind. */
enum rt_fault {
    RT_FAULT_NONE,
    RT_FAULT_ERROR,  /* an error of a library call or a kernel that it did not handle: no more is known than the text */
    RT_FAULT_MEMORY, /* the same, and the device had no memory left */
    RT_FAULT_DEVICE, /* another device is selected */
};

/* Looks at what foreign code that runs in this thread has left of the device, without waiting: an error that it did not handle, another
 * selected device. RT_FAULT_NONE, or the fault with the text set. Errors of enqueued work show once they are known, at the latest
 * after rt_sync. Call it once per piece of foreign code: what was seen is forgotten. Not sticky. */
enum rt_fault rt_foreign_fault(struct rt *rt, struct pkb_error *err);

/* Records a failure of the caller's own ("problem 10: split %lld is negative"); later operations are skipped. */
void rt_fail(struct rt *rt, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- tensors ------------------------------------------------------------------------------------------------------- */

/* A shape for the functions below: rt_new(rt, PKB_F32, RT_SHAPE(m, n)). Scalars: RT_SCALAR. */
#define RT_SHAPE(...)                                                                                                            \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[])                                                 \
    {                                                                                                                            \
        __VA_ARGS__                                                                                                              \
    }
#define RT_SCALAR 0, NULL

/* A temporary, uninitialised, valid until rt_release_all. */
pkb_tensor *rt_new(struct rt *rt, int dtype, int ndim, const int64_t *shape);
pkb_tensor *rt_new_like(struct rt *rt, int dtype, const pkb_tensor *form);

/* Views of the same storage (nothing is copied): another shape with as many elements; entries first .. first+count-1 of the
 * leading dimension; one entry of it with that dimension dropped. */
pkb_tensor *rt_view(struct rt *rt, const pkb_tensor *t, int ndim, const int64_t *shape);
pkb_tensor *rt_rows(struct rt *rt, const pkb_tensor *t, int64_t first, int64_t count);
pkb_tensor *rt_entry(struct rt *rt, const pkb_tensor *t, int64_t index);

/* Ends the life of all temporaries and views. */
void rt_release_all(struct rt *rt);

/* A tensor that lives until rt_close (inputs and outputs of a cell): fills form->data. 0 or -1. */
int rt_keep(struct rt *rt, pkb_tensor *form, struct pkb_error *err);

/* The same in memory that the host reads as well, at the same address (page-locked on cuda): small tables that a program needs on
 * both sides. The host may read it after the rt_sync that follows the last write. */
int rt_keep_shared(struct rt *rt, pkb_tensor *form, struct pkb_error *err);

/* Host memory to tensor and back, tensor_bytes() bytes. Enqueued: host memory must stay valid until rt_sync. */
void rt_upload(struct rt *rt, pkb_tensor *dst, const void *host);
void rt_download(struct rt *rt, void *host, const pkb_tensor *src);

/* Waits: reads an integer tensor into host memory, one int64_t per element (what a data-dependent size needs). After a failure
 * the numbers are 0. */
void rt_read_i64(struct rt *rt, int64_t *host, const pkb_tensor *src);

/* Fills every byte of the storage: the poison pattern of outputs. */
void rt_fill_bytes(struct rt *rt, pkb_tensor *dst, int byte);

/* ---- operations ---------------------------------------------------------------------------------------------------- */

/* Copies; converts when the dtypes differ. Same number of elements. */
void rt_copy(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src);
void rt_fill(struct rt *rt, pkb_tensor *dst, double value);

enum rt_unary {
    RT_NEG,
    RT_ABS,
    RT_EXP,
    RT_LOG,
    RT_SQRT,
    RT_RSQRT,
    RT_SQUARE,
    RT_SIGMOID,
    RT_SOFTPLUS,
    RT_SILU,
    RT_FLOOR,
    RT_CEIL,
    RT_RINT,
    RT_UNARY_COUNT
};
/* RT_SOFTPLUS: log(1 + exp x), evaluated as max(x, 0) + log1p(exp(-|x|)). RT_RSQRT: 1/sqrt(x). RT_SILU: x / (1 + exp(-x)).
 * RT_RINT: to the nearest integer, ties to even. dst may be a. */
void rt_unary(struct rt *rt, enum rt_unary op, pkb_tensor *dst, const pkb_tensor *a);

enum rt_binary {
    RT_ADD,
    RT_SUB,
    RT_MUL,
    RT_DIV,
    RT_MIN,
    RT_MAX,
    RT_FLOORDIV,
    RT_MOD,
    RT_EQ,
    RT_NE,
    RT_LT,
    RT_LE,
    RT_GT,
    RT_GE,
    RT_BINARY_COUNT
};
/* Element-wise; shapes broadcast as in NumPy (aligned at the last dimension, a 1 stretches). dst has the broadcast shape and may
 * be an operand of that shape. RT_FLOORDIV rounds towards minus infinity; RT_MOD is a - floor(a / b) * b. RT_EQ to RT_GE give 1 or 0; NaN
 * equals nothing. */
void rt_binary(struct rt *rt, enum rt_binary op, pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b);
/* The same with a scalar right operand in the arithmetic type; it must be an integer where that is i64. */
void rt_binary_scalar(struct rt *rt, enum rt_binary op, pkb_tensor *dst, const pkb_tensor *a, double b);

/* dst[i] = condition[i] is not zero ? a[i] : b[i]; shapes broadcast as above. a, b and dst have one dtype. dst may be a or b. */
void rt_where(struct rt *rt, pkb_tensor *dst, const pkb_tensor *condition, const pkb_tensor *a, const pkb_tensor *b);

/* dst[i] = first + step * i over the linear index. */
void rt_iota(struct rt *rt, pkb_tensor *dst, double first, double step);

enum rt_reduction { RT_SUM, RT_PROD, RT_AMIN, RT_AMAX, RT_REDUCTION_COUNT };
/* Reduces one axis (negative: from the end), or all of them with RT_ALL_AXES. dst has the shape without that axis, or with 1 in
 * its place. */
#define RT_ALL_AXES 1000
void rt_reduce_axis(struct rt *rt, enum rt_reduction op, pkb_tensor *dst, const pkb_tensor *a, int axis);

/* Along the last axis, with the maximum subtracted, one rounding at the end. A row of -infinity alone gives NaN. dst may be a. */
void rt_softmax(struct rt *rt, pkb_tensor *dst, const pkb_tensor *a);

/* Running sums along the last axis: dst[.., j] = a[.., 0] + ... + a[.., j], in f64 for floating types (i64 for integers), each
 * rounded once. dst may be a. */
void rt_cumsum(struct rt *rt, pkb_tensor *dst, const pkb_tensor *a);

/* dst = op(a) * op(b); op is the transpose where the flag is set. Matrices, or stacks of them with equal leading dimensions, a and b
 * of one dtype.
 * A product goes to the BLAS library of the backend; bf16/f16 accumulate in f32, f32 is true f32. */
void rt_matmul(struct rt *rt, pkb_tensor *dst, const pkb_tensor *a, bool trans_a, const pkb_tensor *b, bool trans_b);

/* dst dimension i is src dimension order[i]; one dtype. */
void rt_permute(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src, const int *order);

/* Parts side by side along an axis (negative: from the end); one dtype. */
void rt_concat(struct rt *rt, pkb_tensor *dst, int n, const pkb_tensor *const *parts, int axis);

/* A range of an axis (negative: from the end) as a tensor of its own, and back: dst = src[.., first : first + n, ..] with n from
 * dst's shape; dst[.., first : first + n, ..] = src with n from src's. One dtype; the other dimensions are equal. */
void rt_slice(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src, int axis, int64_t first);
void rt_paste(struct rt *rt, pkb_tensor *dst, int axis, int64_t first, const pkb_tensor *src);

/* dst[i, ...] = table[index[i], ...]; index is i32 or i64. An index out of range is a failure. */
void rt_take_rows(struct rt *rt, pkb_tensor *dst, const pkb_tensor *table, const pkb_tensor *index);

/* The same along any axis (negative: from the end), with a 1-D index: dst[.., i, ..] = src[.., index[i], ..]. */
void rt_take(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index, int axis);

/* Along the last axis, an index per element: dst[.., j] = src[.., index[.., j]]. index has dst's shape; the leading dimensions of
 * src are equal. */
void rt_take_along(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index);

/* dst[index[i], ...] = src[i, ...] for a 1-D index without repetitions; the other rows of dst stay. */
void rt_put_rows(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index);

/* dst[index[i], ...] += src[i, ...] for a 1-D index. The sum over all i is formed in f32 or better (i64 for integers), in ascending i
 * on the host and in any order on cuda, added to what dst holds and rounded once. */
void rt_add_rows(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index);

/* order (i64) = positions along the last axis that sort keys ascending, row by row; equal keys keep their order, NaN is last. */
void rt_argsort(struct rt *rt, pkb_tensor *order, const pkb_tensor *keys);

/* position (i64) of every value in a 1-D ascending table of the same dtype: the number of entries below the value, or with `right`
 * of those that are not above it. */
void rt_search_sorted(struct rt *rt, pkb_tensor *position, const pkb_tensor *table, const pkb_tensor *values, bool right);

/* counts (i64, n) [v] = how many elements of values (integer, 1-D) are v. A value outside 0..n-1 is a failure. */
void rt_bincount(struct rt *rt, pkb_tensor *counts, const pkb_tensor *values);

/* Diagonal of a matrix: dst[i] = a[i, i]. */
void rt_diagonal(struct rt *rt, pkb_tensor *dst, const pkb_tensor *a);

/* A window that slides over one to three spatial dimensions; entry i belongs to spatial dimension i, entries beyond the tensor's
 * are ignored. */
struct rt_window {
    int64_t kernel[3], stride[3], pad[3], dilation[3]; /* elements; pad on both sides, with zeros */
};

/* A convolution's operand as a matrix: src (batch, channels, d0[, d1[, d2]]) to dst (batch, channels * taps, positions), where
 * taps = product of kernel[i], positions = product of floor((d_i + 2 pad_i - dilation_i (kernel_i - 1) - 1) / stride_i) + 1, both
 * row-major: dst[b, c * taps + tap, position] = src[b, c, position * stride - pad + tap * dilation], 0 outside. One dtype. */
void rt_im2col(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src, const struct rt_window *window);

/* Discrete Fourier transforms along the last axis, of f32, not scaled. A complex number is a last dimension of 2 (real,
 * imaginary), so that a complex vector of n is (.., n, 2). Leading dimensions are equal.
 * RT_FFT_FORWARD, RT_FFT_INVERSE: complex n to complex n with exp(-2 pi i jk/n), exp(+2 pi i jk/n).
 * RT_FFT_REAL: real n to the n/2 + 1 (rounded down) first entries of the forward transform.
 * RT_FFT_TO_REAL: n/2 + 1 entries of a Hermitian spectrum to its inverse transform, real, n from dst's shape.
 * dst is not src. The library of the backend does it (FFTW, cuFFT). */
enum rt_fft_kind { RT_FFT_FORWARD, RT_FFT_INVERSE, RT_FFT_REAL, RT_FFT_TO_REAL };
void rt_fft(struct rt *rt, enum rt_fft_kind kind, pkb_tensor *dst, const pkb_tensor *src);

/* ---- groups and collectives ---------------------------------------------------------------------------------------- */

/* An ordered subset of the ranks. Lives until rt_close. */
struct rt_group {
    int id;
    int size;         /* members */
    int rank;         /* this rank's place in it */
    const int *ranks; /* members as world ranks, in group order */
};

/* All ranks, in order. */
const struct rt_group *rt_world(struct rt *rt);

/* The group of these world ranks. Every member passes the same list, which must contain the caller; nothing is communicated. The
 * same list gives the same group. NULL after a failure. */
const struct rt_group *rt_group(struct rt *rt, int size, const int *ranks);

/* Collective over the world: sets up communication between the ranks now. Else it happens at the first collective, message or
 * barrier (of a group with more than one member), which therefore every rank of the world must come to. Waits. 0, or -1 with the first
 * failure. */
int rt_connect(struct rt *rt, struct pkb_error *err);

/* Collectives over a group g of n members; all members call them in the same order. Sums of bf16/f16 accumulate in f32 in group
 * order and round once on the host backend; NCCL's order and rounding hold on cuda. src and dst are different tensors unless
 * said otherwise; src is never modified. Roots are places in the group. */
void rt_broadcast(struct rt *rt, const struct rt_group *g, pkb_tensor *t, int root); /* in place */
void rt_all_reduce(struct rt *rt, const struct rt_group *g, enum rt_reduction op, pkb_tensor *dst,
                   const pkb_tensor *src); /* dst may be src */
void rt_reduce(struct rt *rt, const struct rt_group *g, enum rt_reduction op, pkb_tensor *dst, const pkb_tensor *src,
               int root); /* dst is written on the root alone; elsewhere it may be NULL; may be src */
void rt_all_gather(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *src); /* dst: n x src elements */
void rt_reduce_scatter(struct rt *rt, const struct rt_group *g, enum rt_reduction op, pkb_tensor *dst,
                       const pkb_tensor *src); /* src: n x dst elements; block i goes to member i */
void rt_gather(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *src,
               int root); /* dst on the root: n x src */
void rt_scatter(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *src,
                int root); /* src on the root: n x dst */
void rt_all_to_all(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *src); /* equal blocks */

/* Blocks of whole rows (entries of the leading dimension): send_rows[i] rows go to member i, in order; recv_rows[i] come from it. */
void rt_all_to_all_v(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const int64_t *recv_rows, const pkb_tensor *src,
                     const int64_t *send_rows);

/* Point to point between members. Sends and receives between begin and end progress together, so that rings cannot deadlock;
 * outside, each completes alone. */
void rt_p2p_begin(struct rt *rt);
void rt_send(struct rt *rt, const struct rt_group *g, const pkb_tensor *t, int to);
void rt_recv(struct rt *rt, const struct rt_group *g, pkb_tensor *t, int from);
void rt_p2p_end(struct rt *rt);

/* Stream-ordered barrier: work enqueued after it starts when all members' earlier work is done. */
void rt_barrier(struct rt *rt, const struct rt_group *g);

/* ---- symmetric memory ---------------------------------------------------------------------------------------------- */

/* Collective over the world: `bytes` on every rank, zero-filled; *symm describes it as candidate.h says. Lives until rt_close.
 * Waits. 0, or -1 with the error set (not sticky: a candidate may go on after a refusal). On failure no rank has the block. */
int rt_symm_alloc(struct rt *rt, size_t bytes, pkb_symm *symm, struct pkb_error *err);

/* Stream-ordered barrier over the world that makes stores to peers visible; needs no communicator where all ranks share a node. */
void rt_symm_barrier(struct rt *rt);

/* ---- events -------------------------------------------------------------------------------------------------------- */

/* Makes events 0..n-1 available. 0 or -1. */
int rt_events(struct rt *rt, int n, struct pkb_error *err);

/* Marks this point of the stream. */
void rt_event_record(struct rt *rt, int event);

/* Nanoseconds from one event to another. After rt_sync only. */
double rt_event_elapsed_ns(struct rt *rt, int from, int to);

#endif
