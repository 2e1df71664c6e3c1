/* SPDX-License-Identifier: Apache-2.0 */
/* 52 fp8_reduce_scatter_grads: every rank rounds its gradient through FP8 with a scale of its own; the results are averaged and
 * scattered.
 *
 * Parameters   p: elements of the output. hl: entries of the history.
 * Inputs       g (W*p) of T; hist (hl), bf16 whatever T is. Both differ on every rank.
 * Outputs      shard (p) of T: with rec from problems/fsdp_zero/fp8.h and rnd() the rounding to T,
 *                  shard[i] = rnd( rnd( sum over the ranks q of rec_q[r*p + i] ) / W );
 *              hist_new (hl), bf16, the history after g. Both differ on every rank.
 * One rank     shard = rec.
 * Arithmetic   scales and quotients in f32 for every T; the sum is in T, accumulated in f32 (f64 for T = f64) in rank order
 *              here, and may round after every addition.
 * Check        hist_new exact. |shard - ref| <= ( sum over the ranks of ties (problems/fsdp_zero/fp8.h) + max((W + 4) * u, 2^-22)
 *              * sum over the ranks of |rec_q| ) / W, u the unit roundoff of T; f16 has the step of its smallest numbers in
 *              addition. Where that is as large as the error of e4m3, 2 to 3 %, in bf16 and f16 for many ranks, there is
 *              ||shard - ref|| <= (1.5 + sqrt(W)/2) * u * ||ref||, too.
 * Inputs       problems/fsdp_zero/fp8.h.
 */
#include <math.h>

#include "problems/fsdp_zero/fp8.h"

static const struct problem_param params[] = {
    {"p", 4096, 72, true, "elements of the output"},
    FP8_HISTORY,
};

enum { G, HISTORY };
enum { SHARD, NEW_HISTORY };

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    return fp8_describe(s, t, "g", s->world * problem_int(s, "p"), "hist");
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    return fp8_describe(s, t, "shard", problem_int(s, "p"), "hist_new");
}

static void reference(const struct problem_call *c)
{
    fp8_roll(c, &c->out[NEW_HISTORY], &c->in[HISTORY], &c->in[G]);
    struct fp8 f = fp8_scale(c, &c->out[NEW_HISTORY], &c->in[G]);
    rt_reduce_scatter(c->rt, c->world, RT_SUM, &c->out[SHARD], fp8_round_trip(c, &f));
    rt_binary_scalar(c->rt, RT_DIV, &c->out[SHARD], &c->out[SHARD], c->world->size);
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    double roundings = (c->world->size + 4) * dtype_roundoff(c->setting->dtype);
    struct fp8 f = fp8_scale(c, &c->out[NEW_HISTORY], &c->in[G]);
    pkb_tensor *term = kit_magnitude(c, fp8_round_trip(c, &f), fmax(roundings, ldexp(1, -22)));
    rt_binary(c->rt, RT_ADD, term, term, fp8_ties(c, &f));
    rt_reduce_scatter(c->rt, c->world, RT_SUM, tol[SHARD], term);
    rt_binary_scalar(c->rt, RT_DIV, tol[SHARD], tol[SHARD], c->world->size);
    rt_binary_scalar(c->rt, RT_ADD, tol[SHARD], tol[SHARD], 2 * kit_least_step(c->setting));
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    if (output == NEW_HISTORY) {
        kit_check_exact(s, output, check);
        return;
    }
    *check = (struct problem_check){.kind = CHECK_BOUND};
    if (kit_is_narrow(s))
        check->frobenius = (1.5 + sqrt(s->world) / 2) * dtype_roundoff(s->dtype);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double p = problem_real(s, "p"), n = s->world * p, size = kit_element(s), others = s->world - 1;
    cost->flops = 6 * n + others * p + p;
    cost->hbm_bytes = 2 * size * n + 4 * problem_real(s, "hl") + size * p + 2 * n;
    cost->link_bytes = others * (p + 4);
}

const struct problem problem_52 = {
    .id = 52,
    .name = "52_fp8_reduce_scatter_grads",
    .family = "fsdp_zero",
    .origin = "FP8 reduction of gradients with delayed scaling, as in NVIDIA Transformer Engine and Megatron-LM",
    .summary = "Update a history of largest magnitudes, round the gradient through FP8 with the scale that follows from it, and "
               "reduce-scatter the mean over all ranks.",
    .source = "problems/fsdp_zero/52_fp8_reduce_scatter_grads.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = fp8_supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = fp8_init,
    .reference = reference,
    .bound = bound,
    .check = check,
    .cost = cost,
};
