/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/context_parallel/attention.h"

#include <math.h>

/* Swaps the axes of positions and heads. */
static void swap_middle(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src)
{
    rt_permute(rt, dst, src, (const int[]){0, 2, 1, 3});
}

static pkb_tensor *new_swapped(struct rt *rt, int dtype, const pkb_tensor *t)
{
    return rt_new(rt, dtype, RT_SHAPE(t->shape[0], t->shape[2], t->shape[1], t->shape[3]));
}

pkb_tensor *attention_heads_first(struct rt *rt, const pkb_tensor *t)
{
    if (rt_status(rt, NULL) < 0)
        return NULL;
    pkb_tensor *swapped = new_swapped(rt, t->dtype, t);
    pkb_tensor *wide = new_swapped(rt, PKB_F32, t);
    swap_middle(rt, swapped, t);
    rt_copy(rt, wide, swapped);
    return wide;
}

void attention_heads_last(struct rt *rt, pkb_tensor *dst, const pkb_tensor *t)
{
    if (rt_status(rt, NULL) < 0)
        return;
    pkb_tensor *rounded = rt_new_like(rt, dst->dtype, t);
    rt_copy(rt, rounded, t);
    swap_middle(rt, dst, rounded);
}

double attention_scale(const struct problem_call *c, int64_t head_size)
{
    double scale = problem_call_real(c, "scale");
    return scale != 0 ? scale : 1 / sqrt((double)head_size);
}

void attention_hide_later_keys(struct rt *rt, pkb_tensor *scores)
{
    if (rt_status(rt, NULL) < 0)
        return;
    int64_t queries = scores->shape[scores->ndim - 2], keys = scores->shape[scores->ndim - 1];
    pkb_tensor *query = rt_new(rt, PKB_I64, RT_SHAPE(queries, 1));
    pkb_tensor *key = rt_new(rt, PKB_I64, RT_SHAPE(1, keys));
    pkb_tensor *later = rt_new(rt, PKB_I64, RT_SHAPE(queries, keys));
    pkb_tensor *nothing = rt_new(rt, scores->dtype, RT_SHAPE(1));
    rt_iota(rt, query, 0, 1);
    rt_iota(rt, key, 0, 1);
    rt_binary(rt, RT_GT, later, key, query);
    rt_fill(rt, nothing, -INFINITY);
    rt_where(rt, scores, later, nothing, scores);
}

pkb_tensor *attention_scores(struct rt *rt, const pkb_tensor *q, const pkb_tensor *k, double scale, bool masked)
{
    if (rt_status(rt, NULL) < 0)
        return NULL;
    pkb_tensor *scores = rt_new(rt, PKB_F32, RT_SHAPE(q->shape[0], q->shape[1], q->shape[2], k->shape[2]));
    rt_matmul(rt, scores, q, false, k, true);
    rt_binary_scalar(rt, RT_MUL, scores, scores, scale);
    if (masked)
        attention_hide_later_keys(rt, scores);
    return scores;
}

pkb_tensor *attention_log_sum_exp(struct rt *rt, const pkb_tensor *scores)
{
    if (rt_status(rt, NULL) < 0)
        return NULL;
    pkb_tensor *largest = rt_new(rt, PKB_F32, RT_SHAPE(scores->shape[0], scores->shape[1], scores->shape[2], 1));
    pkb_tensor *lse = rt_new_like(rt, PKB_F32, largest);
    rt_reduce_axis(rt, RT_AMAX, largest, scores, -1);
    rt_reduce_axis(rt, RT_SUM, lse, attention_probabilities(rt, scores, largest), -1);
    rt_unary(rt, RT_LOG, lse, lse);
    rt_binary(rt, RT_ADD, lse, lse, largest);
    return lse;
}

pkb_tensor *attention_probabilities(struct rt *rt, const pkb_tensor *scores, const pkb_tensor *lse)
{
    pkb_tensor *p = rt_new_like(rt, PKB_F32, scores);
    rt_binary(rt, RT_SUB, p, scores, lse);
    rt_unary(rt, RT_EXP, p, p);
    return p;
}

void attention_check(const struct problem_setting *s, int64_t row, double errors, struct problem_check *check)
{
    double u = kit_is_narrow(s) ? dtype_roundoff(s->dtype) : ldexp(1, -16);
    *check = (struct problem_check){.kind = CHECK_ROWS, .row = row, .row_max = 16 * u * errors, .row_rms = 2 * u * errors};
}

void attention_check_limits(const struct problem_setting *s, int64_t row, double largest, double root_mean_square,
                            struct problem_check *check)
{
    double u = dtype_roundoff(s->dtype), wide = 1e-4 * u / dtype_roundoff(PKB_F32), narrow = u / dtype_roundoff(PKB_BF16);
    *check = (struct problem_check){.kind = CHECK_ROWS, .row = row};
    check->row_max = kit_is_narrow(s) ? largest * narrow : wide;
    check->row_rms = kit_is_narrow(s) ? root_mean_square * narrow : wide;
}
