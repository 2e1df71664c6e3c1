/* SPDX-License-Identifier: Apache-2.0 */
/* Point-to-point messages. Those of a rank to itself are paired in order and copied here. */
#include "runtime/front.h"

void rt_p2p_begin(struct rt *rt)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (rt->in_p2p) {
        rt_fail(rt, "p2p_begin: within rt_p2p_begin");
        return;
    }
    rt->in_p2p = true;
    rt->n_sends = rt->n_recvs = 0;
    if (rt->be->p2p_begin(rt->dev, &err))
        front_fail(rt, "p2p_begin", &err);
}

static int copy_own(struct rt *rt, struct pkb_error *err)
{
    if (rt->n_sends != rt->n_recvs)
        return pkb_error_set(err, "%d sends to this rank itself, %d receives", rt->n_sends, rt->n_recvs);
    for (int i = 0; i < rt->n_sends; i++) {
        const pkb_tensor *from = &rt->sends[i].t;
        pkb_tensor *to = &rt->recvs[i].t;
        if (rt->sends[i].g != rt->recvs[i].g || from->dtype != to->dtype || front_numel(from) != front_numel(to))
            return pkb_error_set(err, "a send of %s to this rank itself meets a receive of %s", front_form(from).text,
                                 front_form(to).text);
        if (rt->be->copy(rt->dev, to, from, err))
            return -1;
    }
    return 0;
}

void rt_p2p_end(struct rt *rt)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (!rt->in_p2p) {
        rt_fail(rt, "p2p_end: without rt_p2p_begin");
        return;
    }
    rt->in_p2p = false;
    if (copy_own(rt, &err) || rt->be->p2p_end(rt->dev, &err))
        front_fail(rt, "p2p_end", &err);
}

static int keep_own(struct self_message *list, int *n, const struct rt_group *g, const pkb_tensor *t, struct pkb_error *err)
{
    if (*n == SELF_MESSAGES)
        return pkb_error_set(err, "more than %d messages of a rank to itself", SELF_MESSAGES);
    list[(*n)++] = (struct self_message){g, *t};
    return 0;
}

static int check_message(const struct rt_group *g, const pkb_tensor *t, int peer, struct pkb_error *err)
{
    if (front_group(g, err) || front_check(t, "tensor", err))
        return -1;
    return front_place(g, "peer", peer, err);
}

static int send(struct rt *rt, const struct rt_group *g, const pkb_tensor *t, int to, struct pkb_error *err)
{
    struct rt_comm *comm;
    if (check_message(g, t, to, err))
        return -1;
    if (to == g->rank)
        return keep_own(rt->sends, &rt->n_sends, g, t, err);
    if (front_comm(rt, g, &comm, err))
        return -1;
    return rt->be->send(comm, t->dtype, t->data, (size_t)front_numel(t), to, err);
}

static int recv(struct rt *rt, const struct rt_group *g, pkb_tensor *t, int from, struct pkb_error *err)
{
    struct rt_comm *comm;
    if (check_message(g, t, from, err))
        return -1;
    if (from == g->rank)
        return keep_own(rt->recvs, &rt->n_recvs, g, t, err);
    if (front_comm(rt, g, &comm, err))
        return -1;
    return rt->be->recv(comm, t->dtype, t->data, (size_t)front_numel(t), from, err);
}

void rt_send(struct rt *rt, const struct rt_group *g, const pkb_tensor *t, int to)
{
    struct pkb_error err;
    bool alone = !rt->in_p2p;
    if (alone)
        rt_p2p_begin(rt);
    if (!rt->failed && send(rt, g, t, to, &err))
        front_fail(rt, "send", &err);
    if (alone)
        rt_p2p_end(rt);
}

void rt_recv(struct rt *rt, const struct rt_group *g, pkb_tensor *t, int from)
{
    struct pkb_error err;
    bool alone = !rt->in_p2p;
    if (alone)
        rt_p2p_begin(rt);
    if (!rt->failed && recv(rt, g, t, from, &err))
        front_fail(rt, "recv", &err);
    if (alone)
        rt_p2p_end(rt);
}
