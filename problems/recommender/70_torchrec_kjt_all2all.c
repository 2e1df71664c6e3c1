/* SPDX-License-Identifier: Apache-2.0 */
/* 70 torchrec_kjt_all2all: lists of ids per feature and sample go to the ranks that own the features.
 *
 * Parameters   batch, least: B = max(least, floor(batch / W)) samples per rank. Lmin, Lmax: lengths of lists. Vmax: ids are
 *              0..Vmax-1. weights: 1: every id has a weight that travels with it.
 * Inputs       lengths (F*B_r) of i64, entry f*B_r + b; values of i64: the lists in the same order, one behind the other; both
 *              differ on every rank, their forms have room for the most. key_splits (W) of i64, the same on every rank: rank d owns
 *              the next key_splits[d] of the F features. B of i64: B_r. The host reads the last two. With weights: weights of T, one
 *              per value.
 * Outputs      all of i64, with room for the most, different on every rank:
 *              lengths_out (n_lengths), values_out (n_values): for the own features f', for the ranks q, for the samples b of q,
 *              the length of list (f', b) of rank q; the lists in the same order.
 *              stride: sum of all B_q; stride_per_rank (W): B_0, B_1, ... With weights: weights_out of T, as values_out.
 * One rank     lengths and values as they are.
 * Exchanges    three numbers per pair of ranks (lengths, values, B_r), then the lengths, then the values; they arrive by source and
 *              feature, and are reordered.
 * Arithmetic   integers.
 * Check        exact.
 * Inputs       key_splits[d] = 1 + d mod 3; in sets whose number is 2 mod 3 one rank owns nothing (W > 1). B_r = B + r in sets with an
 *              odd number, else B. Lengths are uniform in Lmin..Lmax, ids in 0..Vmax-1. pkb profile: always B, every rank owns
 *              features.
 * Ideal cost   for B samples per rank and lists of (Lmin + Lmax) / 2.
 */
#include "problems/rows.h"

static const struct problem_param params[] = {
    {"batch", 1024, 8, true, "samples over all ranks, as a rule"},
    {"least", 512, 8, true, "samples per rank at least"},
    {"Lmin", 5, 0, true, "shortest list"},
    {"Lmax", 20, 6, true, "longest list"},
    {"Vmax", 1000000, 1000, true, "ids are smaller"},
    {"weights", 0, 0, true, "1: ids have weights"},
};

enum { LENGTHS, VALUES, KEY_SPLITS, B, WEIGHTS };
enum { LENGTHS_OUT, VALUES_OUT, STRIDE, STRIDE_PER_RANK, N_LENGTHS, N_VALUES, WEIGHTS_OUT };

/* Streams of random numbers apart from the tensors. */
enum { STREAM_CHOICE = KIT_STREAM };

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    int64_t low = problem_int(s, "Lmin"), high = problem_int(s, "Lmax");
    if (kit_require_least(s, "least", 1, err) < 0 || kit_require_least(s, "Lmax", 1, err) < 0 ||
        kit_require_least(s, "Vmax", 1, err) < 0)
        return -1;
    if (low > high)
        return pkb_error_set(err, "Lmin = %lld is more than Lmax = %lld", (long long)low, (long long)high);
    if (problem_int(s, "weights") > 1)
        return pkb_error_set(err, "weights must be 0 or 1");
    return 0;
}

/* ---- sizes --------------------------------------------------------------------------------------------------------- */

static int64_t samples(const struct problem_setting *s)
{
    return kit_share(s, "batch", "least");
}

static int64_t most_samples(const struct problem_setting *s, int rank)
{
    return samples(s) + (s->inputs == PROFILE_HARDENED ? rank : 0);
}

static int64_t own_features(int rank)
{
    return 1 + rank % 3;
}

static int64_t all_features(const struct problem_setting *s)
{
    int64_t sum = 0;
    for (int q = 0; q < s->world; q++)
        sum += own_features(q);
    return sum;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t lists = all_features(s) * most_samples(s, s->rank), values = lists * problem_int(s, "Lmax");
    int weighted = problem_int(s, "weights") == 1;
    kit_tensor(&t[LENGTHS], "lengths", PKB_I64, RT_SHAPE(lists));
    kit_tensor(&t[VALUES], "values", PKB_I64, RT_SHAPE(values));
    kit_tensor(&t[KEY_SPLITS], "key_splits", PKB_I64, RT_SHAPE(s->world));
    kit_tensor(&t[B], "B", PKB_I64, RT_SCALAR);
    kit_tensor(&t[WEIGHTS], "weights", s->dtype, RT_SHAPE(values));
    kit_partial_rows(&t[LENGTHS]);
    kit_partial_rows(&t[VALUES]);
    kit_partial_rows(&t[WEIGHTS]);
    kit_host(&t[KEY_SPLITS]);
    kit_host(&t[B]);
    return WEIGHTS + weighted;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t lists = 0;
    int weighted = problem_int(s, "weights") == 1;
    for (int q = 0; q < s->world; q++)
        lists += own_features(s->rank) * most_samples(s, q);
    kit_tensor(&t[LENGTHS_OUT], "lengths_out", PKB_I64, RT_SHAPE(lists));
    kit_tensor(&t[VALUES_OUT], "values_out", PKB_I64, RT_SHAPE(lists * problem_int(s, "Lmax")));
    kit_tensor(&t[STRIDE], "stride", PKB_I64, RT_SCALAR);
    kit_tensor(&t[STRIDE_PER_RANK], "stride_per_rank", PKB_I64, RT_SHAPE(s->world));
    kit_tensor(&t[N_LENGTHS], "n_lengths", PKB_I64, RT_SCALAR);
    kit_tensor(&t[N_VALUES], "n_values", PKB_I64, RT_SCALAR);
    kit_tensor(&t[WEIGHTS_OUT], "weights_out", s->dtype, RT_SHAPE(lists * problem_int(s, "Lmax")));
    kit_counted_rows(&t[LENGTHS_OUT], N_LENGTHS);
    kit_counted_rows(&t[VALUES_OUT], N_VALUES);
    kit_counted_rows(&t[WEIGHTS_OUT], N_VALUES);
    return WEIGHTS_OUT + weighted;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    bool hardened = s->inputs == PROFILE_HARDENED;
    struct rng choice = problem_rng_shared(s, set, STREAM_CHOICE);
    int64_t *splits = set->in[KEY_SPLITS].data, *batch = set->in[B].data;
    for (int q = 0; q < s->world; q++)
        splits[q] = own_features(q);
    if (hardened && s->world > 1 && set->trial % 3 == 2)
        splits[rng_integer(&choice, 0, 0, s->world)] = 0;
    *batch = samples(s) + (hardened && set->trial % 2 == 1 ? s->rank : 0);
    kit_fill_integers(s, set, LENGTHS, problem_int(s, "Lmin"), problem_int(s, "Lmax"));
    kit_fill_integers(s, set, VALUES, 0, problem_int(s, "Vmax") - 1);
    if (problem_int(s, "weights") == 1)
        kit_fill_normal(s, set, WEIGHTS);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* What ranks tell each other, on the host. */
struct sizes {
    struct rows_exchange lengths, values;
    pkb_tensor *batches; /* (W) of i64: B_q */
    int64_t own;         /* features of this rank */
};

static pkb_tensor *own_lengths(const struct problem_call *c)
{
    const int64_t *splits = c->in[KEY_SPLITS].data, *batch = c->in[B].data;
    int64_t features = 0;
    for (int q = 0; q < c->world->size; q++)
        features += splits[q];
    return rt_rows(c->rt, &c->in[LENGTHS], 0, features * *batch);
}

/* Sum of the lengths of the lists that go to each rank. */
static pkb_tensor *count_values(const struct problem_call *c, const pkb_tensor *lists)
{
    int world = c->world->size;
    pkb_tensor *lengths = own_lengths(c);
    pkb_tensor *ends = rt_new(c->rt, PKB_I64, RT_SHAPE(world));
    pkb_tensor *values = rt_new(c->rt, PKB_I64, RT_SHAPE(world));
    pkb_tensor *destination = rows_positions(c, rows_count(lengths));
    rt_cumsum(c->rt, ends, lists);
    rt_search_sorted(c->rt, destination, ends, destination, true);
    rt_fill(c->rt, values, 0);
    rt_add_rows(c->rt, values, lengths, destination);
    return values;
}

static void exchange_sizes(const struct problem_call *c, struct sizes *n)
{
    const int64_t *batch = c->in[B].data, *splits = c->in[KEY_SPLITS].data;
    int world = c->world->size;
    pkb_tensor *lists = rt_new(c->rt, PKB_I64, RT_SHAPE(world));
    pkb_tensor *same = rt_new(c->rt, PKB_I64, RT_SHAPE(world));
    n->batches = rt_new(c->rt, PKB_I64, RT_SHAPE(world));
    n->own = splits[c->world->rank];
    rt_binary_scalar(c->rt, RT_MUL, lists, &c->in[KEY_SPLITS], (double)*batch);
    rows_agree(c, &n->lengths, lists);
    rows_agree(c, &n->values, count_values(c, lists));
    rt_fill(c->rt, same, (double)*batch);
    rt_all_to_all(c->rt, c->world, n->batches, same);
}

/* The lists by feature, then source: they come by source, within it by feature. */
static struct rows_lists by_feature(const struct problem_call *c, const struct sizes *n)
{
    int64_t world = c->world->size;
    pkb_tensor *starts = rt_new(c->rt, PKB_I64, RT_SHAPE(n->own, world));
    pkb_tensor *lengths = rt_new(c->rt, PKB_I64, RT_SHAPE(n->own, world));
    pkb_tensor *base = rows_starts(c, n->batches);
    pkb_tensor *feature = rt_view(c->rt, rows_positions(c, n->own), RT_SHAPE(n->own, 1));
    rt_binary_scalar(c->rt, RT_MUL, base, base, (double)n->own);
    rt_binary(c->rt, RT_MUL, starts, feature, rt_view(c->rt, n->batches, RT_SHAPE(1, world)));
    rt_binary(c->rt, RT_ADD, starts, starts, base);
    rt_fill(c->rt, lengths, 0);
    rt_binary(c->rt, RT_ADD, lengths, lengths, n->batches);
    return rows_lists(c, rt_view(c->rt, starts, RT_SHAPE(n->own * world)), rt_view(c->rt, lengths, RT_SHAPE(n->own * world)));
}

static void put_values(const struct problem_call *c, const struct sizes *n, int input, int output, const pkb_tensor *position)
{
    rows_put_counted(c, output, rows_take(c, rows_send(c, &n->values, &c->in[input]), position), N_VALUES);
}

static void reference(const struct problem_call *c)
{
    struct sizes n;
    exchange_sizes(c, &n);
    pkb_tensor *lengths = rows_send(c, &n.lengths, own_lengths(c));
    pkb_tensor *starts = rows_starts(c, lengths);

    pkb_tensor *order = by_feature(c, &n).position;
    pkb_tensor *ordered = rows_take(c, lengths, order);
    pkb_tensor *position = rows_lists(c, rows_take(c, starts, order), ordered).position;
    rows_put_counted(c, LENGTHS_OUT, ordered, N_LENGTHS);
    put_values(c, &n, VALUES, VALUES_OUT, position);
    if (problem_call_int(c, "weights") == 1)
        put_values(c, &n, WEIGHTS, WEIGHTS_OUT, position);
    rt_reduce_axis(c->rt, RT_SUM, &c->out[STRIDE], n.batches, RT_ALL_AXES);
    rt_copy(c->rt, &c->out[STRIDE_PER_RANK], n.batches);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double batch = (double)samples(s), length = (problem_real(s, "Lmin") + problem_real(s, "Lmax")) / 2;
    double value = 8 + (problem_int(s, "weights") == 1 ? kit_element(s) : 0), list = 8 + length * value;
    double all = (double)all_features(s), own = (double)own_features(s->rank);
    cost->flops = 0;
    cost->hbm_bytes = list * batch * (all + own * s->world);
    cost->link_bytes = list * batch * (all - own) + 24 * (s->world - 1.0);
}

const struct problem problem_70 = {
    .id = 70,
    .name = "70_torchrec_kjt_all2all",
    .family = "recommender",
    .origin = "TorchRec: the all-to-all of a KeyedJaggedTensor, sparse features on their way to the embedding tables",
    .summary = "Exchange jagged lists of ids per feature so that each rank gets its own features for the samples of all ranks, "
               "ordered by feature.",
    .source = "problems/recommender/70_torchrec_kjt_all2all.c",
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
