/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend: one GPU, one stream. Shared by the backend's files; the modules cuda_blas.so, cuda_fft.so and cuda_nccl.so are of
 * the same build and see the same structures. */
#ifndef PKB_RUNTIME_CUDA_DEVICE_H
#define PKB_RUNTIME_CUDA_DEVICE_H

#include <cuda_runtime_api.h>

#include "runtime/backend.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/settings.h"

struct cuda_blas_ops;
struct cuda_comm_ops;
struct cuda_driver;
struct cuda_fft_ops;
struct cuda_fft_plans;
struct cuda_symm;
struct cuda_message;

/* Independent pieces of scratch memory on the device, kept from call to call. */
enum cuda_scratch { SCRATCH_A, SCRATCH_B, SCRATCH_C, SCRATCH_COUNT };

struct scratch {
    void *data;
    size_t size;
};

/* Messages between p2p_begin and p2p_end. */
struct cuda_messages {
    struct cuda_message *list;
    size_t n, room;
};

struct rt_device {
    const struct rt_options *options;
    struct cuda_settings settings;
    int ordinal; /* of the GPU */
    char name[256];
    cudaStream_t stream;
    struct scratch scratch[SCRATCH_COUNT];
    struct cuda_fault *fault;      /* on the device */
    struct cuda_fault *fault_here; /* its copy in pinned memory */
    volatile uint32_t *cancel;     /* pinned: ends barriers that wait on the device */
    uint32_t *cancel_device;       /* the same as the device sees it */
    cudaEvent_t *events;
    int n_events;

    const struct cuda_blas_ops *blas; /* loaded at the first product */
    void *blas_handle;
    const struct cuda_fft_ops *fft; /* loaded at the first transform */
    struct cuda_fft_plans *fft_plans;
    const struct cuda_comm_ops *comm_ops; /* chosen by comm_setup */
    void *comm_state;                     /* theirs */
    struct rt_comm *comms;                /* open ones */
    struct cuda_messages messages;
    struct cuda_driver *driver; /* loaded by symmetric memory */
    struct cuda_symm *symm;     /* NULL: not used yet */
};

/* 0 when status is cudaSuccess; else -1 with "<call>: <reason> (rank r, GPU d)". CUDA_FAILS names the call by its text. */
int cuda_check(const struct rt_device *dev, cudaError_t status, const char *call, struct pkb_error *err);
#define CUDA_FAILS(dev, call, err) (cuda_check((dev), (call), #call, (err)) != 0)

/* Sets the text, with " (rank r, GPU d)" behind it. Returns -1. */
int cuda_error(const struct rt_device *dev, struct pkb_error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* At least `bytes` of scratch memory; what was there before is lost. NULL with the error set. */
void *cuda_scratch(struct rt_device *dev, enum cuda_scratch slot, size_t bytes, struct pkb_error *err);

/* Waits for the stream, while communication is watched: a peer that is gone, or standing still for too long, is an error. */
int cuda_wait(struct rt_device *dev, struct pkb_error *err);

/* Elements of a tensor that the front end has checked. */
static inline int64_t cuda_numel(const pkb_tensor *t)
{
    int64_t n = 0;
    (void)tensor_numel(t, &n, NULL);
    return n;
}

static inline struct cuda_array cuda_array_of(const pkb_tensor *t)
{
    return (struct cuda_array){t->data, t->dtype};
}

/* What an operation computes in: f64 when one of its tensors is f64, else f32 when one of them is a floating type, else i64. */
static inline enum cuda_arithmetic cuda_arithmetic_of(int dst, int a, int b)
{
    if (dst == PKB_F64 || a == PKB_F64 || b == PKB_F64)
        return CUDA_F64;
    return dtype_is_float(dst) || dtype_is_float(a) || dtype_is_float(b) ? CUDA_F32 : CUDA_I64;
}

/* Elements along the last axis of a tensor that has one. */
static inline int64_t cuda_row_length(const pkb_tensor *t)
{
    return t->shape[t->ndim - 1];
}

/* What foreign code left (runtime.h, rt_foreign_fault), and the size of the L2 cache. */
enum rt_fault cuda_foreign_fault(struct rt_device *dev, struct pkb_error *err);
size_t cuda_cache_bytes(struct rt_device *dev);

/* ---- operations ---------------------------------------------------------------------------------------------------- */

int cuda_copy(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, struct pkb_error *err);
int cuda_copy2d(struct rt_device *dev, void *dst, const void *src, const struct rt_copy2d_form *form, struct pkb_error *err);
int cuda_fill(struct rt_device *dev, pkb_tensor *dst, double value, struct pkb_error *err);
int cuda_unary(struct rt_device *dev, enum rt_unary op, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err);
int cuda_binary(struct rt_device *dev, enum rt_binary op, pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b,
                struct pkb_error *err);
int cuda_binary_scalar(struct rt_device *dev, enum rt_binary op, pkb_tensor *dst, const pkb_tensor *a, double b,
                       struct pkb_error *err);
int cuda_where(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *condition, const pkb_tensor *a, const pkb_tensor *b,
               struct pkb_error *err);
int cuda_iota(struct rt_device *dev, pkb_tensor *dst, double first, double step, struct pkb_error *err);
int cuda_softmax(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err);
int cuda_cumsum(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err);
int cuda_reduce_axis(struct rt_device *dev, enum rt_reduction op, pkb_tensor *dst, const pkb_tensor *a,
                     const struct rt_reduce_form *form, struct pkb_error *err);
int cuda_matmul(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b,
                const struct rt_matmul_form *form, struct pkb_error *err);
void cuda_matmul_teardown(struct rt_device *dev);
int cuda_permute(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const int *order, struct pkb_error *err);
int cuda_take(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index,
              const struct rt_take_form *form, struct pkb_error *err);
int cuda_take_along(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index,
                    struct pkb_error *err);
int cuda_put_rows(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index, struct pkb_error *err);
int cuda_add_rows(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index, struct pkb_error *err);
int cuda_argsort(struct rt_device *dev, pkb_tensor *order, const pkb_tensor *keys, struct pkb_error *err);
int cuda_search_sorted(struct rt_device *dev, pkb_tensor *position, const pkb_tensor *table, const pkb_tensor *values, bool right,
                       struct pkb_error *err);
int cuda_im2col(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const struct rt_im2col_form *form,
                struct pkb_error *err);
int cuda_transform(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const struct rt_fft_form *form,
                   struct pkb_error *err);
void cuda_transform_teardown(struct rt_device *dev);
int cuda_bincount(struct rt_device *dev, pkb_tensor *counts, const pkb_tensor *values, struct pkb_error *err);
int cuda_diagonal(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err);

/* Splits a few long reductions, so that more than a few blocks have work. */
struct cuda_reduction cuda_segments(const struct rt_reduce_form *f);

/* Lists to sort n keys and their positions with, in scratch memory A: filled in `key` and `position`, sorted by the lowest `bits` bits
 * into `key_out` and another list. */
struct cuda_lists {
    uint64_t *key, *key_out;
    int64_t *position, *position_out;
    void *rest;
    size_t rest_bytes;
    int32_t n, bits;
};
int cuda_lists_open(struct rt_device *dev, struct cuda_lists *l, int64_t n, int bits, struct pkb_error *err);
int cuda_lists_sort(struct rt_device *dev, const struct cuda_lists *l, int64_t *position_out, struct pkb_error *err);

/* Bits of a number that is not negative. */
int cuda_bits(int64_t most);

/* n elements of one type to another, as cuda_copy does. */
int cuda_convert(struct rt_device *dev, struct cuda_array dst, struct cuda_array src, int64_t n, struct pkb_error *err);

/* ---- symmetric memory ---------------------------------------------------------------------------------------------- */

int cuda_symm_alloc(struct rt_device *dev, size_t bytes, pkb_symm *symm, struct pkb_error *err);
int cuda_symm_barrier(struct rt_device *dev, struct pkb_error *err);
void cuda_symm_teardown(struct rt_device *dev);

#endif
