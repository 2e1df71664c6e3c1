/* SPDX-License-Identifier: Apache-2.0 */
/* File descriptors between processes of a node: over datagram sockets with abstract names, which vanish with their owner. What comes
 * without the receiver's cookie is ignored. */
#ifndef PKB_RUNTIME_CUDA_FDS_H
#define PKB_RUNTIME_CUDA_FDS_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/* How others reach this process; to be exchanged. */
struct fds_address {
    uint8_t cookie[16];
    uint8_t size; /* of the name */
    uint8_t name[31];
};

struct fds {
    int socket;
    struct fds_address own;
};

/* 0, or -1 with the error set. */
int fds_open(struct fds *f, struct pkb_error *err);
void fds_close(struct fds *f);

/* Sends `fd` (-1: none) to every rank with peer[rank] set, and gets one from each of them: fds[rank], -1 where it sent none. All take
 * part with the same serial number, which never comes twice, and meet between two swaps. The caller closes what it gets, also
 * after a failure. 0, or -1 with the error set. */
struct fds_swap {
    const struct fds_address *all; /* world entries */
    const bool *peer;              /* world entries; false for this rank */
    int rank, world;
    uint32_t serial;
    int64_t patience_ns;
};
int fds_swap(struct fds *f, const struct fds_swap *swap, int fd, int *fds, struct pkb_error *err);

#endif
