/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of ranks. */
#include <stdlib.h>
#include <string.h>

#include "runtime/front.h"

/* The same on every member, without communication: FNV-1a over the members. The world has 0. */
static int group_id(const struct rt *rt, int size, const int *ranks)
{
    uint32_t hash = 2166136261u;
    bool world = size == rt->options.world;
    for (int i = 0; i < size; i++) {
        world = world && ranks[i] == i;
        for (int shift = 0; shift < 32; shift += 8)
            hash = (hash ^ ((uint32_t)ranks[i] >> shift & 0xffu)) * 16777619u;
    }
    if (world)
        return 0;
    hash = (hash ^ hash >> 28) & 0x0fffffffu;
    return hash ? (int)hash : 1;
}

static int check_ranks(const struct rt *rt, int size, const int *ranks, struct pkb_error *err)
{
    bool member = false;
    if (size < 1 || size > rt->options.world)
        return pkb_error_set(err, "%d members in a world of %d", size, rt->options.world);
    for (int i = 0; i < size; i++) {
        if (ranks[i] < 0 || ranks[i] >= rt->options.world)
            return pkb_error_set(err, "rank %d is not in 0..%d", ranks[i], rt->options.world - 1);
        for (int j = 0; j < i; j++) {
            if (ranks[i] == ranks[j])
                return pkb_error_set(err, "rank %d is there twice", ranks[i]);
        }
        member = member || ranks[i] == rt->options.rank;
    }
    if (!member)
        return pkb_error_set(err, "rank %d is not a member", rt->options.rank);
    return 0;
}

static struct group *create(struct rt *rt, int id, int size, const int *ranks, struct pkb_error *err)
{
    struct group *group = calloc(1, sizeof(*group));
    int *copy = calloc((size_t)size, sizeof(int));
    if (!group || !copy) {
        free(group);
        free(copy);
        (void)pkb_error_set(err, "out of memory");
        return NULL;
    }
    memcpy(copy, ranks, (size_t)size * sizeof(int));
    group->ranks = copy;
    group->g = (struct rt_group){.id = id, .size = size, .ranks = copy};
    for (int i = 0; i < size; i++) {
        if (ranks[i] == rt->options.rank)
            group->g.rank = i;
    }
    group->next = rt->groups;
    rt->groups = group;
    return group;
}

static struct group *find_or_create(struct rt *rt, int size, const int *ranks, struct pkb_error *err)
{
    if (check_ranks(rt, size, ranks, err))
        return NULL;
    int id = group_id(rt, size, ranks);
    for (struct group *group = rt->groups; group; group = group->next) {
        if (group->g.id != id)
            continue;
        if (group->g.size == size && memcmp(group->ranks, ranks, (size_t)size * sizeof(int)) == 0)
            return group;
        (void)pkb_error_set(err, "two groups have the id %d; list the members of one in another order", id);
        return NULL;
    }
    return create(rt, id, size, ranks, err);
}

const struct rt_group *rt_group(struct rt *rt, int size, const int *ranks)
{
    struct pkb_error err;
    if (rt->failed)
        return NULL;
    struct group *group = find_or_create(rt, size, ranks, &err);
    if (!group) {
        front_fail(rt, "group", &err);
        return NULL;
    }
    return &group->g;
}

const struct rt_group *rt_world(struct rt *rt)
{
    return rt->world;
}

/* ---- communication ------------------------------------------------------------------------------------------------- */

int front_connect(struct rt *rt, struct pkb_error *err)
{
    if (rt->connected || rt->options.world == 1)
        return 0;
    if (rt->be->comm_setup(rt->dev, err))
        return pkb_error_prefix(err, "setting up communication");
    rt->connected = true;
    return 0;
}

int rt_connect(struct rt *rt, struct pkb_error *err)
{
    struct pkb_error failure;
    if (!rt->failed && front_connect(rt, &failure))
        front_fail(rt, "connect", &failure);
    return rt_status(rt, err);
}

int front_comm(struct rt *rt, const struct rt_group *g, struct rt_comm **comm, struct pkb_error *err)
{
    struct group *group = rt->groups;
    while (group && &group->g != g)
        group = group->next;
    if (!group)
        return pkb_error_set(err, "the group is of another runtime");
    if (!group->comm && (front_connect(rt, err) || rt->be->comm_open(rt->dev, g, &group->comm, err)))
        return -1;
    *comm = group->comm;
    return 0;
}

int front_group(const struct rt_group *g, struct pkb_error *err)
{
    return g ? 0 : pkb_error_set(err, "group is missing");
}

int front_place(const struct rt_group *g, const char *what, int place, struct pkb_error *err)
{
    if (place < 0 || place >= g->size)
        return pkb_error_set(err, "%s %d in a group of %d", what, place, g->size);
    return 0;
}
