/* SPDX-License-Identifier: Apache-2.0 */
/* What a device backend provides: one table of functions, exported by the plugin `backend_<name>.so` as `pkb_rt_backend`.
 *
 * The front end (runtime/runtime.h) has checked everything before it calls: operands are there, forms and dtypes fit the operation,
 * axes are normalised, roots and peers are in range. A backend adds no checks of its own except those that need the data (an index
 * out of range, a division of integers by zero).
 *
 * Order. Work is enqueued on the device's one stream and may run after the function has returned; so may host memory that upload
 * and download name be used. Only `sync`, `symm_alloc`, `comm_setup`, `comm_open` and `close` wait. `data` of tensors are device
 * addresses, which the front end never dereferences.
 *
 * Errors. A function returns 0, or -1 with the error set. A failure of work that was enqueued earlier is reported by any later
 * call, at the latest by the next sync. After a failure the front end calls nothing but sync, release, comm_close and close.
 *
 * Memory. The front end keeps an arena of blocks that it allocates here and reuses them in stream order, so that a backend may
 * assume that nothing is freed while work that uses it is pending only if its `release` waits; scratch memory that a backend needs
 * is kept from call to call, because timed loops must not allocate after their first iteration.
 */
#ifndef PKB_RUNTIME_BACKEND_H
#define PKB_RUNTIME_BACKEND_H

#include "runtime/runtime.h"

#define RT_BACKEND_VERSION 3
#define RT_BACKEND_SYMBOL "pkb_rt_backend"

struct rt_device; /* the backend's state: one device, one stream */
struct rt_comm;   /* the backend's state of a group */

/* dst[o, j] = reduction over k of src[o, k, j]: src is (outer, length, inner), dst (outer, inner). */
struct rt_reduce_form {
    int64_t outer, length, inner;
};

/* batch times (m x k) * (k x n) = (m x n), stored row-major one after another; a is k x m when trans_a is set, b is n x k when
 * trans_b is set. */
struct rt_matmul_form {
    int64_t batch, m, n, k;
    bool trans_a, trans_b;
};

/* rows times `width` bytes, `dst_pitch` and `src_pitch` bytes apart. */
struct rt_copy2d_form {
    size_t rows, width, dst_pitch, src_pitch;
};

/* dst[o, i, k] = src[o, index[i], k]: src is (outer, length, inner) elements, dst (outer, count, inner). */
struct rt_take_form {
    int64_t outer, length, count, inner;
};

/* src is batch * channels volumes of size[], dst batch * channels * (product of kernel[]) volumes of out[]. Dimensions that the
 * tensor lacks come first, with size, kernel, stride, dilation and out 1 and pad 0. */
struct rt_im2col_form {
    int64_t volumes;
    int64_t size[3], out[3];
    struct rt_window window;
};

/* `count` transforms of length n each. */
struct rt_fft_form {
    enum rt_fft_kind kind;
    int64_t count, n;
};

struct rt_backend {
    uint32_t version; /* RT_BACKEND_VERSION */
    uint32_t size;    /* sizeof(struct rt_backend) */
    const char *name;

    /* Life. `options` and what it points to stay valid until close. */
    int (*open)(const struct rt_options *options, struct rt_device **dev, struct pkb_error *err);
    void (*close)(struct rt_device *dev);
    void *(*stream)(struct rt_device *dev);
    const char *(*device_name)(struct rt_device *dev);
    int (*sync)(struct rt_device *dev, struct pkb_error *err);                    /* all work of the device, on whatever stream */
    size_t (*cache_bytes)(struct rt_device *dev);                                 /* may be NULL: 0 */
    enum rt_fault (*foreign_fault)(struct rt_device *dev, struct pkb_error *err); /* may be NULL: never one */

    /* Memory: `bytes` > 0, aligned to 256 bytes at least, uninitialised. */
    int (*alloc)(struct rt_device *dev, size_t bytes, void **ptr, struct pkb_error *err);
    void (*release)(struct rt_device *dev, void *ptr);
    int (*alloc_shared)(struct rt_device *dev, size_t bytes, void **ptr,
                        struct pkb_error *err); /* readable by the host at the same address */
    void (*release_shared)(struct rt_device *dev, void *ptr);
    int (*upload)(struct rt_device *dev, void *dst, const void *host, size_t bytes, struct pkb_error *err);
    int (*download)(struct rt_device *dev, void *host, const void *src, size_t bytes, struct pkb_error *err);
    int (*fill_bytes)(struct rt_device *dev, void *dst, int byte, size_t bytes, struct pkb_error *err);

    /* Operations, as runtime.h describes them. Tensors may have no elements, except where said otherwise. */
    int (*copy)(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, struct pkb_error *err);
    int (*copy2d)(struct rt_device *dev, void *dst, const void *src, const struct rt_copy2d_form *form, struct pkb_error *err);
    int (*fill)(struct rt_device *dev, pkb_tensor *dst, double value, struct pkb_error *err);
    int (*unary)(struct rt_device *dev, enum rt_unary op, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err);
    int (*binary)(struct rt_device *dev, enum rt_binary op, pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b,
                  struct pkb_error *err);
    int (*binary_scalar)(struct rt_device *dev, enum rt_binary op, pkb_tensor *dst, const pkb_tensor *a, double b,
                         struct pkb_error *err);
    int (*reduce_axis)(struct rt_device *dev, enum rt_reduction op, pkb_tensor *dst, const pkb_tensor *a,
                       const struct rt_reduce_form *form, struct pkb_error *err); /* length > 0 for minimum and maximum */
    int (*matmul)(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, const pkb_tensor *b,
                  const struct rt_matmul_form *form, struct pkb_error *err); /* a and b of one dtype */
    int (*permute)(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const int *order, struct pkb_error *err);
    int (*where)(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *condition, const pkb_tensor *a, const pkb_tensor *b,
                 struct pkb_error *err);
    int (*iota)(struct rt_device *dev, pkb_tensor *dst, double first, double step, struct pkb_error *err);
    int (*softmax)(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err);
    int (*cumsum)(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err);
    int (*take)(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index,
                const struct rt_take_form *form, struct pkb_error *err);
    int (*take_along)(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index,
                      struct pkb_error *err);
    int (*put_rows)(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index,
                    struct pkb_error *err);
    int (*add_rows)(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const pkb_tensor *index,
                    struct pkb_error *err);
    int (*argsort)(struct rt_device *dev, pkb_tensor *order, const pkb_tensor *keys, struct pkb_error *err);
    int (*search_sorted)(struct rt_device *dev, pkb_tensor *position, const pkb_tensor *table, const pkb_tensor *values,
                         bool right, struct pkb_error *err);
    int (*im2col)(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const struct rt_im2col_form *form,
                  struct pkb_error *err);
    int (*fft)(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *src, const struct rt_fft_form *form,
               struct pkb_error *err);
    int (*bincount)(struct rt_device *dev, pkb_tensor *counts, const pkb_tensor *values, struct pkb_error *err);
    int (*diagonal)(struct rt_device *dev, pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err);

    /* Groups. comm_setup prepares communication between all ranks (collective over the world; the front end calls it once, before
     * anything below); comm_open that of one group (its members only; the group outlives the comm). A group of one member never
     * gets here: the front end copies. src and dst have the same dtype. */
    int (*comm_setup)(struct rt_device *dev, struct pkb_error *err);
    int (*comm_open)(struct rt_device *dev, const struct rt_group *g, struct rt_comm **comm, struct pkb_error *err);
    void (*comm_close)(struct rt_device *dev, struct rt_comm *comm);

    /* Collectives. `count` is the elements of one block: of src for all_gather and gather, of dst for reduce_scatter and scatter, one
     * n-th of both for all_to_all, all of it otherwise; it is never 0. */
    int (*broadcast)(struct rt_comm *comm, int dtype, void *data, size_t count, int root, struct pkb_error *err);
    int (*all_reduce)(struct rt_comm *comm, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count,
                      struct pkb_error *err); /* dst may be src */
    int (*reduce)(struct rt_comm *comm, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count, int root,
                  struct pkb_error *err); /* dst is NULL where it is not written; may be src */
    int (*all_gather)(struct rt_comm *comm, int dtype, void *dst, const void *src, size_t count, struct pkb_error *err);
    int (*reduce_scatter)(struct rt_comm *comm, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count,
                          struct pkb_error *err);
    int (*gather)(struct rt_comm *comm, int dtype, void *dst, const void *src, size_t count, int root, struct pkb_error *err);
    int (*scatter)(struct rt_comm *comm, int dtype, void *dst, const void *src, size_t count, int root, struct pkb_error *err);
    int (*all_to_all)(struct rt_comm *comm, int dtype, void *dst, const void *src, size_t count, struct pkb_error *err);
    int (*all_to_all_v)(struct rt_comm *comm, int dtype, void *dst, const int64_t *recv_rows, const void *src,
                        const int64_t *send_rows, size_t row, struct pkb_error *err); /* `row`: elements of a row */
    int (*barrier)(struct rt_comm *comm, struct pkb_error *err);

    /* Point to point. Between p2p_begin and p2p_end (always called, also around a single one) sends and receives progress
     * together; they may be deferred until p2p_end. A member may send to itself. */
    int (*p2p_begin)(struct rt_device *dev, struct pkb_error *err);
    int (*send)(struct rt_comm *comm, int dtype, const void *data, size_t count, int to, struct pkb_error *err);
    int (*recv)(struct rt_comm *comm, int dtype, void *data, size_t count, int from, struct pkb_error *err);
    int (*p2p_end)(struct rt_device *dev, struct pkb_error *err);

    /* Symmetric memory, as runtime.h describes it. The blocks belong to the device. `bytes` > 0. */
    int (*symm_alloc)(struct rt_device *dev, size_t bytes, pkb_symm *symm, struct pkb_error *err);
    int (*symm_barrier)(struct rt_device *dev, struct pkb_error *err);

    /* Events 0 .. n-1; `events` may be called again with a larger number. */
    int (*events)(struct rt_device *dev, int n, struct pkb_error *err);
    int (*event_record)(struct rt_device *dev, int event, struct pkb_error *err);
    int (*event_elapsed)(struct rt_device *dev, int from, int to, double *ns, struct pkb_error *err);
};

#endif
