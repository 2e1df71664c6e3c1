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
#include "problems/kit.h"

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

/* How many lookups each owner gets from this rank, and this rank from each. */
struct counts {
    int64_t wanted[PROBLEM_MAX_WORLD], asked[PROBLEM_MAX_WORLD];
    int64_t asked_total;
};

static void exchange_counts(const struct problem_call *c, const pkb_tensor *owner, struct counts *counts)
{
    int world = c->world->size;
    pkb_tensor *wanted = rt_new(c->rt, PKB_I64, RT_SHAPE(world));
    pkb_tensor *asked = rt_new(c->rt, PKB_I64, RT_SHAPE(world));
    rt_bincount(c->rt, wanted, owner);
    rt_all_to_all(c->rt, c->world, asked, wanted);
    rt_read_i64(c->rt, counts->wanted, wanted);
    rt_read_i64(c->rt, counts->asked, asked);
    counts->asked_total = 0;
    for (int q = 0; q < world; q++)
        counts->asked_total += counts->asked[q];
}

/* The lookups grouped by owner, in the order of the requests within a group. */
static pkb_tensor *group_by_owner(const struct problem_call *c, const pkb_tensor *owner)
{
    const pkb_tensor *idx = &c->in[IDX];
    pkb_tensor *order = rt_new_like(c->rt, PKB_I64, idx);
    pkb_tensor *grouped = rt_new_like(c->rt, PKB_I64, idx);
    rt_argsort(c->rt, order, owner);
    rt_take_rows(c->rt, grouped, idx, order);
    return grouped;
}

static void reference(const struct problem_call *c)
{
    int64_t rows = problem_call_int(c, "S"), width = problem_call_int(c, "E");
    struct counts n;

    pkb_tensor *owner = rt_new_like(c->rt, PKB_I64, &c->in[IDX]);
    rt_binary_scalar(c->rt, RT_FLOORDIV, owner, &c->in[IDX], (double)rows);
    exchange_counts(c, owner, &n);

    pkb_tensor *received = rt_new(c->rt, PKB_I64, RT_SHAPE(n.asked_total));
    rt_all_to_all_v(c->rt, c->world, received, n.asked, group_by_owner(c, owner), n.wanted);

    pkb_tensor *local = rt_new_like(c->rt, PKB_I64, received);
    rt_binary_scalar(c->rt, RT_SUB, local, received, (double)(c->world->rank * rows));
    rt_binary_scalar(c->rt, RT_MAX, local, local, 0);
    rt_binary_scalar(c->rt, RT_MIN, local, local, (double)(rows - 1));

    pkb_tensor *found = rt_new(c->rt, c->setting->dtype, RT_SHAPE(n.asked_total, width));
    rt_take_rows(c->rt, found, &c->in[SHARD], local);
    rt_all_to_all_v(c->rt, c->world, &c->out[0], n.wanted, found, n.asked);
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
