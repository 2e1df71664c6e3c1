/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/context_parallel/ring.h"

#include "problems/context_parallel/attention.h"

/* Attention to the keys seen so far: (B, H, S, D) and (B, H, S, 1). */
struct partial {
    pkb_tensor *out, *lse;
};

static struct partial attend(struct rt *rt, const pkb_tensor *q, const pkb_tensor *kv, double scale, bool masked)
{
    pkb_tensor *k = attention_heads_first(rt, rt_entry(rt, kv, 0));
    pkb_tensor *v = attention_heads_first(rt, rt_entry(rt, kv, 1));
    pkb_tensor *x = attention_scores(rt, q, k, scale, masked);
    struct partial block = {.out = rt_new_like(rt, PKB_F32, q), .lse = attention_log_sum_exp(rt, x)};
    rt_matmul(rt, block.out, attention_probabilities(rt, x, block.lse), false, v, false);
    return block;
}

/* Takes a block into the sum; the arithmetic of ring.h, in place. */
static void merge(struct rt *rt, const struct partial *sum, const struct partial *block)
{
    pkb_tensor *difference = rt_new_like(rt, PKB_F32, sum->lse);
    pkb_tensor *weight = rt_new_like(rt, PKB_F32, sum->lse);
    pkb_tensor *change = rt_new_like(rt, PKB_F32, sum->out);
    rt_binary(rt, RT_SUB, difference, block->lse, sum->lse);
    rt_unary(rt, RT_SIGMOID, weight, difference);
    rt_binary(rt, RT_SUB, change, sum->out, block->out);
    rt_binary(rt, RT_MUL, change, change, weight);
    rt_binary(rt, RT_SUB, sum->out, sum->out, change);
    rt_unary(rt, RT_SOFTPLUS, difference, difference);
    rt_binary(rt, RT_ADD, sum->lse, sum->lse, difference);
}

void ring_attention(struct rt *rt, const struct rt_group *g, pkb_tensor *out, const pkb_tensor *q, const pkb_tensor *kv,
                    double scale, bool causal)
{
    if (rt_status(rt, NULL) < 0)
        return;
    const pkb_tensor *queries = attention_heads_first(rt, q);
    struct partial sum = {NULL, NULL};
    for (int t = 0; t < g->size; t++) {
        const pkb_tensor *next = t < g->size - 1 ? kit_pass_right(rt, g, kv) : NULL;
        if (!causal || t <= g->rank) {
            struct partial block = attend(rt, queries, kv, scale, causal && t == 0);
            if (t == 0)
                sum = block;
            else
                merge(rt, &sum, &block);
        }
        kv = next;
    }
    attention_heads_last(rt, out, sum.out);
}

pkb_tensor *ring_pack(struct rt *rt, const pkb_tensor *k, const pkb_tensor *v)
{
    if (rt_status(rt, NULL) < 0)
        return NULL;
    int64_t b = k->shape[0], s = k->shape[1], h = k->shape[2], d = k->shape[3];
    pkb_tensor *kv = rt_new(rt, k->dtype, RT_SHAPE(2, b, s, h, d));
    rt_copy(rt, rt_entry(rt, kv, 0), k);
    rt_copy(rt, rt_entry(rt, kv, 1), v);
    return kv;
}

int64_t ring_shard(const struct problem_setting *s, int members)
{
    int64_t positions = problem_int(s, "Tg") / members;
    return positions > 1 ? positions : 1;
}

double ring_blocks(const struct problem_setting *s, int rank, int members)
{
    double positions = (double)ring_shard(s, members);
    return problem_int(s, "causal") ? rank + (positions + 1) / (2 * positions) : members;
}
