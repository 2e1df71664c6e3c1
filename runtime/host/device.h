/* SPDX-License-Identifier: Apache-2.0 */
/* The host backend: everything runs at once, on the calling thread; device addresses are host addresses. */
#ifndef PKB_RUNTIME_HOST_DEVICE_H
#define PKB_RUNTIME_HOST_DEVICE_H

#include "runtime/backend.h"

struct host_blas;
struct host_comm;
struct host_fft;
struct host_fft_plans;
struct host_symm;

/* Independent pieces of scratch memory, kept from call to call. */
enum host_scratch { SCRATCH_A, SCRATCH_B, SCRATCH_C, SCRATCH_COUNT };

struct scratch {
    void *data;
    size_t size;
};

struct rt_device {
    const struct rt_options *options;
    char name[128];
    struct scratch scratch[SCRATCH_COUNT];
    int64_t *events; /* times */
    int n_events;
    const struct host_blas *blas; /* loaded at the first product */
    const struct host_fft *fft;   /* loaded at the first transform */
    struct host_fft_plans *fft_plans;
    struct host_comm *comm; /* set up by comm_setup */
    struct host_symm *symm; /* symmetric memory; NULL: not used yet */
};

/* At least `bytes` of scratch memory, aligned to 64 bytes; what was there before is lost. NULL with the error set. */
void *host_scratch(struct rt_device *dev, enum host_scratch slot, size_t bytes, struct pkb_error *err);

/* ---- operations ---------------------------------------------------------------------------------------------------- */

int host_copy(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, struct pkb_error *err);
int host_fill(struct rt_device *dev, pkb_tensor *dst, double value, struct pkb_error *err);
int host_unary(struct rt_device *dev, enum rt_unary op, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err);
int host_binary(struct rt_device *dev, enum rt_binary op, pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b,
                struct pkb_error *err);
int host_binary_scalar(struct rt_device *dev, enum rt_binary op, pkb_tensor *dst, const pkb_tensor *a, double b,
                       struct pkb_error *err);
int host_where(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *condition, const pkb_tensor *a, const pkb_tensor *b,
               struct pkb_error *err);
int host_iota(struct rt_device *dev, pkb_tensor *dst, double first, double step, struct pkb_error *err);
int host_softmax(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err);
int host_cumsum(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err);
int host_reduce_axis(struct rt_device *dev, enum rt_reduction op, pkb_tensor *dst, const pkb_tensor *a,
                     const struct rt_reduce_form *form, struct pkb_error *err);
int host_matmul(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b,
                const struct rt_matmul_form *form, struct pkb_error *err);
int host_copy2d(struct rt_device *dev, void *dst, const void *src, const struct rt_copy2d_form *form, struct pkb_error *err);
int host_permute(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const int *order, struct pkb_error *err);
int host_take(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index,
              const struct rt_take_form *form, struct pkb_error *err);
int host_take_along(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index,
                    struct pkb_error *err);
int host_put_rows(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index, struct pkb_error *err);
int host_add_rows(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index, struct pkb_error *err);
int host_argsort(struct rt_device *dev, pkb_tensor *order, const pkb_tensor *keys, struct pkb_error *err);
int host_search_sorted(struct rt_device *dev, pkb_tensor *position, const pkb_tensor *table, const pkb_tensor *values, bool right,
                       struct pkb_error *err);
int host_im2col(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const struct rt_im2col_form *form,
                struct pkb_error *err);
int host_transform(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const struct rt_fft_form *form,
                   struct pkb_error *err);
void host_transform_teardown(struct rt_device *dev);
int host_bincount(struct rt_device *dev, pkb_tensor *counts, const pkb_tensor *values, struct pkb_error *err);
int host_diagonal(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err);

/* Elements of a tensor that the front end has checked. */
static inline size_t host_numel(const pkb_tensor *t)
{
    int64_t n = 0;
    (void)tensor_numel(t, &n, NULL);
    return (size_t)n;
}

/* ---- communication (collectives.c, group_reduce.c, symm.c) --------------------------------------------------------- */

int host_comm_setup(struct rt_device *dev, struct pkb_error *err);
void host_comm_teardown(struct rt_device *dev);
void host_comm_cancel(struct rt_device *dev); /* gives up messages under way */
int host_comm_open(struct rt_device *dev, const struct rt_group *g, struct rt_comm **comm, struct pkb_error *err);
void host_comm_close(struct rt_device *dev, struct rt_comm *comm);

int host_broadcast(struct rt_comm *comm, int dtype, void *data, size_t count, int root, struct pkb_error *err);
int host_all_reduce(struct rt_comm *comm, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count,
                    struct pkb_error *err);
int host_reduce(struct rt_comm *comm, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count, int root,
                struct pkb_error *err);
int host_all_gather(struct rt_comm *comm, int dtype, void *dst, const void *src, size_t count, struct pkb_error *err);
int host_reduce_scatter(struct rt_comm *comm, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count,
                        struct pkb_error *err);
int host_gather(struct rt_comm *comm, int dtype, void *dst, const void *src, size_t count, int root, struct pkb_error *err);
int host_scatter(struct rt_comm *comm, int dtype, void *dst, const void *src, size_t count, int root, struct pkb_error *err);
int host_all_to_all(struct rt_comm *comm, int dtype, void *dst, const void *src, size_t count, struct pkb_error *err);
int host_all_to_all_v(struct rt_comm *comm, int dtype, void *dst, const int64_t *recv_rows, const void *src,
                      const int64_t *send_rows, size_t row, struct pkb_error *err);
int host_barrier(struct rt_comm *comm, struct pkb_error *err);
int host_p2p_begin(struct rt_device *dev, struct pkb_error *err);
int host_send(struct rt_comm *comm, int dtype, const void *data, size_t count, int to, struct pkb_error *err);
int host_recv(struct rt_comm *comm, int dtype, void *data, size_t count, int from, struct pkb_error *err);
int host_p2p_end(struct rt_device *dev, struct pkb_error *err);

int host_symm_alloc(struct rt_device *dev, size_t bytes, pkb_symm *symm, struct pkb_error *err);
int host_symm_barrier(struct rt_device *dev, struct pkb_error *err);
void host_symm_teardown(struct rt_device *dev);

#endif
