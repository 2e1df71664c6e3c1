/* SPDX-License-Identifier: Apache-2.0 */
/* Ring attention: the sequence is split over a group in contiguous shards, and the keys and values of the shards travel around the
 * group, one member to the right per step, while every member attends to what is with it.
 *
 * In step t = 0, 1, ... the member of rank r holds the shard of member (r - t) mod n. Where causal, it skips those of later
 * positions (t > r). The first block, with x = scale * q k^T (-infinity, where causal, for keys behind the query), gives lse = log
 * sum exp x and out = softmax(x) v; every other, with L and o in their place, is merged:
 *     out = out - sigmoid(L - lse) * (out - o),   lse = lse + log(1 + exp(L - lse)).
 * That is softmax attention of the own queries to all keys, or those up to the query's position. */
#ifndef PKB_PROBLEMS_CONTEXT_PARALLEL_RING_H
#define PKB_PROBLEMS_CONTEXT_PARALLEL_RING_H

#include "problems/kit.h"

/* out (B, S, H, D) of T: attention of the own queries q (B, S, H, D) to the keys and values kv (2, B, S, H, D) of all members; causal: to
 * those up to the query's own position. In f32, rounded to T at the end. */
void ring_attention(struct rt *rt, const struct rt_group *g, pkb_tensor *out, const pkb_tensor *q, const pkb_tensor *kv,
                    double scale, bool causal);

/* Keys and values for it from tensors of their own (B, S, H, D) of T. */
pkb_tensor *ring_pack(struct rt *rt, const pkb_tensor *k, const pkb_tensor *v);

/* Sizes that the ring's problems derive from parameter Tg, positions of the whole sequence: those of one shard, max(1, Tg / members). */
int64_t ring_shard(const struct problem_setting *s, int members);

/* Pairs of a query and a key that a member of rank r among n computes, times S^-2: r + (S + 1) / (2 S) where causal, else n. */
double ring_blocks(const struct problem_setting *s, int rank, int members);

#endif
