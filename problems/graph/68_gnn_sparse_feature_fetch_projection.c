/* SPDX-License-Identifier: Apache-2.0 */
/* 68 gnn_sparse_feature_fetch_projection: fetch rows of an embedding table that is sharded in blocks, and multiply them by a local
 * matrix.
 *
 * Parameters   V: rows of the table over all ranks; Vs = ceil(V / W) rows per shard, rank q owns rows q*Vs to (q+1)*Vs - 1; where W does
 *              not divide V shards at the end have fewer rows and the rest of them means nothing. The paper's table takes 57 GB in bf16 on
 *              one rank; a smaller V changes where rows lie, not what travels. D: width of a row. O: projected width.
 *              Q: queries per rank.
 * Inputs       shard (Vs, D) of T; ids (Q - 3r) of i64, 0 <= ids < V; proj (D, O) of T; all differ on every rank (proj too, so
 *              rows cannot be projected where they lie). The pkb profile has Q queries everywhere.
 * Output       out (Q - 3r, O) of T, different on every rank: the rows of the table that ids names, times proj.
 * Exchanges    the queries, sorted stably by owner, go to the owners (counts first); rows come back and are put into the order of
 *              the queries.
 * One rank     out = shard[ids] * proj.
 * Arithmetic   f32 accumulation (f64 for T = f64; true f32 for T = f32), one rounding to T at the end.
 * Check        |y - yc| <= 2 u |yc| + 2 D e (|rows| |proj|), u the roundoff of T and e that of the accumulation.
 * Inputs       ids uniform in 0..V-1, one of five from one shard, another in every trial. pkb profile, whose V is a multiple of W: ids[q] =
 *              ((q + r) mod W) * Vs + (7 q + r) mod Vs.
 */
#include "problems/graph/route.h"
#include "problems/tensor_parallel/gemm.h"

static const struct problem_param params[] = {
    {"V", 111000000, 1024, true, "rows of the table over all ranks"},
    {"D", 256, 16, true, "width of a row"},
    {"O", 256, 16, true, "projected width"},
    {"Q", 20000, 100, true, "queries per rank"},
};

enum { SHARD, IDS, PROJ };

/* Every rank has so many queries fewer than the one before it. */
#define FEWER_QUERIES 3

/* Streams of random numbers apart from the tensors. */
enum { STREAM_CHOICE = KIT_STREAM, STREAM_SKEW };

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (kit_require_least(s, "V", 1, err) < 0 || kit_require_least(s, "D", 1, err) < 0)
        return -1;
    return kit_require_least(s, "Q", FEWER_QUERIES * (s->world - 1) + 1, err);
}

static int64_t shard_rows(const struct problem_setting *s)
{
    return kit_divide_up(problem_int(s, "V"), s->world);
}

static int64_t queries(const struct problem_setting *s)
{
    return problem_int(s, "Q") - (s->inputs == PROFILE_HARDENED ? FEWER_QUERIES * s->rank : 0);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t width = problem_int(s, "D");
    kit_tensor(&t[SHARD], "shard", s->dtype, RT_SHAPE(shard_rows(s), width));
    kit_tensor(&t[IDS], "ids", PKB_I64, RT_SHAPE(queries(s)));
    kit_tensor(&t[PROJ], "proj", s->dtype, RT_SHAPE(width, problem_int(s, "O")));
    return 3;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "out", s->dtype, RT_SHAPE(queries(s), problem_int(s, "O")));
    return 1;
}

struct ids {
    int64_t rows, shard;
    int rank, world;
    int64_t chosen; /* first row of the shard that is asked for more often, the same on all ranks */
    struct rng rng, skew;
};

static double published_id(const void *arg, size_t i)
{
    const struct ids *ids = arg;
    int64_t owner = ((int64_t)i + ids->rank) % ids->world, row = (7 * (int64_t)i + ids->rank) % ids->shard;
    return (double)(owner * ids->shard + row);
}

static double random_id(const void *arg, size_t i)
{
    const struct ids *ids = arg;
    int64_t end = ids->chosen + ids->shard;
    if (rng_integer(&ids->skew, i, 0, 5) > 0)
        return (double)rng_integer(&ids->rng, i, 0, ids->rows);
    return (double)rng_integer(&ids->rng, i, ids->chosen, end < ids->rows ? end : ids->rows);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    struct rng choice = problem_rng_shared(s, set, STREAM_CHOICE);
    struct ids ids = {
        .rows = problem_int(s, "V"),
        .shard = shard_rows(s),
        .rank = s->rank,
        .world = s->world,
        .rng = problem_rng(s, set, IDS),
        .skew = problem_rng(s, set, STREAM_SKEW),
    };
    ids.chosen = rng_integer(&choice, 0, 0, kit_divide_up(ids.rows, ids.shard)) * ids.shard;
    kit_fill_with(&set->in[IDS], s->inputs == PROFILE_HARDENED ? random_id : published_id, &ids);
    kit_fill_normal(s, set, SHARD);
    kit_fill_normal(s, set, PROJ);
}

/* The rows of the table that this rank asks for, in the order of its queries. */
static pkb_tensor *fetch(const struct problem_call *c)
{
    int64_t rows = c->in[SHARD].shape[0];
    struct route route;
    pkb_tensor *owner = rt_new_like(c->rt, PKB_I64, &c->in[IDS]);
    rt_binary_scalar(c->rt, RT_FLOORDIV, owner, &c->in[IDS], (double)rows);
    rt_binary_scalar(c->rt, RT_MIN, owner, owner, c->world->size - 1);
    route_plan(c, &route, owner);
    pkb_tensor *local = route_send(c, &route, &c->in[IDS]);
    rt_binary_scalar(c->rt, RT_SUB, local, local, (double)(c->world->rank * rows));
    pkb_tensor *grouped = route_answer(c, &route, rows_take(c, &c->in[SHARD], local));
    return rows_take(c, grouped, route_inverse(c, &route));
}

static void reference(const struct problem_call *c)
{
    rt_matmul(c->rt, &c->out[0], fetch(c), false, &c->in[PROJ], false);
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    pkb_tensor *magnitude = gemm_magnitude(c, fetch(c), false, &c->in[PROJ]);
    gemm_product_bound(c, tol[0], &c->out[0], magnitude, problem_real(c->setting, "D"));
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double asked = (double)queries(s), d = problem_real(s, "D"), o = problem_real(s, "O"), size = kit_element(s);
    double others = asked * (s->world - 1.0) / s->world;
    cost->flops = 2 * asked * d * o;
    cost->hbm_bytes = 8 * asked + (asked * d + d * o + asked * o) * size;
    cost->link_bytes = others * (d * size + 8);
}

const struct problem problem_68 = {
    .id = 68,
    .name = "68_gnn_sparse_feature_fetch_projection",
    .family = "graph",
    .origin = "GraphStorm and DGL: the encoder of node inputs with a learnable sparse embedding table",
    .summary = "Look up rows of an embedding table that is sharded in blocks over the ranks, then multiply them by a local "
               "projection matrix.",
    .source = "problems/graph/68_gnn_sparse_feature_fetch_projection.c",
    .worlds = "3 (W - 1) < Q",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .bound = bound,
    .check = kit_check_bound,
    .cost = cost,
};
