/* SPDX-License-Identifier: Apache-2.0 */
/* 10 embedding_lookup: rows of a table that is sharded by rows over the ranks; the results come grouped by owner.
 *
 * Parameters   S: rows of the table per rank; rank p owns rows p*S to (p+1)*S - 1 of the global table G. E: width of a row.
 *              L: lookups per rank.
 * Inputs       idx (L) of i64, 0 <= idx < W*S, different on every rank, with duplicates;
 *              shard (S, E) of T, this rank's rows of G.
 * Output       out (L, E) of T: sort the positions k of the lookups stably by owner floor(idx[k] / S); row m of the
 *              result is G[idx[k]] for the m-th position k. The rows are NOT put back into the order of the requests.
 * One rank     out[k] = shard[idx[k]].
 * Arithmetic   none; rows move unchanged.
 * Check        exact. Rows are random, so a wrong order shows.
 * Inputs vary  with the number of the trial, as messages may be empty or lopsided: uniform; nobody asks one rank; one rank asks
 *              only itself; all ask one owner; few different rows.
 * Ideal cost   in expectation over uniform indices.
 */
#include "problems/graph/route.h"

static const struct problem_param params[] = {
    {"S", 1024, 24, true, "rows of the table per rank"},
    {"E", 1024, 40, true, "width of a row"},
    {"L", 1024, 20, true, "lookups per rank"},
};

enum { IDX, SHARD };

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    return kit_require_least(s, "S", 1, err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[IDX], "idx", PKB_I64, RT_SHAPE(problem_int(s, "L")));
    kit_tensor(&t[SHARD], "shard", s->dtype, RT_SHAPE(problem_int(s, "S"), problem_int(s, "E")));
    return 2;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "out", s->dtype, RT_SHAPE(problem_int(s, "L"), problem_int(s, "E")));
    return 1;
}

/* Who asks for what. */
enum pattern { UNIFORM, NOBODY_ASKS_ONE, ONE_ASKS_ITSELF, ALL_ASK_ONE, FEW_ROWS, PATTERN_COUNT };

struct request {
    enum pattern pattern;
    int64_t rows; /* per rank */
    int rank, world;
    int chosen; /* the rank that the pattern is about, the same on all ranks */
    struct rng rng;
};

static struct request describe_request(const struct problem_setting *s, const struct problem_inputs *set)
{
    struct rng shared = problem_rng_shared(s, set, KIT_STREAM);
    bool uniform = s->inputs == PROFILE_PKB || s->world == 1;
    return (struct request){
        .pattern = uniform ? UNIFORM : (enum pattern)(set->trial % PATTERN_COUNT),
        .rows = problem_int(s, "S"),
        .rank = s->rank,
        .world = s->world,
        .chosen = (int)rng_integer(&shared, 0, 0, s->world),
        .rng = problem_rng(s, set, IDX),
    };
}

/* A row of the table, uniformly among those that the pattern allows. */
static double request_value(const void *arg, size_t i)
{
    const struct request *q = arg;
    int64_t all = q->rows * q->world, own = q->chosen * q->rows;
    if (q->pattern == NOBODY_ASKS_ONE) {
        int64_t row = rng_integer(&q->rng, i, 0, all - q->rows);
        return (double)(row < own ? row : row + q->rows);
    }
    if (q->pattern == ALL_ASK_ONE || (q->pattern == ONE_ASKS_ITSELF && q->rank == q->chosen))
        return (double)rng_integer(&q->rng, i, own, own + q->rows);
    if (q->pattern == FEW_ROWS)
        i %= 4;
    return (double)rng_integer(&q->rng, i, 0, all);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    struct request request = describe_request(s, set);
    kit_fill_with(&set->in[IDX], request_value, &request);
    kit_fill_normal(s, set, SHARD);
}

static void reference(const struct problem_call *c)
{
    int64_t rows = problem_call_int(c, "S");
    struct route route;
    pkb_tensor *owner = rt_new_like(c->rt, PKB_I64, &c->in[IDX]);
    rt_binary_scalar(c->rt, RT_FLOORDIV, owner, &c->in[IDX], (double)rows);
    route_plan(c, &route, owner);

    pkb_tensor *local = route_send(c, &route, &c->in[IDX]);
    rt_binary_scalar(c->rt, RT_SUB, local, local, (double)(c->world->rank * rows));
    rt_binary_scalar(c->rt, RT_MAX, local, local, 0);
    rt_binary_scalar(c->rt, RT_MIN, local, local, (double)(rows - 1));

    pkb_tensor *found = rows_take(c, &c->in[SHARD], local);
    rt_all_to_all_v(c->rt, c->world, &c->out[0], route.exchange.sent, found, route.exchange.received);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double lookups = problem_real(s, "L"), row_bytes = problem_real(s, "E") * kit_element(s);
    cost->flops = 0;
    cost->hbm_bytes = 8 * lookups + 2 * lookups * row_bytes;
    cost->link_bytes = (s->world - 1.0) / s->world * lookups * (row_bytes + 8);
}

const struct problem problem_10 = {
    .id = 10,
    .name = "10_embedding_lookup",
    .family = "recommender",
    .origin = "embedding tables sharded by rows, as in TorchRec, HugeCTR and DLRM",
    .summary =
        "Look up rows of an embedding table that is sharded by rows over the ranks; the results come back grouped by owner "
        "rank, not in the order of the requests.",
    .source = "problems/recommender/10_embedding_lookup.c",
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
