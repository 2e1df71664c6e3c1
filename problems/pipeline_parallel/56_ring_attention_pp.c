/* SPDX-License-Identifier: Apache-2.0 */
/* 56 ring_attention_pp: two pipeline stages, each a layer of ring attention over its own half of the ranks.
 *
 * Parameters   B: batch. Tg: positions of the whole sequence. H: heads. D: size of a head. scale: of the scores; 0: D^-1/2. causal: 1:
 *              a query sees the keys up to its own position.
 * Grid         pp = min(2, W) stages, C = W / pp. Rank r belongs to stage floor(r / C) and is member r mod C of the context-parallel
 *              group {stage*C + j, j < C}.
 * Inputs       problems/context_parallel/layer.h with C members and all heads: x (B, S, Hd) of T, used by stage 0 alone; w_qkv, w_o
 *              of T, the same within a stage.
 * Output       out (B, S, Hd) of T: y of the own stage's layer. Stage 0 takes x; stage 1 takes out of the rank r - C. No residual
 *              connection, no normalisation.
 * One rank     one layer. Two ranks: no ring, the hand-over alone.
 * Arithmetic   z, ctx and out are rounded to T; attention is f32 for every T; sums of the products f32 (f64 for f64). The hand-over is
 *              a copy.
 * Check        problems/context_parallel/layer.h, with two layers' tolerance in stage 1, whose input has errors.
 * Inputs       x N(0,1), in stage 1 other numbers than in stage 0, so that using them shows (the pkb profile has the same);
 *              weights see problems/context_parallel/layer.h.
 */
#include "problems/context_parallel/layer.h"

static const struct problem_param params[] = {LAYER_PARAMS(2, 16)};

static int stages(const struct problem_setting *s)
{
    return s->world > 1 ? 2 : 1;
}

static int context_ranks(const struct problem_setting *s)
{
    return s->world / stages(s);
}

static int stage_of(const struct problem_setting *s)
{
    return s->rank / context_ranks(s);
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    return kit_require_pairs(s, err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    return layer_inputs(s, context_ranks(s), problem_int(s, "H"), t);
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    return layer_outputs(s, context_ranks(s), t);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    int members = context_ranks(s);
    int x_rank = s->inputs == PROFILE_PKB ? s->rank % members : s->rank;
    layer_init(s, set, x_rank, stage_of(s) * members);
}

/* What the rank of the same place in the stage before computed. */
static pkb_tensor *receive_input(const struct problem_call *c, int from)
{
    pkb_tensor *u = rt_new_like(c->rt, c->setting->dtype, &c->in[LAYER_X]);
    rt_recv(c->rt, c->world, u, from);
    return u;
}

static void reference(const struct problem_call *c)
{
    const struct problem_setting *s = c->setting;
    int members = context_ranks(s), stage = stage_of(s), rank = c->world->rank;
    const struct rt_group *sequence = kit_stride_group(c, stage * members, 1, members);
    const pkb_tensor *u = stage == 0 ? &c->in[LAYER_X] : receive_input(c, rank - members);
    layer_forward(c, sequence, &c->out[0], u);
    if (stage < stages(s) - 1)
        rt_send(c->rt, c->world, &c->out[0], rank + members);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    layer_check(s, 1 + stage_of(s), check);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    int members = context_ranks(s);
    struct problem_tensor y;
    (void)outputs(s, &y);
    layer_cost(s, s->rank % members, members, problem_int(s, "H"), cost);
    if (stage_of(s) < stages(s) - 1)
        cost->link_bytes += kit_element(s) * (double)kit_numel(&y.form);
}

const struct problem problem_56 = {
    .id = 56,
    .name = "56_ring_attention_pp",
    .family = "pipeline_parallel",
    .origin = "ring-flash-attention with Megatron-LM's pipeline parallelism (rank order cp-pp)",
    .summary =
        "Two pipeline stages, each a layer of causal ring attention over its own half of the ranks; stage 0 hands its output on, "
        "every rank returns its own stage's.",
    .source = "problems/pipeline_parallel/56_ring_attention_pp.c",
    .worlds = "W == 1 or W % 2 == 0",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .check = check,
    .cost = cost,
};
