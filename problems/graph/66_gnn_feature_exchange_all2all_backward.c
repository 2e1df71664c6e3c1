/* SPDX-License-Identifier: Apache-2.0 */
/* 66 gnn_feature_exchange_all2all_backward: gradients of exchanged features go back to the ranks that own the rows and are added
 * there.
 *
 * Parameters   rows, least: R = max(least, floor(rows / W)) rows per pair of ranks. D: width of a row. S: rows of the result, which
 *              differ on every rank and change with the inputs: max(1, floor(n / 2)) for n received rows.
 * Inputs       grad_output (n_sent, D) of f32 for every T; inv (n) of i64, 0 <= inv < S; counts_sent, counts_received (W) of i64, read
 *              on the host: rows of the chunks that this rank sends and gets; n_sent and n are their sums. All differ on
 *              every rank; the forms have room for the most.
 * Outputs      grad (n_grad, D) of f32, n_grad = S, different on every rank. Chunk k of grad_output goes to rank (r + k) mod W; chunk k of
 *              the received rows o came from rank (r + k) mod W (chunk 0 is the rank's own);
 *                  grad[i, d] = sum of o[j, d] over all j with inv[j] = i, 0 where there is none.
 * One rank     o = grad_output.
 * Arithmetic   f32 sums in any order.
 * Check        |y - yc| <= 2 (m + 1) u * sum of |o[j, d]| over the m rows j that are added, u = 2^-24: sums of m terms in any
 *              two orders. A row without a term is exactly 0.
 * Inputs       n[p][q], the rows from p to q, are uniform in 0..2R (1..2R for p = q), another matrix in every trial; a tenth of inv
 *              is one hot row, and where S > 1 nothing points to row 0. The pkb profile has R everywhere and uniform inv.
 * Ideal cost   for R rows per pair.
 */
#include "problems/graph/cyclic.h"
#include "problems/rows.h"

enum { PARAM_S = 3 };

static const struct problem_param params[] = {
    CYCLIC_SIZES,
    [PARAM_S] = {"S", 512, 12, true, "rows of the result"},
};

enum { GRAD_OUTPUT, INV, COUNTS_SENT, COUNTS_RECEIVED };
enum { GRAD, N_GRAD };

/* One of ten indices is the hot row. */
#define HOT_SHARE 10
enum { STREAM_HOT = KIT_STREAM + 1 };

/* S for n received rows. */
static int64_t result_rows(int64_t received)
{
    return received > 1 ? received / 2 : 1;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[GRAD_OUTPUT], "grad_output", PKB_F32, RT_SHAPE(cyclic_capacity(s), problem_int(s, "D")));
    kit_partial_rows(&t[GRAD_OUTPUT]);
    return 1 + cyclic_describe(s, &t[INV]);
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[GRAD], "grad", PKB_F32, RT_SHAPE(result_rows(cyclic_capacity(s)), problem_int(s, "D")));
    kit_tensor(&t[N_GRAD], "n_grad", PKB_I64, RT_SCALAR);
    kit_counted_rows(&t[GRAD], N_GRAD);
    return 2;
}

struct targets {
    struct rng rng, hot;
    int64_t rows;
};

/* A row of the result other than the first, unless that is the only one. */
static double target_value(const void *arg, size_t i)
{
    const struct targets *t = arg;
    int64_t low = t->rows > 1;
    if (rng_integer(&t->hot, 1 + i, 0, HOT_SHARE) == 0)
        return (double)rng_integer(&t->hot, 0, low, t->rows);
    return (double)rng_integer(&t->rng, i, low, t->rows);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    cyclic_fill_counts(s, set, COUNTS_SENT, COUNTS_RECEIVED);
    struct targets targets = {
        .rng = problem_rng(s, set, INV),
        .hot = problem_rng(s, set, STREAM_HOT),
        .rows = result_rows(cyclic_total(&set->in[COUNTS_RECEIVED])),
    };
    set->params[PARAM_S] = (double)targets.rows;
    kit_fill_normal(s, set, GRAD_OUTPUT);
    if (s->inputs == PROFILE_HARDENED)
        kit_fill_with(&set->in[INV], target_value, &targets);
    else
        kit_fill_integers(s, set, INV, 0, targets.rows - 1);
}

/* The indices of the received rows. */
static pkb_tensor *targets(const struct problem_call *c)
{
    return rt_rows(c->rt, &c->in[INV], 0, cyclic_total(&c->in[COUNTS_RECEIVED]));
}

static pkb_tensor *received_rows(const struct problem_call *c, const pkb_tensor *rows)
{
    return cyclic_exchange(c, rows, &c->in[COUNTS_SENT], &c->in[COUNTS_RECEIVED]);
}

static void reference(const struct problem_call *c)
{
    rt_fill(c->rt, &c->out[GRAD], 0);
    rt_add_rows(c->rt, &c->out[GRAD], received_rows(c, &c->in[GRAD_OUTPUT]), targets(c));
    rt_fill(c->rt, &c->out[N_GRAD], problem_call_real(c, "S"));
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    int64_t rows = c->out[GRAD].shape[0];
    pkb_tensor *terms = rt_new(c->rt, PKB_I64, RT_SHAPE(rows));
    pkb_tensor *magnitude = kit_magnitude(c, &c->in[GRAD_OUTPUT], 2 * dtype_roundoff(PKB_F32));
    rt_bincount(c->rt, terms, targets(c));
    rt_binary_scalar(c->rt, RT_ADD, terms, terms, 1);
    rt_fill(c->rt, tol[GRAD], 0);
    rt_add_rows(c->rt, tol[GRAD], received_rows(c, magnitude), targets(c));
    rt_binary(c->rt, RT_MUL, tol[GRAD], tol[GRAD], rt_view(c->rt, terms, RT_SHAPE(rows, 1)));
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double rows = (double)cyclic_rows(s), received = rows * s->world, width = problem_real(s, "D");
    cost->flops = received * width;
    cost->hbm_bytes = 4 * received * width + 8 * received + 4 * width * (double)result_rows((int64_t)received);
    cost->link_bytes = 4 * width * rows * (s->world - 1.0);
}

const struct problem problem_66 = {
    .id = 66,
    .name = "66_gnn_feature_exchange_all2all_backward",
    .family = "graph",
    .origin = "DGL GraphBolt: the gradient of the feature exchange of cooperative minibatching",
    .summary = "Return rows of gradients to their owners by an all-to-all whose chunks are in the order of cyclic distance, and "
               "add them into the owner's rows by index.",
    .source = "problems/graph/66_gnn_feature_exchange_all2all_backward.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = cyclic_supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .bound = bound,
    .check = kit_check_bound,
    .cost = cost,
};
