/* SPDX-License-Identifier: Apache-2.0 */
/* 34 ulysses_all_gather_into_tensor_primitive: the matrices of all ranks one below the other, on every rank.
 *
 * Parameters   M, N: rows and columns of a rank's matrix.
 * Input        x (M, N) of T, different on every rank.
 * Output       y (W*M, N) of T, the same on every rank:
 *                  y[q*M + i, c] = x_q[i, c]     for every rank q.
 * One rank     y is a copy of x.
 * Arithmetic   none; data only move.
 * Check        exact.
 * Inputs       N(0,1), in both profiles.
 */
#include "problems/axes.h"

static const struct problem_param params[] = {
    {"M", 1024, 20, true, "rows per rank"},
    {"N", 1024, 24, true, "columns"},
};

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "x", s->dtype, RT_SHAPE(problem_int(s, "M"), problem_int(s, "N")));
    return 1;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "y", s->dtype, RT_SHAPE(problem_int(s, "M") * s->world, problem_int(s, "N")));
    return 1;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    kit_fill_normal(s, set, 0);
}

static void reference(const struct problem_call *c)
{
    axes_all_gather(c->rt, c->world, &c->out[0], &c->in[0], 0);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double bytes = problem_real(s, "M") * problem_real(s, "N") * kit_element(s);
    cost->flops = 0;
    cost->hbm_bytes = bytes + s->world * bytes;
    cost->link_bytes = bytes * (s->world - 1.0);
}

const struct problem problem_34 = {
    .id = 34,
    .name = "34_ulysses_all_gather_into_tensor_primitive",
    .family = "context_parallel",
    .origin = "DeepSpeed-Ulysses; sequence-parallel primitive of VeOmni (ByteDance Seed)",
    .summary = "All-gather of equally shaped matrices, one below the other.",
    .source = "problems/context_parallel/34_ulysses_all_gather_into_tensor_primitive.c",
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
