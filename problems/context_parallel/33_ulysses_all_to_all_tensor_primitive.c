/* SPDX-License-Identifier: Apache-2.0 */
/* 33 ulysses_all_to_all_tensor_primitive: every rank's rows are dealt to the ranks; what comes is put side by side.
 *
 * Parameters   M, N: rows and columns of a rank's matrix. M is a multiple of W; m = M / W.
 * Input        x (M, N) of T, different on every rank.
 * Output       y (m, W*N) of T: on rank r
 *                  y[i, s*N + c] = x_s[r*m + i, c]     for every rank s.
 * One rank     y is a copy of x.
 * Arithmetic   none; data only move.
 * Check        exact.
 * Inputs       N(0,1), in both profiles.
 */
#include "problems/axes.h"
#include "problems/context_parallel/ulysses.h"

static const struct problem_param params[] = {
    {"M", 1024, 48, true, "rows per rank before the exchange"},
    {"N", 1024, 40, true, "columns per rank before the exchange"},
};

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    return kit_require_divisible(s, "M", err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "x", s->dtype, RT_SHAPE(problem_int(s, "M"), problem_int(s, "N")));
    return 1;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "y", s->dtype, RT_SHAPE(problem_int(s, "M") / s->world, problem_int(s, "N") * s->world));
    return 1;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    kit_fill_normal(s, set, 0);
}

static void reference(const struct problem_call *c)
{
    axes_exchange(c->rt, c->world, &c->out[0], &c->in[0], 0, 1);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    ulysses_cost(s, problem_real(s, "M") * problem_real(s, "N"), cost);
}

const struct problem problem_33 = {
    .id = 33,
    .name = "33_ulysses_all_to_all_tensor_primitive",
    .family = "context_parallel",
    .origin = "DeepSpeed-Ulysses; sequence-parallel primitive of VeOmni (ByteDance Seed)",
    .summary = "All-to-all that deals out the rows of a matrix and puts the pieces that arrive side by side.",
    .source = "problems/context_parallel/33_ulysses_all_to_all_tensor_primitive.c",
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
