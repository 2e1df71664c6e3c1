/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/graph/cyclic.h"

#include "problems/rows.h"

/* The stream of the numbers of rows, the same on all ranks. */
enum { STREAM_COUNTS = KIT_STREAM };

int64_t cyclic_rows(const struct problem_setting *s)
{
    return kit_share(s, "rows", "least");
}

int64_t cyclic_capacity(const struct problem_setting *s)
{
    return s->world * cyclic_rows(s) * (s->inputs == PROFILE_HARDENED ? 2 : 1);
}

int cyclic_supports(const struct problem_setting *s, struct pkb_error *err)
{
    return kit_require_least(s, "least", 1, err);
}

int cyclic_describe(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "inv", PKB_I64, RT_SHAPE(cyclic_capacity(s)));
    kit_tensor(&t[1], "counts_sent", PKB_I64, RT_SHAPE(s->world));
    kit_tensor(&t[2], "counts_received", PKB_I64, RT_SHAPE(s->world));
    kit_partial_rows(&t[0]);
    kit_host(&t[1]);
    kit_host(&t[2]);
    return 3;
}

static int64_t rows_between(const struct problem_setting *s, const struct rng *rng, int from, int to)
{
    int64_t rows = cyclic_rows(s);
    if (s->inputs == PROFILE_PKB)
        return rows;
    return rng_integer(rng, (uint64_t)from * (uint64_t)s->world + (uint64_t)to, from == to, 2 * rows + 1);
}

void cyclic_fill_counts(const struct problem_setting *s, struct problem_inputs *set, int to_peers, int from_peers)
{
    struct rng rng = problem_rng_shared(s, set, STREAM_COUNTS);
    int64_t *to = set->in[to_peers].data, *from = set->in[from_peers].data;
    for (int k = 0; k < s->world; k++) {
        int peer = kit_peer(s->rank, k, s->world);
        to[k] = rows_between(s, &rng, s->rank, peer);
        from[k] = rows_between(s, &rng, peer, s->rank);
    }
}

int64_t cyclic_total(const pkb_tensor *counts)
{
    const int64_t *list = counts->data;
    int64_t sum = 0;
    for (int64_t k = 0; k < counts->shape[0]; k++)
        sum += list[k];
    return sum;
}

/* The counts of a host list by rank, and how many rows belong to the ranks below this one: they come last in cyclic order. */
static int64_t counts_by_rank(const struct rt_group *g, const pkb_tensor *counts, int64_t *by_rank)
{
    const int64_t *list = counts->data;
    int64_t below = 0;
    for (int k = 0; k < g->size; k++)
        by_rank[kit_peer(g->rank, k, g->size)] = list[k];
    for (int q = 0; q < g->rank; q++)
        below += by_rank[q];
    return below;
}

/* The last rows before the others. */
static void rotate(const struct problem_call *c, pkb_tensor *dst, const pkb_tensor *rows, int64_t total, int64_t last)
{
    const pkb_tensor *parts[] = {rt_rows(c->rt, rows, total - last, last), rt_rows(c->rt, rows, 0, total - last)};
    rt_concat(c->rt, dst, KIT_COUNT(parts), parts, 0);
}

pkb_tensor *cyclic_exchange(const struct problem_call *c, const pkb_tensor *rows, const pkb_tensor *to_peers,
                            const pkb_tensor *from_peers)
{
    int64_t sent[PROBLEM_MAX_WORLD], received[PROBLEM_MAX_WORLD];
    int64_t n_sent = cyclic_total(to_peers), n_received = cyclic_total(from_peers);
    int64_t sent_below = counts_by_rank(c->world, to_peers, sent);
    int64_t received_below = counts_by_rank(c->world, from_peers, received);
    pkb_tensor *by_rank = rows_like(c, rows, n_sent);
    pkb_tensor *from_ranks = rows_like(c, rows, n_received);
    pkb_tensor *by_distance = rows_like(c, rows, n_received);
    rotate(c, by_rank, rows, n_sent, sent_below);
    rt_all_to_all_v(c->rt, c->world, from_ranks, received, by_rank, sent);
    rotate(c, by_distance, from_ranks, n_received, n_received - received_below);
    return by_distance;
}
