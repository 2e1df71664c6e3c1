/* SPDX-License-Identifier: Apache-2.0 */
/* 28 moe_pre_all2all: the first half of a layer of experts. Tokens are put into the order of their experts, exchanged, and what
 * arrives is grouped by local expert.
 *
 * Parameters   M: tokens per rank. N: width of a token. E: experts, divided evenly over the ranks, L = E / W each.
 *              k: different experts per token; k*M is a multiple of W.
 * Inputs       h (M, N) of T; mask (E, k, M) of f32: mask[e, i, t] is 1 where e is the i-th expert of token t, else 0;
 *              in_splits, out_splits (W) and n (W, L) of i64, which the host reads too: rows to every rank, rows from every rank
 *              (this rank's in_splits on that one), and sizes of the chunks below; out_splits and n add up to the same. All are
 *              different on every rank.
 * Outputs      routing_map (E, M) of f32: routing_map[e, t] = sum over i of mask[e, i, t].
 *              perm (k*M) of i64: for e ascending, for t ascending, t where routing_map[e, t] is not 0.
 *              y (W*M*min(k, L), N) of T: p[i] = h[perm[i]] is cut into W blocks of in_splits[d] rows, block d goes to rank d,
 *              and what arrives makes q in the order of the sources. q is cut into E chunks of n[s, j] rows, s outer, j inner; y
 *              has them with j outer and s inner. Only the first n_y rows count, n_y (an i64 scalar) being the sum of out_splits.
 *              orig_shape (2) of i64: M, N.
 *              The splits and n are as given and need not fit the mask: nothing is to be derived anew.
 * One rank     y = q = p.
 * Arithmetic   none; rows move unchanged.
 * Check        exact.
 * Inputs vary  with the number of the set (problems/expert_parallel/lists.h). Every third is as published: splits of k*M / W and
 *              chunks of equal size, whatever the routing. In the others they follow from it: in_splits[d] counts the entries for
 *              the experts of rank d, n[s, j] those that rank s sends for expert j. pkb profile: always as published, experts
 *              equally popular. h is N(0,1).
 * Ideal cost   of balanced splits; the grouping is done by the addresses that rows are sent to.
 */
#include "problems/expert_parallel/lists.h"

static const struct problem_param params[] = {
    {"M", 1024, 36, true, "tokens per rank"},
    {"N", 1024, 24, true, "width of a token"},
    {"E", 8, 8, true, "experts over all ranks"},
    {"k", 2, 2, true, "experts per token"},
};

enum { TOKENS, MASK, IN_SPLITS, OUT_SPLITS, CHUNKS };
enum { OUT, ROUTING_MAP, PERM, ORIG_SHAPE, OUT_ROWS };

static int64_t entries(const struct problem_setting *s)
{
    return problem_int(s, "k") * problem_int(s, "M");
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    return moe_require_lists(s, problem_int(s, "M"), problem_int(s, "E"), problem_int(s, "k"), err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t m = problem_int(s, "M"), experts = problem_int(s, "E");
    kit_tensor(&t[TOKENS], "h", s->dtype, RT_SHAPE(m, problem_int(s, "N")));
    kit_tensor(&t[MASK], "mask", PKB_F32, RT_SHAPE(experts, problem_int(s, "k"), m));
    moe_describe_lists(s, &t[IN_SPLITS], experts);
    return 5;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t m = problem_int(s, "M"), experts = problem_int(s, "E");
    int64_t room = moe_most_rows(s, m, experts, problem_int(s, "k"));
    kit_tensor(&t[OUT], "y", s->dtype, RT_SHAPE(room, problem_int(s, "N")));
    kit_tensor(&t[ROUTING_MAP], "routing_map", PKB_F32, RT_SHAPE(experts, m));
    kit_tensor(&t[PERM], "perm", PKB_I64, RT_SHAPE(entries(s)));
    kit_tensor(&t[ORIG_SHAPE], "orig_shape", PKB_I64, RT_SHAPE(2));
    kit_tensor(&t[OUT_ROWS], "n_y", PKB_I64, RT_SCALAR);
    kit_counted_rows(&t[OUT], OUT_ROWS);
    return 5;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    int64_t m = problem_int(s, "M"), experts = problem_int(s, "E"), k = problem_int(s, "k");
    struct moe_draw d;
    kit_fill_normal(s, set, TOKENS);
    moe_draw_begin(s, set, experts, k, true, &d);
    moe_draw_mask(&d, m, &set->in[MASK]);
    moe_fill_lists(s, set, &set->in[IN_SPLITS], m, experts, k);
}

/* The entries of the routing map that are not 0, in order, are first among all positions when these are sorted by whether they
 * are 0. */
static void list_tokens(const struct problem_call *c, pkb_tensor *perm, const pkb_tensor *map)
{
    int64_t positions = map->shape[0] * map->shape[1];
    pkb_tensor *empty = rt_new(c->rt, PKB_I64, RT_SHAPE(positions));
    pkb_tensor *order = rt_new(c->rt, PKB_I64, RT_SHAPE(positions));
    rt_binary_scalar(c->rt, RT_EQ, empty, rt_view(c->rt, map, RT_SHAPE(positions)), 0);
    rt_argsort(c->rt, order, empty);
    rt_binary_scalar(c->rt, RT_MOD, perm, rt_rows(c->rt, order, 0, perm->shape[0]), (double)map->shape[1]);
}

static void reference(const struct problem_call *c)
{
    int64_t m = c->in[TOKENS].shape[0], width = c->in[TOKENS].shape[1];
    struct moe_exchange x;
    moe_exchange_given(c, &c->in[IN_SPLITS], &x);

    rt_reduce_axis(c->rt, RT_SUM, &c->out[ROUTING_MAP], &c->in[MASK], 1);
    list_tokens(c, &c->out[PERM], &c->out[ROUTING_MAP]);
    pkb_tensor *permuted = rt_new(c->rt, c->setting->dtype, RT_SHAPE(entries(c->setting), width));
    rt_take_rows(c->rt, permuted, &c->in[TOKENS], &c->out[PERM]);

    pkb_tensor *received = moe_dispatch(c, &x, permuted, width);
    moe_group(c, &x, rt_rows(c->rt, &c->out[OUT], 0, x.received), received);
    rt_fill(c->rt, &c->out[OUT_ROWS], (double)x.received);
    rt_fill(c->rt, rt_entry(c->rt, &c->out[ORIG_SHAPE], 0), (double)m);
    rt_fill(c->rt, rt_entry(c->rt, &c->out[ORIG_SHAPE], 1), (double)width);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double m = problem_real(s, "M"), rows = (double)entries(s), size = kit_element(s);
    double experts = problem_real(s, "E"), row_bytes = problem_real(s, "N") * size;
    cost->flops = 0;
    cost->hbm_bytes = m * row_bytes + 4 * experts * rows + rows * row_bytes + 4 * experts * m + 8 * rows;
    cost->link_bytes = rows * row_bytes * (s->world - 1.0) / s->world;
}

const struct problem problem_28 = {
    .id = 28,
    .name = "28_moe_pre_all2all",
    .family = "expert_parallel",
    .origin = "the dispatch of VeOmni's layer of experts (ByteDance Seed), after Megatron-LM's token dispatcher",
    .summary = "Put local tokens into the order of their experts, exchange the rows all-to-all, and group what arrives by local "
               "expert.",
    .source = "problems/expert_parallel/28_moe_pre_all2all.c",
    .worlds = "E % W == 0, k * M % W == 0",
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
