/* SPDX-License-Identifier: Apache-2.0 */
/* 65 gnn_feature_exchange_all2all: gather the rows of features that the peers have asked for, and exchange them.
 *
 * Parameters   rows, least: R = max(least, floor(rows / W)) rows per pair of ranks. D: width of a row.
 * Inputs       local_features (F, D) of T; inv (Q) of i64, 0 <= inv < F; both differ on every rank.
 *              counts_sent, counts_received (W) of i64, read on the host: rows of the chunks that this rank gets and sends (named
 *              after the requests, which went the other way). Q = sum of counts_received, F = max(1, floor(3 Q / 4)): the
 *              forms have room for the most.
 * Outputs      out (n_out, D) of T, n_out = sum of counts_sent, different on every rank. With g[i] = local_features[inv[i]], cut into
 *              W consecutive chunks of counts_received rows: chunk k of g goes to rank (r + k) mod W, and chunk k of out,
 *              counts_sent[k] rows, came from rank (r + k) mod W. Chunk 0 is the rank's own; the order is NOT that of ranks.
 * One rank     out = g.
 * Arithmetic   none; rows move unchanged.
 * Check        exact.
 * Inputs       n[p][q], the rows from p to q, are uniform in 0..2R (1..2R for p = q), another matrix in every trial; the
 *              pkb profile has R everywhere.
 * Ideal cost   for R rows per pair.
 */
#include "problems/graph/cyclic.h"
#include "problems/rows.h"

static const struct problem_param params[] = {CYCLIC_SIZES};

enum { FEATURES, INV, COUNTS_SENT, COUNTS_RECEIVED };
enum { OUT, N_OUT };

/* F for Q rows. */
static int64_t feature_rows(int64_t rows)
{
    int64_t features = 3 * rows / 4;
    return features > 1 ? features : 1;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[FEATURES], "local_features", s->dtype, RT_SHAPE(feature_rows(cyclic_capacity(s)), problem_int(s, "D")));
    kit_partial_rows(&t[FEATURES]);
    return 1 + cyclic_describe(s, &t[INV]);
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[OUT], "out", s->dtype, RT_SHAPE(cyclic_capacity(s), problem_int(s, "D")));
    kit_tensor(&t[N_OUT], "n_out", PKB_I64, RT_SCALAR);
    kit_counted_rows(&t[OUT], N_OUT);
    return 2;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    cyclic_fill_counts(s, set, COUNTS_RECEIVED, COUNTS_SENT);
    kit_fill_normal(s, set, FEATURES);
    kit_fill_integers(s, set, INV, 0, feature_rows(cyclic_total(&set->in[COUNTS_RECEIVED])) - 1);
}

static void reference(const struct problem_call *c)
{
    const pkb_tensor *to_peers = &c->in[COUNTS_RECEIVED], *from_peers = &c->in[COUNTS_SENT];
    pkb_tensor *wanted = rt_rows(c->rt, &c->in[INV], 0, cyclic_total(to_peers));
    pkb_tensor *gathered = rows_take(c, &c->in[FEATURES], wanted);
    rows_put_counted(c, OUT, cyclic_exchange(c, gathered, to_peers, from_peers), N_OUT);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double rows = (double)cyclic_rows(s), row_bytes = problem_real(s, "D") * kit_element(s);
    cost->flops = 0;
    cost->hbm_bytes = rows * s->world * (2 * row_bytes + 8);
    cost->link_bytes = row_bytes * rows * (s->world - 1.0);
}

const struct problem problem_65 = {
    .id = 65,
    .name = "65_gnn_feature_exchange_all2all",
    .family = "graph",
    .origin = "DGL GraphBolt: the feature exchange of cooperative minibatching",
    .summary = "Gather rows of features in the order in which the peers asked for them and return them by an all-to-all whose "
               "chunks are in the order of cyclic distance.",
    .source = "problems/graph/65_gnn_feature_exchange_all2all.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = cyclic_supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .check = kit_check_exact,
    .cost = cost,
};
