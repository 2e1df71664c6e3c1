/* SPDX-License-Identifier: Apache-2.0 */
/* 69 gnn_negative_scoring: where every positive edge ranks among its negatives, over the scores of all ranks.
 *
 * Parameters   rows, least: rank r has P_r = max(least, floor(rows / W)) + r mod 3 positives. Nn: negatives per positive.
 * Inputs       pos (P_r) and neg (P_r, Nn) of T, scores, different on every rank.
 * Output       ranking (P_0 + ... + P_(W-1)) of i64, the same on every rank: with the rows of all ranks in rank order and
 *              sig(v) = 1 / (1 + exp(-v)) rounded to T,
 *                  ranking[i] = 1 + how many j have sig(neg[i, j]) > sig(pos[i]),
 *              the 1-based place of the positive in a stable descending sort in which it comes first.
 * Exchanges    the sizes (an all-reduce of W numbers), then all positives and all negatives go to all ranks; none at W = 1.
 * Arithmetic   sig in f32 (f64 for f64), one rounding to T.
 * Check        differences up to the number of negatives with |sig(neg) - sig(pos)| <= (2 u + 16 e) max of the two, evaluated in
 *              f64: those may come out on either side. u is the roundoff of T, e that of the evaluation.
 * Inputs       N(0,1); positives are shifted by a number in (-2, 2) per rank. Negatives within four times that of the
 *              positive are drawn again, up to 64 times, so that the check is exact. In the pkb profile nothing is shifted or
 *              drawn again.
 */
#include <math.h>

#include "problems/rows.h"

static const struct problem_param params[] = {
    {"rows", 1024, 6, true, "positives over all ranks, as a rule"},
    {"least", 16, 6, true, "positives per rank at least"},
    {"Nn", 1000, 40, true, "negatives per positive"},
};

enum { POS, NEG };

/* Streams of random numbers apart from the tensors. */
enum { STREAM_SHIFT = KIT_STREAM };

#define MOST_DRAWS 64

/* The relative difference, after the sigmoid, up to which scores may change places. */
static double nearness(const struct problem_setting *s)
{
    return 2 * dtype_roundoff(s->dtype) + 16 * kit_accumulate_roundoff(s);
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (kit_require_least(s, "least", 1, err) < 0)
        return -1;
    return kit_require_least(s, "Nn", 1, err);
}

static int64_t positives(const struct problem_setting *s, int rank)
{
    return kit_share(s, "rows", "least") + rank % 3;
}

static int64_t all_positives(const struct problem_setting *s)
{
    int64_t sum = 0;
    for (int q = 0; q < s->world; q++)
        sum += positives(s, q);
    return sum;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t rows = positives(s, s->rank);
    kit_tensor(&t[POS], "pos", s->dtype, RT_SHAPE(rows));
    kit_tensor(&t[NEG], "neg", s->dtype, RT_SHAPE(rows, problem_int(s, "Nn")));
    return 2;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "ranking", PKB_I64, RT_SHAPE(all_positives(s)));
    return 1;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

struct scores {
    struct rng pos, neg;
    double shift; /* of the positives */
    double gap;   /* relative, between a negative and its positive after the sigmoid; -1: any */
    size_t negatives;
    int dtype;
};

static double sigmoid(double v)
{
    return 1 / (1 + exp(-v));
}

static double positive_score(const void *arg, size_t i)
{
    const struct scores *scores = arg;
    return rng_normal(&scores->pos, i) + scores->shift;
}

static double negative_score(const void *arg, size_t i)
{
    const struct scores *scores = arg;
    double pos = sigmoid(kit_rounded(scores->dtype, positive_score(scores, i / scores->negatives)));
    double score = 0;
    for (uint64_t draw = 0; draw < MOST_DRAWS; draw++) {
        score = rng_normal(&scores->neg, i * MOST_DRAWS + draw);
        double neg = sigmoid(kit_rounded(scores->dtype, score));
        if (fabs(neg - pos) > scores->gap * fmax(neg, pos))
            break;
    }
    return score;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    struct rng shift = problem_rng(s, set, STREAM_SHIFT);
    bool hardened = s->inputs == PROFILE_HARDENED;
    struct scores scores = {
        .pos = problem_rng(s, set, POS),
        .neg = problem_rng(s, set, NEG),
        .shift = hardened ? 4 * rng_uniform(&shift, 0) - 2 : 0,
        .gap = hardened ? 4 * nearness(s) : -1,
        .negatives = (size_t)problem_int(s, "Nn"),
        .dtype = s->dtype,
    };
    kit_fill_with(&set->in[POS], positive_score, &scores);
    kit_fill_with(&set->in[NEG], negative_score, &scores);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* How many rows every rank has. */
static void exchange_sizes(const struct problem_call *c, int64_t *sizes)
{
    pkb_tensor *all = rt_new(c->rt, PKB_I64, RT_SHAPE(c->world->size));
    rt_fill(c->rt, all, 0);
    rt_fill(c->rt, rt_entry(c->rt, all, c->world->rank), (double)c->in[POS].shape[0]);
    rt_all_reduce(c->rt, c->world, RT_SUM, all, all);
    rt_read_i64(c->rt, sizes, all);
}

/* The rows of all ranks: every rank sends its own to all. */
static pkb_tensor *gather(const struct problem_call *c, const int64_t *sizes, const pkb_tensor *rows)
{
    const pkb_tensor *copies[PROBLEM_MAX_WORLD];
    int64_t sent[PROBLEM_MAX_WORLD];
    int world = c->world->size;
    if (world == 1)
        return rt_rows(c->rt, rows, 0, rows->shape[0]);
    for (int q = 0; q < world; q++) {
        copies[q] = rows;
        sent[q] = rows->shape[0];
    }
    pkb_tensor *repeated = rows_like(c, rows, world * rows->shape[0]);
    pkb_tensor *all = rows_like(c, rows, all_positives(c->setting));
    rt_concat(c->rt, repeated, world, copies, 0);
    rt_all_to_all_v(c->rt, c->world, all, sizes, repeated, sent);
    return all;
}

/* Scores of all ranks, (rows, 1 + Nn), the positive first. */
static pkb_tensor *all_scores(const struct problem_call *c)
{
    int64_t sizes[PROBLEM_MAX_WORLD], rows = c->out[0].shape[0], negatives = c->in[NEG].shape[1];
    if (c->world->size > 1)
        exchange_sizes(c, sizes);
    pkb_tensor *pos = rt_view(c->rt, gather(c, sizes, &c->in[POS]), RT_SHAPE(rows, 1));
    const pkb_tensor *parts[] = {pos, gather(c, sizes, &c->in[NEG])};
    pkb_tensor *scores = rt_new(c->rt, c->setting->dtype, RT_SHAPE(rows, 1 + negatives));
    rt_concat(c->rt, scores, KIT_COUNT(parts), parts, 1);
    return scores;
}

/* The column of 0 in every row of a descending order, counted from 1. */
static void find_first(const struct problem_call *c, pkb_tensor *place, const pkb_tensor *order)
{
    pkb_tensor *found = rt_new_like(c->rt, PKB_I64, order);
    pkb_tensor *column = rows_positions(c, 1 + c->in[NEG].shape[1]);
    rt_binary_scalar(c->rt, RT_EQ, found, order, 0);
    rt_binary(c->rt, RT_MUL, found, found, column);
    rt_reduce_axis(c->rt, RT_SUM, place, found, 1);
    rt_binary_scalar(c->rt, RT_ADD, place, place, 1);
}

static void reference(const struct problem_call *c)
{
    pkb_tensor *scores = all_scores(c);
    pkb_tensor *order = rt_new_like(c->rt, PKB_I64, scores);
    rt_unary(c->rt, RT_SIGMOID, scores, scores);
    rt_unary(c->rt, RT_NEG, scores, scores);
    rt_argsort(c->rt, order, scores);
    find_first(c, &c->out[0], order);
}

/* Counts the negatives whose sigmoid, before rounding, is as good as the positive's. The positive is as good as itself. */
static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    int64_t rows = c->out[0].shape[0];
    pkb_tensor *scores = all_scores(c);
    pkb_tensor *sigmoids = rt_new_like(c->rt, PKB_F64, scores);
    pkb_tensor *larger = rt_new_like(c->rt, PKB_F64, scores);
    pkb_tensor *near = rt_new_like(c->rt, PKB_F64, scores);
    pkb_tensor *pos = rt_new(c->rt, PKB_F64, RT_SHAPE(rows, 1));
    rt_copy(c->rt, sigmoids, scores);
    rt_unary(c->rt, RT_SIGMOID, sigmoids, sigmoids);
    rt_slice(c->rt, pos, sigmoids, 1, 0);
    rt_binary(c->rt, RT_MAX, larger, sigmoids, pos);
    rt_binary_scalar(c->rt, RT_MUL, larger, larger, nearness(c->setting));
    rt_binary(c->rt, RT_SUB, near, sigmoids, pos);
    rt_unary(c->rt, RT_ABS, near, near);
    rt_binary(c->rt, RT_LE, near, near, larger);
    rt_reduce_axis(c->rt, RT_SUM, tol[0], near, 1);
    rt_binary_scalar(c->rt, RT_SUB, tol[0], tol[0], 1);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double rows = (double)positives(s, s->rank), scores = rows * (problem_real(s, "Nn") + 1);
    cost->flops = 10 * scores;
    cost->hbm_bytes = scores * kit_element(s) + 8 * (double)all_positives(s);
    cost->link_bytes = 8 * rows * (s->world - 1.0);
}

const struct problem problem_69 = {
    .id = 69,
    .name = "69_gnn_negative_scoring",
    .family = "graph",
    .origin = "GraphStorm: evaluation of link prediction, with the scores of all trainers",
    .summary = "Gather the scores of positive and negative edges from all ranks and give every positive its place among itself "
               "and its negatives after a sigmoid.",
    .source = "problems/graph/69_gnn_negative_scoring.c",
    .worlds = "any",
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
