/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of the host backend: messages between members, numbered so that collectives cannot mix. */
#ifndef PKB_RUNTIME_HOST_COMM_H
#define PKB_RUNTIME_HOST_COMM_H

#include "runtime/host/device.h"
#include "runtime/host/transport.h"

struct host_comm {
    const struct host_transport_ops *ops;
    struct host_transport *transport;
};

struct rt_comm {
    struct rt_device *dev;
    const struct rt_group *g;
    uint16_t sequence; /* of the collective under way; wraps around, as members are never that far apart */
};

/* Parts of a collective that messages belong to. */
enum comm_phase { PHASE_FIRST, PHASE_SECOND, PHASE_SYMM = 14, PHASE_MESSAGE = 15 };

/* Starts the next collective. */
void comm_begin(struct rt_comm *c);

/* Start a message to or from a member (not this one). */
int comm_send(struct rt_comm *c, enum comm_phase phase, int member, const void *data, size_t bytes, struct pkb_error *err);
int comm_recv(struct rt_comm *c, enum comm_phase phase, int member, void *data, size_t bytes, struct pkb_error *err);

/* Waits for everything that was started. */
int comm_wait(struct rt_comm *c, struct pkb_error *err);

/* A barrier whose messages belong to `phase`. */
int comm_barrier(struct rt_comm *c, enum comm_phase phase, struct pkb_error *err);

#endif
