/* SPDX-License-Identifier: Apache-2.0 */
/* 67 gnn_sparse_embedding_all2all: gradients of sparse embeddings, rows (id, vector), go to the rank id mod W.
 *
 * Parameters   V: ids are 0..V-1, V rounded up to a multiple of W. n: rows per rank. D: width of a vector.
 * Inputs       idx (n - r) of i64, with repetitions; value (n - r, D) of T; both differ on every rank. The pkb profile has n rows
 *              everywhere.
 * Outputs      recv_idx (n_rows) of i64 and recv_value (n_rows, D) of T, different on every rank, with room for the rows of all ranks:
 *              the rows of all ranks with idx mod W = r, by ascending source rank, in the source's order. Ids stay as they are;
 *              repeated ones are kept, nothing is summed.
 * One rank     the outputs are the inputs.
 * Arithmetic   none; rows move unchanged.
 * Check        exact.
 * Inputs vary  with the number of the trial: uniform; a third of the ids belongs to one rank; no id belongs to one rank, whose outputs
 *              are then empty.
 * Ideal cost   in expectation over uniform ids.
 */
#include "problems/graph/route.h"

static const struct problem_param params[] = {
    {"V", 100000, 1000, true, "ids before rounding up to a multiple of W"},
    {"n", 1024, 48, true, "rows per rank"},
    {"D", 128, 8, true, "width of a vector"},
};

enum { IDX, VALUE };
enum { RECV_IDX, RECV_VALUE, N_ROWS };

/* Streams of random numbers apart from the tensors. */
enum { STREAM_CHOICE = KIT_STREAM, STREAM_SKEW };

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (kit_require_least(s, "V", 1, err) < 0)
        return -1;
    return kit_require_least(s, "n", s->world, err);
}

static int64_t rows_of_rank(const struct problem_setting *s, int rank)
{
    return problem_int(s, "n") - (s->inputs == PROFILE_HARDENED ? rank : 0);
}

static int64_t rows_of_all(const struct problem_setting *s)
{
    int64_t sum = 0;
    for (int q = 0; q < s->world; q++)
        sum += rows_of_rank(s, q);
    return sum;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t rows = rows_of_rank(s, s->rank);
    kit_tensor(&t[IDX], "idx", PKB_I64, RT_SHAPE(rows));
    kit_tensor(&t[VALUE], "value", s->dtype, RT_SHAPE(rows, problem_int(s, "D")));
    return 2;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t most = rows_of_all(s);
    kit_tensor(&t[RECV_IDX], "recv_idx", PKB_I64, RT_SHAPE(most));
    kit_tensor(&t[RECV_VALUE], "recv_value", s->dtype, RT_SHAPE(most, problem_int(s, "D")));
    kit_tensor(&t[N_ROWS], "n_rows", PKB_I64, RT_SCALAR);
    kit_counted_rows(&t[RECV_IDX], N_ROWS);
    kit_counted_rows(&t[RECV_VALUE], N_ROWS);
    return 3;
}

/* How ids are drawn. */
enum pattern { UNIFORM, SKEWED, NOBODY_FOR_ONE, PATTERN_COUNT };

struct ids {
    enum pattern pattern;
    int64_t per_rank; /* ids that belong to a rank */
    int world;
    int chosen; /* the rank that the pattern is about, the same on all ranks */
    struct rng rng, skew;
};

static double id_value(const void *arg, size_t i)
{
    const struct ids *ids = arg;
    int64_t nth = rng_integer(&ids->rng, 2 * i, 0, ids->per_rank);
    int owner = (int)rng_integer(&ids->rng, 2 * i + 1, 0, ids->world);
    if (ids->pattern == SKEWED && rng_integer(&ids->skew, i, 0, 3) == 0)
        owner = ids->chosen;
    if (ids->pattern == NOBODY_FOR_ONE)
        owner = kit_peer(ids->chosen, (int)rng_integer(&ids->rng, 2 * i + 1, 1, ids->world), ids->world);
    return (double)(nth * ids->world + owner);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    struct rng choice = problem_rng_shared(s, set, STREAM_CHOICE);
    bool uniform = s->inputs == PROFILE_PKB || s->world == 1;
    struct ids ids = {
        .pattern = uniform ? UNIFORM : (enum pattern)(set->trial % PATTERN_COUNT),
        .per_rank = kit_divide_up(problem_int(s, "V"), s->world),
        .world = s->world,
        .chosen = (int)rng_integer(&choice, 0, 0, s->world),
        .rng = problem_rng(s, set, IDX),
        .skew = problem_rng(s, set, STREAM_SKEW),
    };
    kit_fill_with(&set->in[IDX], id_value, &ids);
    kit_fill_normal(s, set, VALUE);
}

static void reference(const struct problem_call *c)
{
    struct route route;
    pkb_tensor *owner = rt_new_like(c->rt, PKB_I64, &c->in[IDX]);
    rt_binary_scalar(c->rt, RT_MOD, owner, &c->in[IDX], c->world->size);
    route_plan(c, &route, owner);
    rows_put(c, RECV_IDX, route_send(c, &route, &c->in[IDX]));
    rows_put_counted(c, RECV_VALUE, route_send(c, &route, &c->in[VALUE]), N_ROWS);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double rows = (double)rows_of_rank(s, s->rank), received = (double)rows_of_all(s) / s->world;
    double row_bytes = 8 + problem_real(s, "D") * kit_element(s);
    cost->flops = 0;
    cost->hbm_bytes = (rows + received) * row_bytes;
    cost->link_bytes = rows * row_bytes * (s->world - 1.0) / s->world + 8 * (s->world - 1.0);
}

const struct problem problem_67 = {
    .id = 67,
    .name = "67_gnn_sparse_embedding_all2all",
    .family = "graph",
    .origin = "DGL: gradients of sparse embeddings pushed to their owners, partitioned by remainder",
    .summary = "Route rows (id, vector) to the rank id mod W by a stable sort and exchanges of variable size; nothing is summed.",
    .source = "problems/graph/67_gnn_sparse_embedding_all2all.c",
    .worlds = "W <= n",
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
