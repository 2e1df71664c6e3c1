/* SPDX-License-Identifier: Apache-2.0 */
/* 29 moe_post_all2all: the second half of a layer of experts. Results of the experts go back to the ranks of their tokens, are
 * weighted and added up per token.
 *
 * Parameters   M: tokens per rank. N: width of a token. E: experts, divided evenly over the ranks, L = E / W each.
 *              k: different experts per token; k*M is a multiple of W.
 * Inputs       x (W*M*min(k, L), N) of T, of which as many rows count as the sum of out_splits says;
 *              w (M, k) of T, weights of the experts sel (M, k) of i64, ascending per token;
 *              in_splits, out_splits (W) and n (W, L) of i64, which the host reads too: they are those of the way there (28), so
 *              that here in_splits rows come back from every rank and out_splits rows go to it;
 *              routing_map (E, M) of bool: whether token t selects expert e; perm (k*M) of i64: for e ascending, for t ascending,
 *              t where routing_map[e, t]; orig_shape (2) of i64: M, N. sel, routing_map and perm say the same in three ways.
 *              All but orig_shape are different on every rank.
 * Output       out (M, N) of T, different on every rank. x is cut into E chunks of n[s, j] rows, j outer, s inner; z has them
 *              with s outer and j inner. Blocks of out_splits[d] rows of z go to rank d; what arrives, in_splits[s] rows from
 *              every rank in order, makes u (k*M, N). Row i of u belongs to entry i of the routing, expert e_i and token t_i =
 *              perm[i]:
 *                  v[i] = u[i] * (weight of e_i for t_i), rounded to T;
 *                  out[t] = 0, then + v[i] for every i with perm[i] = t, i ascending, rounded to T after each.
 *              The splits and n are as given and need not fit the routing: nothing is to be derived anew.
 * One rank     nothing moves but the weighted sum.
 * Arithmetic   f32 (f64 for T = f64), rounded to T where said; with k = 2 the order does not matter.
 * Check        |out - outr| <= (k + 1) * u * sum over i of |v[i]|, with u the unit roundoff of T: k roundings in the reference,
 *              one in a result that keeps products and sum in f32. f16 has as many steps of its smallest numbers in addition.
 * Inputs vary  with the number of the set as in 28: every third as published, the others consistent with the routings of all
 *              ranks. x is N(0,1), also in the rows that do not count; w is the softmax of k numbers of N(0,1).
 * Ideal cost   of balanced splits.
 */
#include <math.h>

#include "problems/expert_parallel/lists.h"
#include "problems/expert_parallel/routing.h"

static const struct problem_param params[] = {
    {"M", 1024, 36, true, "tokens per rank"},
    {"N", 1024, 24, true, "width of a token"},
    {"E", 8, 8, true, "experts over all ranks"},
    {"k", 2, 2, true, "experts per token"},
};

enum { X, WEIGHTS, SELECTED, IN_SPLITS, OUT_SPLITS, CHUNKS, ROUTING_MAP, PERM, ORIG_SHAPE };

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    return moe_require_lists(s, problem_int(s, "M"), problem_int(s, "E"), problem_int(s, "k"), err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t m = problem_int(s, "M"), experts = problem_int(s, "E"), k = problem_int(s, "k");
    kit_tensor(&t[X], "x", s->dtype, RT_SHAPE(moe_most_rows(s, m, experts, k), problem_int(s, "N")));
    kit_partial_rows(&t[X]);
    kit_tensor(&t[WEIGHTS], "w", s->dtype, RT_SHAPE(m, k));
    kit_tensor(&t[SELECTED], "sel", PKB_I64, RT_SHAPE(m, k));
    moe_describe_lists(s, &t[IN_SPLITS], experts);
    kit_tensor(&t[ROUTING_MAP], "routing_map", PKB_BOOL, RT_SHAPE(experts, m));
    kit_tensor(&t[PERM], "perm", PKB_I64, RT_SHAPE(k * m));
    kit_tensor(&t[ORIG_SHAPE], "orig_shape", PKB_I64, RT_SHAPE(2));
    return 9;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "out", s->dtype, RT_SHAPE(problem_int(s, "M"), problem_int(s, "N")));
    return 1;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

struct weights {
    struct rng rng;
    size_t k;
};

static double softmax_weight(const void *arg, size_t i)
{
    const struct weights *w = arg;
    size_t first = i - i % w->k;
    double sum = 0;
    for (size_t j = first; j < first + w->k; j++)
        sum += exp(rng_normal(&w->rng, j));
    return exp(rng_normal(&w->rng, i)) / sum;
}

/* perm from the routing map. */
static void list_tokens(const pkb_tensor *map, int64_t *perm)
{
    const uint8_t *selects = map->data;
    int64_t experts = map->shape[0], tokens = map->shape[1];
    for (int64_t i = 0; i < experts * tokens; i++) {
        if (selects[i])
            *perm++ = i % tokens;
    }
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    int64_t m = problem_int(s, "M"), experts = problem_int(s, "E"), k = problem_int(s, "k");
    struct weights weights = {problem_rng(s, set, WEIGHTS), (size_t)k};
    int64_t *shape = set->in[ORIG_SHAPE].data;
    struct moe_draw d;
    kit_fill_normal(s, set, X);
    kit_fill_with(&set->in[WEIGHTS], softmax_weight, &weights);
    moe_draw_begin(s, set, experts, k, true, &d);
    moe_draw_selection(&d, m, &set->in[SELECTED], &set->in[ROUTING_MAP]);
    list_tokens(&set->in[ROUTING_MAP], set->in[PERM].data);
    moe_fill_lists(s, set, &set->in[IN_SPLITS], m, experts, k);
    shape[0] = m;
    shape[1] = problem_int(s, "N");
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* u: x by source rank, sent back to where the tokens are. */
static pkb_tensor *send_back(const struct problem_call *c)
{
    int64_t width = c->in[X].shape[1];
    struct moe_exchange x;
    moe_exchange_given(c, &c->in[IN_SPLITS], &x);
    pkb_tensor *by_source = rt_new(c->rt, c->setting->dtype, RT_SHAPE(x.received, width));
    moe_ungroup(c, &x, by_source, rt_rows(c->rt, &c->in[X], 0, x.received));
    return moe_return(c, &x, by_source, width);
}

/* v (k*M, N) in the order of the entries, and their tokens. */
static pkb_tensor *weighted_rows(const struct problem_call *c, struct moe_entries *entries)
{
    int64_t m = c->in[WEIGHTS].shape[0], k = c->in[WEIGHTS].shape[1];
    pkb_tensor *rows = send_back(c);
    moe_make_entries(c, &c->in[SELECTED], &c->in[WEIGHTS], m, c->in[ROUTING_MAP].shape[0], k, entries);
    rt_binary(c->rt, RT_MUL, rows, rows, entries->weight);
    return rows;
}

static void reference(const struct problem_call *c)
{
    struct moe_entries entries;
    pkb_tensor *rows = weighted_rows(c, &entries);
    moe_combine(c, &c->out[0], rows, &c->in[PERM], c->in[WEIGHTS].shape[1]);
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    int64_t k = c->in[WEIGHTS].shape[1];
    struct moe_entries entries;
    pkb_tensor *rows = weighted_rows(c, &entries);
    pkb_tensor *size = rt_new(c->rt, PKB_F32, RT_SHAPE(c->in[PERM].shape[0], c->in[X].shape[1]));
    rt_unary(c->rt, RT_ABS, size, rows);
    moe_combine(c, tol[0], size, &c->in[PERM], k);
    rt_binary_scalar(c->rt, RT_MUL, tol[0], tol[0], (double)(k + 1) * dtype_roundoff(c->setting->dtype));
    rt_binary_scalar(c->rt, RT_ADD, tol[0], tol[0], (double)(k + 1) * kit_least_step(c->setting));
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)s;
    (void)output;
    *check = (struct problem_check){.kind = CHECK_BOUND};
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double m = problem_real(s, "M"), k = problem_real(s, "k"), n = problem_real(s, "N"), size = kit_element(s);
    double rows = k * m;
    cost->flops = 3 * rows * n;
    cost->hbm_bytes = rows * n * size + rows * (size + 8) + problem_real(s, "E") * m + 8 * rows + m * n * size;
    cost->link_bytes = rows * n * size * (s->world - 1.0) / s->world;
}

const struct problem problem_29 = {
    .id = 29,
    .name = "29_moe_post_all2all",
    .family = "expert_parallel",
    .origin = "the combination of VeOmni's layer of experts (ByteDance Seed), after Megatron-LM's token dispatcher",
    .summary = "Send the results of experts back to the ranks of their tokens all-to-all, weight them, and add up those of every "
               "token.",
    .source = "problems/expert_parallel/29_moe_post_all2all.c",
    .worlds = "E % W == 0, k * M % W == 0",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .bound = bound,
    .check = check,
    .cost = cost,
};
