/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric memory: one POSIX shared memory object per rank and block, mapped by all ranks of the node. Names exist only until
 * everybody has mapped, so that a killed process leaves nothing behind later on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/agree.h"
#include "runtime/host/comm.h"
#include "runtime/host/shared.h"

struct host_block {
    size_t bytes;
    void **peers; /* world entries */
    struct host_block *next;
};

struct host_symm {
    struct host_block *blocks;
    struct shared_barrier *barrier; /* of the ranks of this node */
    struct rt_comm *comm;           /* barrier between nodes; NULL where all ranks share one */
    struct rt_group world;
    int *ranks;
    int leader;       /* lowest rank of this node */
    uint32_t members; /* ranks of this node */
    uint32_t count;   /* of names used so far, the same on all ranks */
};

/* ---- names and nodes ------------------------------------------------------------------------------------------------ */

static void name_of(const struct rt_device *dev, uint32_t count, int rank, char name[256])
{
    (void)snprintf(name, 256, "%.200s.%u.%d", dev->options->shm_prefix, (unsigned)count, rank);
}

static bool on_this_node(const struct rt_device *dev, int rank)
{
    return dev->options->node_of_rank[rank] == dev->options->node_of_rank[dev->options->rank];
}

/* ---- blocks -------------------------------------------------------------------------------------------------------- */

static void destroy_block(const struct rt_device *dev, struct host_block *b)
{
    if (!b)
        return;
    for (int i = 0; b->peers && i < dev->options->world; i++)
        shared_unmap(b->peers[i], b->bytes);
    free(b->peers);
    free(b);
}

static struct host_block *create_block(struct rt_device *dev, const char *name, size_t bytes, struct pkb_error *err)
{
    struct host_block *b = calloc(1, sizeof(*b));
    if (b)
        b->peers = calloc((size_t)dev->options->world, sizeof(*b->peers));
    if (!b || !b->peers) {
        (void)pkb_error_set(err, "out of memory");
    } else {
        b->bytes = bytes;
        if (shared_create(name, bytes, &b->peers[dev->options->rank], err) == 0)
            return b;
    }
    destroy_block(dev, b);
    return NULL;
}

static int map_peers(struct rt_device *dev, struct host_block *b, uint32_t count, struct pkb_error *err)
{
    char name[256];
    for (int i = 0; i < dev->options->world; i++) {
        if (i == dev->options->rank || !on_this_node(dev, i))
            continue;
        name_of(dev, count, i, name);
        if (shared_map(name, b->bytes, &b->peers[i], err))
            return -1;
    }
    return 0;
}

/* One block on all ranks, or on none. */
static struct host_block *allocate(struct rt_device *dev, size_t bytes, struct pkb_error *err)
{
    char name[256];
    struct pkb_error own = {""};
    uint32_t count = dev->symm->count++;
    name_of(dev, count, dev->options->rank, name);
    struct host_block *b = create_block(dev, name, bytes, &own);
    bool created = b != NULL;
    int rc = rt_agree(dev->options, bytes, created ? 0 : -1, &own, err);
    if (rc == 0)
        rc = rt_agree(dev->options, bytes, map_peers(dev, b, count, &own), &own, err);
    if (created)
        shared_unlink(name);
    if (rc == 0)
        return b;
    destroy_block(dev, b);
    return NULL;
}

/* ---- barrier ------------------------------------------------------------------------------------------------------- */

/* The barrier's memory is made by the node's lowest rank and mapped by the others. */
static int open_barrier(struct rt_device *dev, struct pkb_error *err)
{
    char name[256];
    struct host_symm *s = dev->symm;
    struct pkb_error own = {""};
    void *address = NULL;
    bool leader = s->leader == dev->options->rank;
    int rc = 0;
    name_of(dev, s->count++, s->leader, name);
    if (leader)
        rc = shared_create(name, sizeof(*s->barrier), &address, &own);
    bool created = leader && rc == 0;
    rc = rt_agree(dev->options, 0, rc, &own, err);
    if (rc == 0) {
        if (!leader)
            rc = shared_map(name, sizeof(*s->barrier), &address, &own);
        rc = rt_agree(dev->options, 0, rc, &own, err);
    }
    if (created)
        shared_unlink(name);
    if (rc) {
        shared_unmap(address, sizeof(*s->barrier));
        return -1;
    }
    s->barrier = address;
    return 0;
}

/* Where nodes cannot share memory, messages make the barrier. */
static int open_comm(struct rt_device *dev, struct pkb_error *err)
{
    struct host_symm *s = dev->symm;
    const struct rt_options *o = dev->options;
    s->ranks = calloc((size_t)o->world, sizeof(*s->ranks));
    if (!s->ranks)
        return pkb_error_set(err, "out of memory");
    for (int i = 0; i < o->world; i++)
        s->ranks[i] = i;
    s->world = (struct rt_group){.id = 0, .size = o->world, .rank = o->rank, .ranks = s->ranks};
    if (host_comm_setup(dev, err))
        return -1;
    return host_comm_open(dev, &s->world, &s->comm, err);
}

static void destroy(struct rt_device *dev)
{
    struct host_symm *s = dev->symm;
    while (s && s->blocks) {
        struct host_block *next = s->blocks->next;
        destroy_block(dev, s->blocks);
        s->blocks = next;
    }
    if (s) {
        shared_unmap(s->barrier, sizeof(*s->barrier));
        if (s->comm)
            host_comm_close(dev, s->comm);
        free(s->ranks);
    }
    free(s);
    dev->symm = NULL;
}

/* Collective: at the first allocation or barrier. */
static int open_symm(struct rt_device *dev, struct pkb_error *err)
{
    if (dev->symm)
        return 0;
    dev->symm = calloc(1, sizeof(*dev->symm));
    if (!dev->symm)
        return pkb_error_set(err, "out of memory");
    dev->symm->leader = -1;
    for (int i = 0; i < dev->options->world; i++) {
        if (!on_this_node(dev, i))
            continue;
        dev->symm->members++;
        if (dev->symm->leader < 0)
            dev->symm->leader = i;
    }
    bool one_node = dev->symm->members == (uint32_t)dev->options->world;
    if (one_node ? open_barrier(dev, err) : open_comm(dev, err)) {
        destroy(dev);
        return -1;
    }
    return 0;
}

/* ---- what the table has -------------------------------------------------------------------------------------------- */

int host_symm_alloc(struct rt_device *dev, size_t bytes, pkb_symm *symm, struct pkb_error *err)
{
    if (open_symm(dev, err))
        return -1;
    struct host_block *b = allocate(dev, bytes, err);
    if (!b)
        return -1;
    b->next = dev->symm->blocks;
    dev->symm->blocks = b;
    *symm = (pkb_symm){.size = bytes, .local = b->peers[dev->options->rank], .peers = b->peers};
    return 0;
}

int host_symm_barrier(struct rt_device *dev, struct pkb_error *err)
{
    if (open_symm(dev, err))
        return -1;
    if (!dev->symm->comm) {
        shared_barrier_wait(dev->symm->barrier, dev->symm->members);
        return 0;
    }
    atomic_thread_fence(memory_order_seq_cst);
    int rc = comm_barrier(dev->symm->comm, PHASE_SYMM, err);
    atomic_thread_fence(memory_order_seq_cst);
    return rc;
}

void host_symm_teardown(struct rt_device *dev)
{
    destroy(dev);
}
