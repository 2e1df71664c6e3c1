/* SPDX-License-Identifier: Apache-2.0 */
/* 54 ring_attention: attention over a sequence that is split over the ranks; keys and values travel around a ring.
 *
 * Parameters   B: batch. Tg: positions of the whole sequence; each rank has S = max(1, floor(Tg / W)), r*S to r*S + S - 1, and W*S
 *              are attended. H: heads. D: size of a head. scale: of the scores; 0: D^-1/2. causal: 1: a query sees the keys up to its
 *              own position; 0: all.
 * Inputs       q, k, v (B, S, H, D) of T, different on every rank.
 * Output       out (B, S, H, D) of T: softmax attention of the own queries to the keys and values of all ranks.
 * Ring         problems/context_parallel/ring.h. W - 1 steps also where causal, though a rank then skips the shards of higher ranks.
 * One rank     attention to the own keys.
 * Arithmetic   f32 for every T, rounded to T at the end; any order of merging, any f32 softmax.
 * Check        rows of D elements, problems/context_parallel/attention.h.
 * Inputs       N(0,1), in both profiles.
 * Ideal cost   where causal, a shard goes directly to the ranks that need it.
 */
#include "problems/context_parallel/attention.h"
#include "problems/context_parallel/ring.h"

static const struct problem_param params[] = {
    {"B", 16, 2, true, "batch"},
    {"Tg", 16, 16, true, "positions over all ranks"},
    {"H", 8, 2, true, "heads"},
    {"D", 64, 16, true, "size of a head"},
    {"scale", 0, 0, false, "of the scores; 0: 1/sqrt(D)"},
    {"causal", 1, 1, true, "1: no key behind the query is seen"},
};

enum { Q, K, V };

static void describe(const struct problem_setting *s, struct problem_tensor *t, const char *name)
{
    int64_t positions = ring_shard(s, s->world);
    kit_tensor(t, name, s->dtype, RT_SHAPE(problem_int(s, "B"), positions, problem_int(s, "H"), problem_int(s, "D")));
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    describe(s, &t[Q], "q");
    describe(s, &t[K], "k");
    describe(s, &t[V], "v");
    return 3;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    describe(s, &t[0], "out");
    return 1;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    for (int i = Q; i <= V; i++)
        kit_fill_normal(s, set, i);
}

static void reference(const struct problem_call *c)
{
    double scale = attention_scale(c, c->in[Q].shape[3]);
    pkb_tensor *kv = ring_pack(c->rt, &c->in[K], &c->in[V]);
    ring_attention(c->rt, c->world, &c->out[0], &c->in[Q], kv, scale, problem_call_int(c, "causal"));
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    attention_check(s, problem_int(s, "D"), 1, check);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double positions = (double)ring_shard(s, s->world);
    double elements = problem_real(s, "B") * positions * problem_real(s, "H") * problem_real(s, "D");
    bool causal = problem_int(s, "causal");
    double received = causal ? s->rank : s->world - 1, sent = causal ? s->world - 1 - s->rank : s->world - 1;
    cost->flops = 4 * elements * positions * ring_blocks(s, s->rank, s->world);
    cost->hbm_bytes = 4 * elements * kit_element(s) * (1 + received);
    cost->link_bytes = 2 * elements * kit_element(s) * sent;
}

const struct problem problem_54 = {
    .id = 54,
    .name = "54_ring_attention",
    .family = "context_parallel",
    .origin = "ring-flash-attention (zhuzilin), Ring Attention (Liu et al.), as in Megatron-LM's context parallelism",
    .summary = "Causal attention over a sequence split into contiguous shards: keys and values travel around a ring, partial "
               "results are "
               "merged by their log-sum-exp.",
    .source = "problems/context_parallel/54_ring_attention.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .check = check,
    .cost = cost,
};
