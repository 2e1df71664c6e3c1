/* SPDX-License-Identifier: Apache-2.0 */
/* 53 fp8_allgather_params: every rank rounds its shard of the parameters through FP8 with a scale of its own; all ranks get all
 * shards.
 *
 * Parameters   p: elements of a shard. hl: entries of the history.
 * Inputs       w (p) of T; hist (hl), bf16 whatever T is. Both differ on every rank.
 * Outputs      full (W*p) of T, the same on every rank: rec of every rank (problems/fsdp_zero/fp8.h), in rank order; hist_new
 *              (hl), bf16, the history after w, different on every rank.
 * One rank     full = rec.
 * Arithmetic   scales and quotients in f32 for every T; the gather moves bits.
 * Check        hist_new exact. |full - ref| <= ties (problems/fsdp_zero/fp8.h) + (2 * u + 2^-22) * |ref|, u the unit roundoff
 *              of T; f16 has the step of its smallest numbers in addition.
 * Inputs       problems/fsdp_zero/fp8.h.
 */
#include <math.h>

#include "problems/fsdp_zero/fp8.h"

static const struct problem_param params[] = {
    {"p", 4096, 200, true, "elements of a shard"},
    FP8_HISTORY,
};

enum { W, HISTORY };
enum { FULL, NEW_HISTORY };

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    return fp8_describe(s, t, "w", problem_int(s, "p"), "hist");
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    return fp8_describe(s, t, "full", s->world * problem_int(s, "p"), "hist_new");
}

static void reference(const struct problem_call *c)
{
    fp8_roll(c, &c->out[NEW_HISTORY], &c->in[HISTORY], &c->in[W]);
    struct fp8 f = fp8_scale(c, &c->out[NEW_HISTORY], &c->in[W]);
    rt_all_gather(c->rt, c->world, &c->out[FULL], fp8_round_trip(c, &f));
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    struct fp8 f = fp8_scale(c, &c->out[NEW_HISTORY], &c->in[W]);
    pkb_tensor *term = kit_magnitude(c, fp8_round_trip(c, &f), 2 * dtype_roundoff(c->setting->dtype) + ldexp(1, -22));
    rt_binary(c->rt, RT_ADD, term, term, fp8_ties(c, &f));
    rt_binary_scalar(c->rt, RT_ADD, term, term, kit_least_step(c->setting));
    rt_all_gather(c->rt, c->world, tol[FULL], term);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    if (output == NEW_HISTORY)
        kit_check_exact(s, output, check);
    else
        *check = (struct problem_check){.kind = CHECK_BOUND};
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double p = problem_real(s, "p"), size = kit_element(s), others = s->world - 1;
    cost->flops = 6 * p;
    cost->hbm_bytes = 2 * size * p + 4 * problem_real(s, "hl") + size * s->world * p + 2 * others * p;
    cost->link_bytes = others * (p + 4);
}

const struct problem problem_53 = {
    .id = 53,
    .name = "53_fp8_allgather_params",
    .family = "fsdp_zero",
    .origin = "FP8 all-gather of parameters with delayed scaling, as in NVIDIA Transformer Engine, Megatron-LM and float8 FSDP",
    .summary = "Update a history of largest magnitudes, round the own shard of the parameters through FP8 with the scale that "
               "follows from it, "
               "and gather all shards.",
    .source = "problems/fsdp_zero/53_fp8_allgather_params.c",
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
