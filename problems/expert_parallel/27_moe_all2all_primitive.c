/* SPDX-License-Identifier: Apache-2.0 */
/* 27 moe_all2all_primitive: an all-to-all of the rows of a matrix, with a number of rows per pair of ranks.
 *
 * Parameters   M: rows per rank, a multiple of W. N: columns.
 * Inputs       x (M, N) of T, different on every rank; in_splits, out_splits (W) of i64, which the host reads too: rows that this
 *              rank sends to every rank and receives from every rank. out_splits[s] on rank r is in_splits[r] on rank s; the
 *              in_splits of a rank add up to M, and may be 0.
 * Outputs      y (W*M, N) of T: cut x into W blocks of in_splits[d] rows; block d goes to rank d, block r stays. The blocks that
 *              this rank gets follow each other in the order of their sources. n_y, an i64 scalar: how many rows of y that makes,
 *              the sum of out_splits. Rows from n_y on are not looked at.
 * One rank     y = x.
 * Arithmetic   none; rows move unchanged.
 * Check        exact.
 * Inputs vary  with the number of the set: every third is balanced, M / W rows for every pair; in the others each rank divides
 *              its rows at random and about a quarter of the pairs has none. pkb profile: balanced.
 * Ideal cost   of balanced splits, which is the expectation.
 */
#include "problems/kit.h"

static const struct problem_param params[] = {
    {"M", 1024, 48, true, "rows per rank"},
    {"N", 1024, 40, true, "columns"},
};

enum { X, IN_SPLITS, OUT_SPLITS };
enum { OUT, OUT_ROWS };

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    return kit_require_divisible(s, "M", err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[X], "x", s->dtype, RT_SHAPE(problem_int(s, "M"), problem_int(s, "N")));
    kit_tensor(&t[IN_SPLITS], "in_splits", PKB_I64, RT_SHAPE(s->world));
    kit_tensor(&t[OUT_SPLITS], "out_splits", PKB_I64, RT_SHAPE(s->world));
    kit_host(&t[IN_SPLITS]);
    kit_host(&t[OUT_SPLITS]);
    return 3;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[OUT], "y", s->dtype, RT_SHAPE(s->world * problem_int(s, "M"), problem_int(s, "N")));
    kit_tensor(&t[OUT_ROWS], "n_y", PKB_I64, RT_SCALAR);
    kit_counted_rows(&t[OUT], OUT_ROWS);
    return 2;
}

/* How rank `from` divides its rows: in proportion to u^2, or not at all where another u is small. All ranks draw the same. */
static void draw_splits(const struct problem_setting *s, const struct problem_inputs *set, int from, int64_t *splits)
{
    struct rng r = problem_rng_shared(s, set, KIT_STREAM);
    double upto[PROBLEM_MAX_WORLD], sum = 0;
    int64_t rows = problem_int(s, "M"), done = 0;
    for (int d = 0; d < s->world; d++) {
        uint64_t index = (uint64_t)from * (uint64_t)s->world + (uint64_t)d;
        double share = rng_uniform(&r, 2 * index), wanted = rng_uniform(&r, 2 * index + 1);
        sum += wanted < 0.25 ? 0 : share * share;
        upto[d] = sum;
    }
    for (int d = 0; d < s->world; d++) {
        int64_t end = sum > 0 && d < s->world - 1 ? (int64_t)((double)rows * (upto[d] / sum)) : rows;
        splits[d] = end - done;
        done = end;
    }
}

static void fill_ragged(const struct problem_setting *s, const struct problem_inputs *set, int64_t *in, int64_t *out)
{
    draw_splits(s, set, s->rank, in);
    for (int q = 0; q < s->world; q++) {
        int64_t of_peer[PROBLEM_MAX_WORLD];
        draw_splits(s, set, q, of_peer);
        out[q] = of_peer[s->rank];
    }
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    kit_fill_normal(s, set, X);
    if (s->inputs == PROFILE_HARDENED && set->trial % 3 != 0) {
        fill_ragged(s, set, set->in[IN_SPLITS].data, set->in[OUT_SPLITS].data);
        return;
    }
    double rows = (double)(problem_int(s, "M") / s->world);
    kit_fill_constant(&set->in[IN_SPLITS], rows);
    kit_fill_constant(&set->in[OUT_SPLITS], rows);
}

static void reference(const struct problem_call *c)
{
    rt_all_to_all_v(c->rt, c->world, &c->out[OUT], c->in[OUT_SPLITS].data, &c->in[X], c->in[IN_SPLITS].data);
    rt_reduce_axis(c->rt, RT_SUM, &c->out[OUT_ROWS], &c->in[OUT_SPLITS], 0);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double bytes = problem_real(s, "M") * problem_real(s, "N") * kit_element(s);
    cost->flops = 0;
    cost->hbm_bytes = 2 * bytes;
    cost->link_bytes = bytes * (s->world - 1.0) / s->world;
}

const struct problem problem_27 = {
    .id = 27,
    .name = "27_moe_all2all_primitive",
    .family = "expert_parallel",
    .origin = "the all-to-all of token rows in VeOmni (ByteDance Seed), as in Megatron-LM",
    .summary = "Exchange the rows of a matrix all-to-all, with a number of rows for every pair of ranks.",
    .source = "problems/expert_parallel/27_moe_all2all_primitive.c",
    .worlds = "M % W == 0",
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
