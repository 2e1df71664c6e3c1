/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/host/comm.h"

#include <stdlib.h>

#include "runtime/module.h"

/* ---- life ---------------------------------------------------------------------------------------------------------- */

int host_comm_setup(struct rt_device *dev, struct pkb_error *err)
{
    struct host_comm *comm = NULL;
    if (dev->comm)
        return 0;
    comm = calloc(1, sizeof(*comm));
    if (!comm)
        return pkb_error_set(err, "out of memory");
    comm->ops = rt_module(HOST_TRANSPORT_MODULE, HOST_TRANSPORT_SYMBOL, err);
    if (!comm->ops || comm->ops->open(dev->options, &comm->transport, err)) {
        free(comm);
        return -1;
    }
    dev->comm = comm;
    return 0;
}

void host_comm_teardown(struct rt_device *dev)
{
    if (!dev->comm)
        return;
    dev->comm->ops->close(dev->comm->transport);
    free(dev->comm);
    dev->comm = NULL;
}

void host_comm_cancel(struct rt_device *dev)
{
    if (dev->comm)
        dev->comm->ops->cancel(dev->comm->transport);
}

int host_comm_open(struct rt_device *dev, const struct rt_group *g, struct rt_comm **comm, struct pkb_error *err)
{
    *comm = calloc(1, sizeof(**comm));
    if (!*comm)
        return pkb_error_set(err, "out of memory");
    **comm = (struct rt_comm){.dev = dev, .g = g};
    return 0;
}

void host_comm_close(struct rt_device *dev, struct rt_comm *comm)
{
    (void)dev;
    free(comm);
}

/* ---- messages of collectives --------------------------------------------------------------------------------------- */

/* Group (28 bits), phase (4), number of the collective (16). */
static uint64_t tag_of(const struct rt_comm *c, enum comm_phase phase)
{
    uint16_t sequence = phase == PHASE_MESSAGE ? 0 : c->sequence;
    return (uint64_t)c->g->id << 20 | (uint64_t)phase << 16 | sequence;
}

void comm_begin(struct rt_comm *c)
{
    c->sequence++;
}

int comm_send(struct rt_comm *c, enum comm_phase phase, int member, const void *data, size_t bytes, struct pkb_error *err)
{
    struct host_comm *comm = c->dev->comm;
    return comm->ops->send(comm->transport, c->g->ranks[member], tag_of(c, phase), data, bytes, err);
}

int comm_recv(struct rt_comm *c, enum comm_phase phase, int member, void *data, size_t bytes, struct pkb_error *err)
{
    struct host_comm *comm = c->dev->comm;
    return comm->ops->recv(comm->transport, c->g->ranks[member], tag_of(c, phase), data, bytes, err);
}

int comm_wait(struct rt_comm *c, struct pkb_error *err)
{
    return c->dev->comm->ops->wait(c->dev->comm->transport, err);
}

/* ---- point to point ------------------------------------------------------------------------------------------------ */

int host_p2p_begin(struct rt_device *dev, struct pkb_error *err)
{
    (void)dev;
    (void)err;
    return 0;
}

int host_send(struct rt_comm *c, int dtype, const void *data, size_t count, int to, struct pkb_error *err)
{
    return comm_send(c, PHASE_MESSAGE, to, data, count * dtype_size(dtype), err);
}

int host_recv(struct rt_comm *c, int dtype, void *data, size_t count, int from, struct pkb_error *err)
{
    return comm_recv(c, PHASE_MESSAGE, from, data, count * dtype_size(dtype), err);
}

int host_p2p_end(struct rt_device *dev, struct pkb_error *err)
{
    return dev->comm ? dev->comm->ops->wait(dev->comm->transport, err) : 0;
}
