/* SPDX-License-Identifier: Apache-2.0 */
/* 35 ulysses_all_gather_variable_primitive: matrices with different numbers of rows, one below the other on every rank; no rank knows the
 * others' numbers.
 *
 * Parameters   M: most rows of a rank's matrix. N: columns.
 * Inputs       x (M, N) of T, of which the first n_x rows count; n_x, one i64 number, 0 to M. Both differ on every rank.
 * Outputs      y (W*M, N) of T, of which n_y rows count; n_y, one i64 number. The same on every rank:
 *                  n_y = the sum over all ranks of n_x,
 *                  y[off_q + i, c] = x_q[i, c]     for every rank q and i < n_x of q, off_q = the sum of n_x over the ranks below q.
 * One rank     y is a copy of x.
 * Arithmetic   none; data only move.
 * Check        exact, the number of rows included.
 * Inputs       N(0,1). n_x is uniform in M/2 to M, drawn anew for every set; in every other set one rank has no rows. In the pkb profile
 *              it is M, and the exchange of sizes is useless.
 * Ideal cost   in expectation over n_x.
 */
#include "problems/rows.h"

static const struct problem_param params[] = {
    {"M", 1024, 11, true, "most rows of a rank"},
    {"N", 1024, 24, true, "columns"},
};

enum { X, N_X };
enum { Y, N_Y };

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[X], "x", s->dtype, RT_SHAPE(problem_int(s, "M"), problem_int(s, "N")));
    kit_tensor(&t[N_X], "n_x", PKB_I64, RT_SCALAR);
    kit_counted_rows(&t[X], N_X);
    return 2;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[Y], "y", s->dtype, RT_SHAPE(s->world * problem_int(s, "M"), problem_int(s, "N")));
    kit_tensor(&t[N_Y], "n_y", PKB_I64, RT_SCALAR);
    kit_counted_rows(&t[Y], N_Y);
    return 2;
}

static int64_t least_rows(const struct problem_setting *s)
{
    return (problem_int(s, "M") + 1) / 2;
}

/* Rows of this rank in a set. */
static int64_t draw_rows(const struct problem_setting *s, const struct problem_inputs *set)
{
    struct rng own = problem_rng(s, set, N_X), shared = problem_rng_shared(s, set, KIT_STREAM);
    int64_t most = problem_int(s, "M");
    if (s->inputs == PROFILE_PKB)
        return most;
    if (s->world > 1 && set->trial % 2 == 1 && rng_integer(&shared, 0, 0, s->world) == s->rank)
        return 0;
    return rng_integer(&own, 0, least_rows(s), most + 1);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    kit_fill_normal(s, set, X);
    kit_fill_constant(&set->in[N_X], (double)draw_rows(s, set));
}

/* The shapes of all ranks' matrices, (n_x, N) each. */
static void exchange_shapes(const struct problem_call *c, int64_t *shapes)
{
    pkb_tensor *own = rt_new(c->rt, PKB_I64, RT_SHAPE(2));
    pkb_tensor *all = rt_new(c->rt, PKB_I64, RT_SHAPE(c->world->size, 2));
    rt_copy(c->rt, rt_rows(c->rt, own, 0, 1), &c->in[N_X]);
    rt_fill(c->rt, rt_rows(c->rt, own, 1, 1), (double)c->in[X].shape[1]);
    rt_all_gather(c->rt, c->world, all, own);
    rt_read_i64(c->rt, shapes, all);
}

/* A gather of unequal parts: every rank broadcasts its own. */
static void reference(const struct problem_call *c)
{
    int64_t shapes[2 * PROBLEM_MAX_WORLD], rows[PROBLEM_MAX_WORLD], all = 0;
    exchange_shapes(c, shapes);
    for (int q = 0; q < c->world->size; q++) {
        rows[q] = shapes[2 * q];
        all += rows[q];
    }
    rows_gather(c, &c->out[Y], rows, &c->in[X]);
    rt_fill(c->rt, &c->out[N_Y], (double)all);
}

static double expected_rows(const struct problem_setting *s)
{
    double most = problem_real(s, "M");
    if (s->inputs == PROFILE_PKB)
        return most;
    double empty = s->world > 1 ? 0.5 / s->world : 0;
    return (1 - empty) * ((double)least_rows(s) + most) / 2;
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double bytes = expected_rows(s) * problem_real(s, "N") * kit_element(s);
    cost->flops = 0;
    cost->hbm_bytes = bytes + s->world * bytes;
    cost->link_bytes = (bytes + 16) * (s->world - 1.0);
}

const struct problem problem_35 = {
    .id = 35,
    .name = "35_ulysses_all_gather_variable_primitive",
    .family = "context_parallel",
    .origin = "sequence-parallel primitive of VeOmni (ByteDance Seed)",
    .summary = "Exchange the shapes, then gather matrices with different numbers of rows one below the other.",
    .source = "problems/context_parallel/35_ulysses_all_gather_variable_primitive.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .check = kit_check_exact,
    .cost = cost,
};
