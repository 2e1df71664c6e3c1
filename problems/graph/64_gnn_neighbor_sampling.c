/* SPDX-License-Identifier: Apache-2.0 */
/* 64 gnn_neighbor_sampling: two hops of neighbours of seed nodes, in a graph whose nodes are spread over the ranks.
 *
 * Parameters   V: nodes before rounding up to a multiple of W. deg: neighbours per node (hardened: on average, 0 to 2 deg). fanouts_0,
 *              fanouts_1: neighbours taken per node in the first and the second hop; 0: all. seeds, least: S = max(least,
 *              floor(seeds / W)) seeds per rank.
 * Inputs       seed_nodes (S) of i64, distinct; colptr (V + 1) of i64, the same on every rank; row of i64, of which colptr[V] entries
 *              count; node_to_rank (V) of i64, the owner of every node, the same on every rank. The neighbours of node v are
 *              row[colptr[v]] to row[colptr[v+1] - 1], the place in row is the id of an edge. A rank's row tells the truth about
 *              the nodes that it owns alone (hardened).
 * Outputs      node (n_node): the seeds, then the nodes found, in the order of discovery; row_out, col_out, edge (n_edge): for every sampled
 *              edge the place of the neighbour in node, that of the node whose neighbour it is, and its id. All of i64, different on every
 *              rank, with room for the most.
 * Sampling     takes the first min(fanout, degree) neighbours. With the seeds as sources, for each hop: walk the sources in order
 *              and their samples in order, which gives the edges (neighbour u, source v, id); the u that are not in node yet, each
 *              once, in the order of the walk, are appended to node and are the sources of the next hop. All edges stay, those to
 *              nodes already known too.
 * Exchanges    per hop: the sources go to their owners (counts first, stable order); samples come back as lists with their lengths,
 *              grouped by owner, and are put into the order of the sources. Where a rank has no source left the messages are empty.
 * One rank     the same, with itself.
 * Arithmetic   integers.
 * Check        exact.
 * Inputs       another graph in every trial, the same on all ranks: degrees uniform in 0..2 deg, neighbours and owners uniform.
 *              Of nodes that a rank does not own, row has other random nodes. Seeds are b + a i mod V, a and b random per rank,
 *              a coprime to V. pkb profile: deg neighbours (v + 1 + j) mod V of node v, owner v mod W, seeds (r S + i) mod V, the whole
 *              graph on every rank.
 * Ideal cost   in expectation over the graph; a share (W - 1) / W of what is asked for belongs to others.
 */
#include <math.h>

#include "problems/graph/route.h"

static const struct problem_param params[] = {
    {"V", 10000, 64, true, "nodes before rounding up to a multiple of W"},
    {"deg", 16, 4, true, "neighbours per node"},
    {"fanouts_0", 10, 4, true, "neighbours taken per node in the first hop; 0: all"},
    {"fanouts_1", 5, 3, true, "neighbours taken per node in the second hop; 0: all"},
    {"seeds", 1024, 6, true, "seeds over all ranks, as a rule"},
    {"least", 512, 6, true, "seeds per rank at least"},
};

enum { SEED_NODES, COLPTR, ROW, NODE_TO_RANK };
enum { NODE, ROW_OUT, COL_OUT, EDGE, N_NODE, N_EDGE };

#define HOPS 2
static const char *const fanouts[HOPS] = {"fanouts_0", "fanouts_1"};

/* Streams of random numbers apart from the tensors. */
enum { STREAM_STRANGERS = KIT_STREAM };

static int64_t nodes(const struct problem_setting *s)
{
    return kit_round_up(problem_int(s, "V"), s->world);
}

static int64_t seeds(const struct problem_setting *s)
{
    return kit_share(s, "seeds", "least");
}

static int64_t largest_degree(const struct problem_setting *s)
{
    return problem_int(s, "deg") * (s->inputs == PROFILE_HARDENED ? 2 : 1);
}

/* Neighbours that a hop takes of a node at most. */
static int64_t most_taken(const struct problem_setting *s, int hop)
{
    int64_t fanout = problem_int(s, fanouts[hop]), degree = largest_degree(s);
    return fanout > 0 && fanout < degree ? fanout : degree;
}

static int64_t most_edges(const struct problem_setting *s)
{
    int64_t first = seeds(s) * most_taken(s, 0);
    return first + first * most_taken(s, 1);
}

static int64_t most_found(const struct problem_setting *s)
{
    int64_t found = seeds(s) + most_edges(s);
    return found < nodes(s) ? found : nodes(s);
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (kit_require_least(s, "V", 1, err) < 0 || kit_require_least(s, "deg", 1, err) < 0 ||
        kit_require_least(s, "least", 1, err) < 0)
        return -1;
    if (seeds(s) > nodes(s))
        return pkb_error_set(err, "%lld seeds are more than the %lld nodes", (long long)seeds(s), (long long)nodes(s));
    return 0;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[SEED_NODES], "seed_nodes", PKB_I64, RT_SHAPE(seeds(s)));
    kit_tensor(&t[COLPTR], "colptr", PKB_I64, RT_SHAPE(nodes(s) + 1));
    kit_tensor(&t[ROW], "row", PKB_I64, RT_SHAPE(nodes(s) * largest_degree(s)));
    kit_tensor(&t[NODE_TO_RANK], "node_to_rank", PKB_I64, RT_SHAPE(nodes(s)));
    kit_partial_rows(&t[ROW]);
    return 4;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    static const char *const names[] = {"node", "row_out", "col_out", "edge"};
    kit_tensor(&t[NODE], names[NODE], PKB_I64, RT_SHAPE(most_found(s)));
    kit_counted_rows(&t[NODE], N_NODE);
    for (int k = ROW_OUT; k <= EDGE; k++) {
        kit_tensor(&t[k], names[k], PKB_I64, RT_SHAPE(most_edges(s)));
        kit_counted_rows(&t[k], N_EDGE);
    }
    kit_tensor(&t[N_NODE], "n_node", PKB_I64, RT_SCALAR);
    kit_tensor(&t[N_EDGE], "n_edge", PKB_I64, RT_SCALAR);
    return 6;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

static void fill_seeds(const struct problem_setting *s, struct problem_inputs *set)
{
    struct rng rng = problem_rng(s, set, SEED_NODES);
    int64_t *seed = set->in[SEED_NODES].data, n = set->in[SEED_NODES].shape[0], all = nodes(s);
    int64_t first = s->rank * n, step = 1;
    if (s->inputs == PROFILE_HARDENED) {
        first = rng_integer(&rng, 0, 0, all);
        step = kit_random_step(&rng, 1, all);
    }
    for (int64_t i = 0; i < n; i++)
        seed[i] = (first + i * step) % all;
}

static void fill_random_graph(const struct problem_setting *s, struct problem_inputs *set)
{
    struct rng degrees = problem_rng_shared(s, set, COLPTR), owners = problem_rng_shared(s, set, NODE_TO_RANK);
    struct rng known = problem_rng_shared(s, set, ROW), strange = problem_rng(s, set, STREAM_STRANGERS);
    int64_t *colptr = set->in[COLPTR].data, *row = set->in[ROW].data, *owner = set->in[NODE_TO_RANK].data, all = nodes(s);
    colptr[0] = 0;
    for (int64_t v = 0; v < all; v++) {
        owner[v] = rng_integer(&owners, (uint64_t)v, 0, s->world);
        colptr[v + 1] = colptr[v] + rng_integer(&degrees, (uint64_t)v, 0, largest_degree(s) + 1);
        for (int64_t j = colptr[v]; j < colptr[v + 1]; j++)
            row[j] = rng_integer(owner[v] == s->rank ? &known : &strange, (uint64_t)j, 0, all);
    }
    for (int64_t j = colptr[all]; j < set->in[ROW].shape[0]; j++)
        row[j] = 0;
}

static void fill_published_graph(const struct problem_setting *s, struct problem_inputs *set)
{
    int64_t *colptr = set->in[COLPTR].data, *row = set->in[ROW].data, *owner = set->in[NODE_TO_RANK].data;
    int64_t all = nodes(s), degree = largest_degree(s);
    for (int64_t v = 0; v <= all; v++)
        colptr[v] = v * degree;
    for (int64_t v = 0; v < all; v++)
        owner[v] = v % s->world;
    for (int64_t j = 0; j < all * degree; j++)
        row[j] = (j / degree + 1 + j % degree) % all;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    fill_seeds(s, set);
    if (s->inputs == PROFILE_HARDENED)
        fill_random_graph(s, set);
    else
        fill_published_graph(s, set);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* Samples of several sources, source by source. */
struct samples {
    pkb_tensor *source, *neighbour, *edge;
};

/* The samples of the nodes that others ask this rank for: the edges, and how many of every node. */
static pkb_tensor *answer(const struct problem_call *c, const pkb_tensor *asked, int64_t fanout, pkb_tensor **taken)
{
    pkb_tensor *next = rt_new_like(c->rt, PKB_I64, asked);
    rt_binary_scalar(c->rt, RT_ADD, next, asked, 1);
    pkb_tensor *start = rows_take(c, &c->in[COLPTR], asked);
    *taken = rows_take(c, &c->in[COLPTR], next);
    rt_binary(c->rt, RT_SUB, *taken, *taken, start);
    if (fanout > 0)
        rt_binary_scalar(c->rt, RT_MIN, *taken, *taken, (double)fanout);
    return rows_lists(c, start, *taken).position;
}

/* How many samples go to every rank that has asked: `taken` is one number per question. */
static void agree_on_samples(const struct problem_call *c, struct rows_exchange *x, const struct route *route,
                             const pkb_tensor *taken)
{
    pkb_tensor *asker = rt_new_like(c->rt, PKB_I64, taken);
    pkb_tensor *totals = rt_new(c->rt, PKB_I64, RT_SHAPE(c->world->size));
    for (int64_t q = 0, first = 0; q < c->world->size; first += route->exchange.received[q++])
        rt_fill(c->rt, rt_rows(c->rt, asker, first, route->exchange.received[q]), (double)q);
    rt_fill(c->rt, totals, 0);
    rt_add_rows(c->rt, totals, taken, asker);
    rows_agree(c, x, totals);
}

static struct samples sample(const struct problem_call *c, const pkb_tensor *source, int64_t fanout)
{
    struct route route;
    struct rows_exchange lists;
    pkb_tensor *taken;
    route_plan(c, &route, rows_take(c, &c->in[NODE_TO_RANK], source));
    pkb_tensor *edge = answer(c, route_send(c, &route, source), fanout, &taken);
    pkb_tensor *neighbour = rows_take(c, &c->in[ROW], edge);

    agree_on_samples(c, &lists, &route, taken);
    pkb_tensor *lengths = route_answer(c, &route, taken);
    neighbour = rows_send(c, &lists, neighbour);
    edge = rows_send(c, &lists, edge);

    pkb_tensor *inverse = route_inverse(c, &route);
    struct rows_lists walk = rows_lists(c, rows_take(c, rows_starts(c, lengths), inverse), rows_take(c, lengths, inverse));
    return (struct samples){
        .source = rows_take(c, source, walk.list),
        .neighbour = rows_take(c, neighbour, walk.position),
        .edge = rows_take(c, edge, walk.position),
    };
}

/* The values that are not among the known ones, each once, in the order in which they come. */
static pkb_tensor *new_values(const struct problem_call *c, const pkb_tensor *known, const pkb_tensor *values)
{
    pkb_tensor *first = rows_first(c, rows_append(c, known, values));
    return rows_take(c, values, rows_where(c, rt_rows(c->rt, first, rows_count(known), rows_count(values))));
}

/* Places of values in a list that holds each of them once. */
static pkb_tensor *places(const struct problem_call *c, const pkb_tensor *list, const pkb_tensor *values)
{
    pkb_tensor *order = rt_new_like(c->rt, PKB_I64, list);
    pkb_tensor *place = rt_new_like(c->rt, PKB_I64, values);
    rt_argsort(c->rt, order, list);
    rt_search_sorted(c->rt, place, rows_take(c, list, order), values, false);
    return rows_take(c, order, place);
}

static void reference(const struct problem_call *c)
{
    const pkb_tensor *source = &c->in[SEED_NODES], *node = source;
    struct samples all = {NULL, NULL, NULL};
    for (int hop = 0; hop < HOPS; hop++) {
        struct samples found = sample(c, source, problem_call_int(c, fanouts[hop]));
        all.source = rows_append(c, all.source, found.source);
        all.neighbour = rows_append(c, all.neighbour, found.neighbour);
        all.edge = rows_append(c, all.edge, found.edge);
        source = new_values(c, node, found.neighbour);
        node = rows_append(c, node, source);
    }
    rows_put_counted(c, NODE, node, N_NODE);
    rows_put(c, ROW_OUT, places(c, node, all.neighbour));
    rows_put(c, COL_OUT, places(c, node, all.source));
    rows_put_counted(c, EDGE, all.edge, N_EDGE);
}

/* ---- cost ---------------------------------------------------------------------------------------------------------- */

/* Neighbours that a hop takes of a node: the mean of min(fanout, degree) over all degrees. */
static double usually_taken(const struct problem_setting *s, int hop)
{
    double most = (double)most_taken(s, hop), largest = (double)largest_degree(s);
    return s->inputs == PROFILE_PKB ? most : most * (largest - (most - 1) / 2) / (largest + 1);
}

/* Nodes that samples find beside the known ones: random nodes, or (pkb) those that follow consecutive sources. */
static double usually_found(const struct problem_setting *s, int hop, double samples, double known)
{
    double all = (double)nodes(s);
    if (s->inputs == PROFILE_PKB)
        return fmin((double)most_taken(s, hop), all - known);
    return (all - known) * (1 - pow(1 - 1 / all, samples));
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double sources = (double)seeds(s), known = sources, others = (s->world - 1.0) / s->world;
    cost->flops = 0;
    cost->hbm_bytes = 8 * sources;
    cost->link_bytes = 0;
    for (int hop = 0; hop < HOPS; hop++) {
        double samples = sources * usually_taken(s, hop);
        cost->hbm_bytes += 24 * sources + (16 + 24) * samples;
        cost->link_bytes += others * 16 * (sources + samples);
        sources = usually_found(s, hop, samples, known);
        known += sources;
    }
    cost->hbm_bytes += 8 * known;
}

const struct problem problem_64 = {
    .id = 64,
    .name = "64_gnn_neighbor_sampling",
    .family = "graph",
    .origin = "PyTorch Geometric: the distributed neighbour sampler, with a partitioned graph",
    .summary = "Expand seed nodes by two hops of neighbours in a graph partitioned over the ranks: owners answer with sampled "
               "neighbours and edges, new nodes are deduplicated and edges relabelled.",
    .source = "problems/graph/64_gnn_neighbor_sampling.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .check = kit_check_exact,
    .cost = cost,
};
