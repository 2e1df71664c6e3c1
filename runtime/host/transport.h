/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between ranks. A module of its own (plugins/host_ucx.so), because loading and starting UCX costs milliseconds that runs
 * without communication shall not pay. */
#ifndef PKB_RUNTIME_HOST_TRANSPORT_H
#define PKB_RUNTIME_HOST_TRANSPORT_H

#include "runtime/runtime.h"

#define HOST_TRANSPORT_SYMBOL "pkb_host_transport"
#define HOST_TRANSPORT_MODULE "host_ucx.so"
#define HOST_TAG_BITS 48

struct host_transport;

struct host_transport_ops {
    /* Collective over the world: exchanges addresses. Connections are made at the first message to a peer. When a rank fails, all
     * fail. */
    int (*open)(const struct rt_options *options, struct host_transport **t, struct pkb_error *err);

    /* Hands over what is sent (for a bounded time), cancels the rest, closes. NULL-safe. */
    void (*close)(struct host_transport *t);

    /* Start a message to or from a world rank (not this one); memory belongs to the transport until wait. Messages match when
     * rank and tag (HOST_TAG_BITS bits) agree, in the order of their start. */
    int (*send)(struct host_transport *t, int rank, uint64_t tag, const void *data, size_t bytes, struct pkb_error *err);
    int (*recv)(struct host_transport *t, int rank, uint64_t tag, void *data, size_t bytes, struct pkb_error *err);

    /* Until everything started is done. -1 with the error set when a message has another length than expected, or a peer is
     * gone; what is left is cancelled. */
    int (*wait)(struct host_transport *t, struct pkb_error *err);

    /* Gives up everything started and not waited for: its memory may be freed afterwards. */
    void (*cancel)(struct host_transport *t);
};

#endif
