/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/context_parallel/ulysses.h"

#include "problems/axes.h"

void ulysses_exchange_and_cut(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *x, int scatter,
                              int gather)
{
    if (rt_status(rt, NULL) < 0)
        return;
    if (dst->shape[gather] == x->shape[gather] * g->size)
        axes_exchange(rt, g, dst, x, scatter, gather);
    else
        rt_slice(rt, dst, axes_exchanged(rt, g, x, scatter, gather), gather, 0);
}

int ulysses_supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (kit_require_divisible(s, "nh", err) < 0)
        return -1;
    int64_t kept = problem_int(s, "U"), all = problem_int(s, "S") * s->world;
    if (kept > all)
        return pkb_error_set(err, "U = %lld is more than the %lld positions of all ranks", (long long)kept, (long long)all);
    return 0;
}

int64_t ulysses_positions_kept(const struct problem_setting *s)
{
    int64_t kept = problem_int(s, "U");
    return kept % s->world != 0 ? kept : problem_int(s, "S") * s->world;
}

void ulysses_cost(const struct problem_setting *s, double elements, struct problem_cost *cost)
{
    double bytes = elements * kit_element(s);
    cost->flops = 0;
    cost->hbm_bytes = 2 * bytes;
    cost->link_bytes = bytes * (s->world - 1.0) / s->world;
}
