/* SPDX-License-Identifier: Apache-2.0 */
/* Groups and collectives of the CUDA backend. Two sets of operations exist: `nccl` (the module cuda_nccl.so) and `staged` (through
 * the host backend's collectives and pinned memory). Collectives that are only messages are written once, over `messages`. */
#ifndef PKB_RUNTIME_CUDA_COMM_H
#define PKB_RUNTIME_CUDA_COMM_H

#include "runtime/cuda/device.h"

struct rt_comm {
    struct rt_device *dev;
    const struct rt_group *g;
    void *handle; /* ncclComm_t, or the host backend's struct rt_comm */
    struct rt_comm *next;
};

/* A message to or from a member of a group, not this rank itself. */
struct cuda_message {
    struct rt_comm *comm;
    bool receiving;
    int peer; /* place in the group */
    void *data;
    size_t bytes;
};

struct cuda_comm_ops {
    /* Collective over the world. `teardown` accepts what a failed setup has left. */
    int (*setup)(struct rt_device *dev, struct pkb_error *err);
    void (*teardown)(struct rt_device *dev);

    /* Fills c->handle; collective over the group. close waits for a moment at most. */
    int (*open)(struct rt_comm *c, struct pkb_error *err);
    void (*close)(struct rt_comm *c);

    /* While the stream is waited for: -1 when communication is broken. abort ends what is under way on the device. */
    int (*watch)(struct rt_device *dev, struct pkb_error *err);
    void (*abort)(struct rt_device *dev);

    /* As in struct rt_backend. */
    int (*broadcast)(struct rt_comm *c, int dtype, void *data, size_t count, int root, struct pkb_error *err);
    int (*all_reduce)(struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count,
                      struct pkb_error *err);
    int (*reduce)(struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count, int root,
                  struct pkb_error *err);
    int (*all_gather)(struct rt_comm *c, int dtype, void *dst, const void *src, size_t count, struct pkb_error *err);
    int (*reduce_scatter)(struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count,
                          struct pkb_error *err);
    int (*barrier)(struct rt_comm *c, struct pkb_error *err);

    /* All of them progress together. */
    int (*messages)(struct rt_device *dev, const struct cuda_message *list, size_t n, struct pkb_error *err);
};

extern const struct cuda_comm_ops cuda_staged;
#define CUDA_NCCL_MODULE "cuda_nccl.so"
#define CUDA_NCCL_SYMBOL "pkb_cuda_nccl"

int cuda_comm_setup(struct rt_device *dev, struct pkb_error *err);
int cuda_comm_open(struct rt_device *dev, const struct rt_group *g, struct rt_comm **comm, struct pkb_error *err);
void cuda_comm_close(struct rt_device *dev, struct rt_comm *comm);

int cuda_broadcast(struct rt_comm *c, int dtype, void *data, size_t count, int root, struct pkb_error *err);
int cuda_all_reduce(struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count,
                    struct pkb_error *err);
int cuda_reduce(struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count, int root,
                struct pkb_error *err);
int cuda_all_gather(struct rt_comm *c, int dtype, void *dst, const void *src, size_t count, struct pkb_error *err);
int cuda_reduce_scatter(struct rt_comm *c, enum rt_reduction op, int dtype, void *dst, const void *src, size_t count,
                        struct pkb_error *err);
int cuda_gather(struct rt_comm *c, int dtype, void *dst, const void *src, size_t count, int root, struct pkb_error *err);
int cuda_scatter(struct rt_comm *c, int dtype, void *dst, const void *src, size_t count, int root, struct pkb_error *err);
int cuda_all_to_all(struct rt_comm *c, int dtype, void *dst, const void *src, size_t count, struct pkb_error *err);
int cuda_all_to_all_v(struct rt_comm *c, int dtype, void *dst, const int64_t *recv_rows, const void *src,
                      const int64_t *send_rows, size_t row, struct pkb_error *err);
int cuda_barrier(struct rt_comm *c, struct pkb_error *err);
int cuda_p2p_begin(struct rt_device *dev, struct pkb_error *err);
int cuda_send(struct rt_comm *c, int dtype, const void *data, size_t count, int to, struct pkb_error *err);
int cuda_recv(struct rt_comm *c, int dtype, void *data, size_t count, int from, struct pkb_error *err);
int cuda_p2p_end(struct rt_device *dev, struct pkb_error *err);

#endif
