/* SPDX-License-Identifier: Apache-2.0 */
/* 55 ring_attention_tp: a layer of ring attention on a grid: pairs of ranks share the heads, the others the sequence.
 *
 * Parameters   B: batch. Tg: positions of the whole sequence. H: heads, a multiple of tp. D: size of a head. scale: of the scores; 0:
 *              D^-1/2. causal: 1: a query sees the keys up to its own position.
 * Grid         tp = min(2, W), C = W / tp. Rank r is member r mod tp of the tensor-parallel group {cp*tp, ..., cp*tp + tp - 1} with
 *              cp = floor(r / tp), and member cp of the context-parallel group {r mod tp + j*tp, j < C}: neighbours share the heads.
 * Inputs       problems/context_parallel/layer.h with C members and H / tp heads: x (B, S, Hd) of T, the same within a tensor-parallel
 *              group; w_qkv, w_o of T, the same within a context-parallel group.
 * Output       out (B, S, Hd) of T, the same within a tensor-parallel group: y of the layer, the ring in the context-parallel group, then
 *              the sum of y over the tensor-parallel group, in T.
 * One rank     the layer alone. Two ranks: no ring.
 * Arithmetic   z, ctx, y and the sum are rounded to T; attention is f32 for every T; sums of the products f32 (f64 for f64).
 * Check        layer.h.
 * Inputs       x N(0,1); weights see layer.h.
 */
#include "problems/context_parallel/layer.h"

static const struct problem_param params[] = {LAYER_PARAMS(4, 8)};

static int tensor_ranks(const struct problem_setting *s)
{
    return s->world > 1 ? 2 : 1;
}

static int context_ranks(const struct problem_setting *s)
{
    return s->world / tensor_ranks(s);
}

static int64_t local_heads(const struct problem_setting *s)
{
    return problem_int(s, "H") / tensor_ranks(s);
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    int tp = tensor_ranks(s);
    if (kit_require_pairs(s, err) < 0)
        return -1;
    if (problem_int(s, "H") % tp != 0)
        return pkb_error_set(err, "H = %lld is not divisible by %d", (long long)problem_int(s, "H"), tp);
    return 0;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    return layer_inputs(s, context_ranks(s), local_heads(s), t);
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    return layer_outputs(s, context_ranks(s), t);
}

/* What is the same in a group is what its first rank has. */
static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    int tp = tensor_ranks(s);
    layer_init(s, set, s->rank / tp * tp, s->rank % tp);
}

static void reference(const struct problem_call *c)
{
    int tp = tensor_ranks(c->setting), members = context_ranks(c->setting), rank = c->world->rank;
    const struct rt_group *heads = kit_stride_group(c, rank / tp * tp, 1, tp);
    const struct rt_group *sequence = kit_stride_group(c, rank % tp, tp, members);
    layer_forward(c, sequence, &c->out[0], &c->in[LAYER_X]);
    rt_all_reduce(c->rt, heads, RT_SUM, &c->out[0], &c->out[0]);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    layer_check(s, 1, check);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    int tp = tensor_ranks(s);
    struct problem_tensor y;
    (void)outputs(s, &y);
    layer_cost(s, s->rank / tp, context_ranks(s), local_heads(s), cost);
    cost->link_bytes += 2 * kit_element(s) * (double)kit_numel(&y.form) * (tp - 1) / tp;
}

const struct problem problem_55 = {
    .id = 55,
    .name = "55_ring_attention_tp",
    .family = "context_parallel",
    .origin = "ring-flash-attention with Megatron-LM's tensor parallelism (rank order tp-cp)",
    .summary =
        "Attention layer on a two-dimensional grid: heads over pairs of ranks, the sequence around rings, an all-reduce of the "
        "output projection over the pairs.",
    .source = "problems/context_parallel/55_ring_attention_tp.c",
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
