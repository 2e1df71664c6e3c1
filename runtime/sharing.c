/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric memory and events. */
#include "runtime/front.h"

int rt_symm_alloc(struct rt *rt, size_t bytes, pkb_symm *symm, struct pkb_error *err)
{
    if (rt_status(rt, err))
        return -1;
    if (bytes == 0)
        return pkb_error_set(err, "symmetric memory of 0 bytes");
    if (rt->be->symm_alloc(rt->dev, bytes, symm, err))
        return pkb_error_prefix(err, "symmetric memory of %zu bytes", bytes);
    return 0;
}

void rt_symm_barrier(struct rt *rt)
{
    struct pkb_error err;
    if (!rt->failed && rt->be->symm_barrier(rt->dev, &err))
        front_fail(rt, "symm_barrier", &err);
}

int rt_events(struct rt *rt, int n, struct pkb_error *err)
{
    if (rt_status(rt, err))
        return -1;
    if (n <= rt->n_events)
        return 0;
    if (rt->be->events(rt->dev, n, err))
        return pkb_error_prefix(err, "%d events", n);
    rt->n_events = n;
    return 0;
}

void rt_event_record(struct rt *rt, int event)
{
    struct pkb_error err;
    if (rt->failed)
        return;
    if (event < 0 || event >= rt->n_events)
        rt_fail(rt, "event_record: event %d of %d", event, rt->n_events);
    else if (rt->be->event_record(rt->dev, event, &err))
        front_fail(rt, "event_record", &err);
}

double rt_event_elapsed_ns(struct rt *rt, int from, int to)
{
    struct pkb_error err;
    double ns = 0;
    if (rt->failed)
        return 0;
    if (from < 0 || from >= rt->n_events || to < 0 || to >= rt->n_events)
        rt_fail(rt, "event_elapsed: events %d and %d of %d", from, to, rt->n_events);
    else if (rt->be->event_elapsed(rt->dev, from, to, &ns, &err))
        front_fail(rt, "event_elapsed", &err);
    return ns;
}
