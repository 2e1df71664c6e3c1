/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_agent/card.h"
#include "node_agent/star.h"
#include "node_agent/wireup.h"

static int check_size(const struct wireup *u, int expected, struct pkb_error *err)
{
    if (expected == 0 || wireup_world(u) == expected)
        return 0;
    if (!wireup_launched(u) && getenv("SLURM_STEP_ID"))
        return pkb_error_set(
            err,
            "this shard needs %d ranks, but srun started this agent without PMIx: add --mpi=pmix ('srun --mpi=list' "
            "names what this Slurm has; if pmix is not among it, its PMIx plugin must be installed)",
            expected);
    if (!wireup_launched(u))
        return pkb_error_set(err,
                             "this shard needs %d ranks, but there is no PMIx server here: start agents with "
                             "srun --mpi=pmix or pkb-launch-local",
                             expected);
    return pkb_error_set(err,
                         "this shard needs %d ranks, PMIx says %d: start agents with srun --mpi=pmix -n %d or "
                         "pkb-launch-local -n %d",
                         expected, wireup_world(u), expected, expected);
}

/* Puts this rank's card, gets all. */
static int exchange_cards(struct wireup *u, const struct card *own, struct card *cards, int timeout_s, struct pkb_error *err)
{
    char *text = card_encode(own, err);
    int rc = text ? wireup_exchange(u, text, timeout_s, err) : -1;
    free(text);
    for (int i = 0; rc == 0 && i < wireup_world(u); i++)
        if (card_decode(wireup_card(u, i), &cards[i], err) < 0)
            rc = pkb_error_prefix(err, "rank %d", i);
    return rc;
}

static int check_builds(const struct card *cards, int world, struct pkb_error *err)
{
    for (int i = 1; i < world; i++)
        if (strcmp(cards[i].build, cards[0].build) != 0)
            return pkb_error_set(err,
                                 "the agent of rank %d (%s) is build %s, rank 0 (%s) is build %s: install one build on all nodes",
                                 i, cards[i].host, cards[i].build, cards[0].host, cards[0].build);
    return 0;
}

/* Numbers the hosts in the order of the ranks. */
static int place(struct agent_world *w, const struct card *cards, struct pkb_error *err)
{
    w->hosts = calloc((size_t)w->world, sizeof(*w->hosts));
    w->node_of_rank = calloc((size_t)w->world, sizeof(*w->node_of_rank));
    if (!w->hosts || !w->node_of_rank)
        return pkb_error_errno(err, "world");
    for (int i = 0; i < w->world; i++) {
        int same = 0;
        while (same < i && strcmp(cards[same].host, cards[i].host) != 0)
            same++;
        w->node_of_rank[i] = same < i ? w->node_of_rank[same] : w->nodes++;
        w->hosts[i] = strdup(cards[i].host);
        if (!w->hosts[i])
            return pkb_error_errno(err, "world");
    }
    int leader = w->rank; /* the lowest rank of this node gives the names */
    for (int i = w->rank - 1; i >= 0; i--) {
        if (w->node_of_rank[i] != w->node_of_rank[w->rank])
            continue;
        w->local_rank++;
        leader = i;
    }
    memcpy(w->shm_prefix, cards[leader].shm_prefix, sizeof(w->shm_prefix));
    return 0;
}

static int become_hub(struct agent_world *w, int listen_fd, const uint8_t *cookie, int timeout_s, struct pkb_error *err)
{
    struct frames **members = calloc((size_t)w->world, sizeof(struct frames *));
    if (!members)
        return pkb_error_errno(err, "world");
    int rc = star_accept(listen_fd, w->world, cookie, rounds_member_limit(), timeout_s * 1000, members, NULL, err);
    if (rc == 0)
        w->rounds = rounds_create_hub(w->world, members, err);
    free(members);
    return w->rounds ? 0 : -1;
}

static int become_member(struct agent_world *w, const struct card *hub, int timeout_s, struct pkb_error *err)
{
    const char *addresses[CARD_ADDRESSES + 1];
    int n = 0;
    if (w->node_of_rank[w->rank] == w->node_of_rank[0])
        addresses[n++] = "127.0.0.1";
    for (int i = 0; i < hub->n_addresses; i++)
        addresses[n++] = hub->addresses[i];
    struct frames *f =
        star_connect(addresses, n, hub->port, w->rank, w->world, hub->cookie, rounds_hub_limit(w->world), timeout_s * 1000, err);
    w->rounds = f ? rounds_create_member(w->rank, w->world, f, err) : NULL;
    return w->rounds ? 0 : -1;
}

/* PMIx is over before the star is built: from here on a lost agent is the star's business. */
static int meet(struct agent_world *w, struct wireup *u, int listen_fd, const struct card *own, struct card *cards, int timeout_s,
                struct pkb_error *err)
{
    int rc = exchange_cards(u, own, cards, timeout_s, err);
    wireup_destroy(u);
    if (rc < 0 || check_builds(cards, w->world, err) < 0 || place(w, cards, err) < 0)
        return -1;
    return w->rank == 0 ? become_hub(w, listen_fd, cards[0].cookie, timeout_s, err) : become_member(w, &cards[0], timeout_s, err);
}

static int join(struct agent_world *w, struct wireup *u, const char *build_id, int timeout_s, struct pkb_error *err)
{
    struct card own, *cards = calloc((size_t)w->world, sizeof(*cards));
    int port = 0, listen_fd = -1;
    bool listens = w->rank == 0 && w->world > 1;
    if (!cards)
        pkb_error_errno(err, "world");
    if (cards && listens)
        listen_fd = star_listen(wireup_one_node(u), &port, err);
    if (!cards || (listens && listen_fd < 0) || card_make(&own, build_id, port, err) < 0) {
        wireup_destroy(u);
        free(cards);
        return -1;
    }
    int rc = meet(w, u, listen_fd, &own, cards, timeout_s, err);
    if (listen_fd >= 0)
        (void)close(listen_fd);
    free(cards);
    return rc;
}

struct agent_world *agent_world_join(const char *build_id, int expected, int timeout_s, struct pkb_error *err)
{
    struct wireup *u = wireup_create(err);
    if (!u)
        return NULL;
    struct agent_world *w = calloc(1, sizeof(*w));
    if (!w || check_size(u, expected, err) < 0) {
        if (!w)
            pkb_error_errno(err, "world");
        free(w);
        wireup_destroy(u);
        return NULL;
    }
    w->rank = wireup_rank(u);
    w->world = wireup_world(u);
    if (join(w, u, build_id, timeout_s, err) < 0) {
        agent_world_destroy(w);
        return NULL;
    }
    return w;
}

void agent_world_destroy(struct agent_world *w)
{
    if (!w)
        return;
    int saved = errno;
    rounds_destroy(w->rounds);
    for (int i = 0; w->hosts && i < w->world; i++)
        free(w->hosts[i]);
    free(w->hosts);
    free(w->node_of_rank);
    free(w);
    errno = saved;
}
