/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/expert_parallel/lists.h"

#include <string.h>

enum { SEND, RECV, CHUNKS };

int moe_require_lists(const struct problem_setting *s, int64_t tokens, int64_t experts, int64_t k, struct pkb_error *err)
{
    if (moe_require_experts(s, experts, k, err) < 0)
        return -1;
    if (tokens * k % s->world != 0)
        return pkb_error_set(err, "%lld rows of tokens are not divisible by %d ranks", (long long)(tokens * k), s->world);
    return 0;
}

int64_t moe_most_rows(const struct problem_setting *s, int64_t tokens, int64_t experts, int64_t k)
{
    int64_t local = experts / s->world;
    return s->world * tokens * (k < local ? k : local);
}

void moe_describe_lists(const struct problem_setting *s, struct problem_tensor *t, int64_t experts)
{
    kit_tensor(&t[SEND], "in_splits", PKB_I64, RT_SHAPE(s->world));
    kit_tensor(&t[RECV], "out_splits", PKB_I64, RT_SHAPE(s->world));
    kit_tensor(&t[CHUNKS], "n", PKB_I64, RT_SHAPE(s->world, experts / s->world));
    for (int i = 0; i < 3; i++)
        kit_host(&t[i]);
}

static void fill_balanced(const struct problem_setting *s, pkb_tensor *lists, int64_t rows, int64_t experts)
{
    int64_t *chunks = lists[CHUNKS].data;
    kit_fill_constant(&lists[SEND], (double)(rows / s->world));
    kit_fill_constant(&lists[RECV], (double)(rows / s->world));
    for (int64_t e = 0; e < experts; e++)
        chunks[e] = rows / experts + (e < rows % experts);
}

/* Entries of the experts of every rank. */
static void sum_by_owner(const int64_t *counts, int owners, int64_t local, int64_t *rows)
{
    for (int q = 0; q < owners; q++) {
        rows[q] = 0;
        for (int64_t j = 0; j < local; j++)
            rows[q] += counts[q * local + j];
    }
}

static void fill_drawn(const struct problem_setting *s, const struct problem_inputs *set, pkb_tensor *lists, int64_t tokens,
                       int64_t experts, int64_t k)
{
    int64_t counts[MOE_MAX_EXPERTS], local = experts / s->world;
    int64_t *chunks = lists[CHUNKS].data;
    for (int q = 0; q < s->world; q++) {
        struct problem_setting peer = kit_as_rank(s, q);
        struct moe_draw d;
        moe_draw_begin(&peer, set, experts, k, true, &d);
        moe_draw_counts(&d, tokens, counts);
        if (q == s->rank)
            sum_by_owner(counts, s->world, local, lists[SEND].data);
        memcpy(&chunks[q * local], &counts[s->rank * local], (size_t)local * sizeof(*chunks));
    }
    sum_by_owner(chunks, s->world, local, lists[RECV].data);
}

void moe_fill_lists(const struct problem_setting *s, const struct problem_inputs *set, pkb_tensor *lists, int64_t tokens,
                    int64_t experts, int64_t k)
{
    if (s->inputs == PROFILE_PKB || set->trial % 3 == 0)
        fill_balanced(s, lists, tokens * k, experts);
    else
        fill_drawn(s, set, lists, tokens, experts, k);
}
