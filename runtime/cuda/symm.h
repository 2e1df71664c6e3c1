/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric memory of the CUDA backend: what its files share. */
#ifndef PKB_RUNTIME_CUDA_SYMM_H
#define PKB_RUNTIME_CUDA_SYMM_H

#include "runtime/cuda/driver.h"
#include "runtime/cuda/fds.h"

/* One rank's memory in this process. */
struct symm_mapping {
    CUmemGenericAllocationHandle handle; /* 0 with CUDA IPC */
    CUdeviceptr address;                 /* 0: not mapped */
};

struct symm_block {
    size_t bytes, size;        /* asked for; as mapped */
    struct symm_mapping *maps; /* world entries */
    void **peers;              /* their addresses, NULL for ranks of other nodes */
    struct symm_mapping multicast;
    struct symm_block *next;
};

struct cuda_symm {
    int method; /* enum symm_method, the same on all ranks */
    bool one_node, multicast;
    size_t granularity;        /* of sizes */
    struct symm_hello *hellos; /* world entries: what ranks tell each other first */
    struct fds fds;
    struct fds_address *addresses; /* world entries */
    bool *peer;                    /* world entries: another rank of this node */
    uint32_t serial;               /* of swaps of descriptors */
    struct symm_block *blocks;
    struct symm_block *pads; /* of the barrier; the first of the blocks */
    void *pad_table;         /* device memory: the pads' addresses */
    struct rt_comm *comm;    /* barrier between nodes */
    struct rt_group world;
    int *ranks;
};

/* How memory is allocated for the method. */
CUmemAllocationProp symm_properties(const struct rt_device *dev, int method);

/* Reserves addresses for a handle's memory, maps it there and grants access. On failure nothing is mapped. */
int symm_map(struct rt_device *dev, struct symm_mapping *m, size_t size, struct pkb_error *err);
void symm_unmap(struct rt_device *dev, struct symm_mapping *m, size_t size);

/* Descriptors of all ranks of the node; collective over the world, since it ends with an agreement. */
int symm_swap_fds(struct rt_device *dev, int fd, int *fds, struct pkb_error *err);
void symm_close_fds(int *fds, int n); /* and frees the list; NULL-safe */

/* Allocates and maps this rank's part of a block, zero-filled; maps those of the others. Collective over the world. */
int symm_create_own(struct rt_device *dev, struct symm_block *b, struct pkb_error *err);
int symm_map_peers(struct rt_device *dev, struct symm_block *b, struct pkb_error *err);

/* The multicast object of a block; collective. The others concern this rank alone. */
bool symm_can_multicast(const struct rt_device *dev);
int symm_multicast_granularity(struct rt_device *dev, size_t *unit, struct pkb_error *err);
int symm_add_multicast(struct rt_device *dev, struct symm_block *b, struct pkb_error *err);

#endif
