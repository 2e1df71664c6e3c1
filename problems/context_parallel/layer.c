/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/context_parallel/layer.h"

#include <math.h>

#include "problems/context_parallel/attention.h"
#include "problems/context_parallel/ring.h"

int64_t layer_width(const struct problem_setting *s)
{
    return problem_int(s, "H") * problem_int(s, "D");
}

int layer_inputs(const struct problem_setting *s, int members, int64_t heads, struct problem_tensor *t)
{
    int64_t width = layer_width(s), local = heads * problem_int(s, "D");
    kit_tensor(&t[LAYER_X], "x", s->dtype, RT_SHAPE(problem_int(s, "B"), ring_shard(s, members), width));
    kit_tensor(&t[LAYER_W_QKV], "w_qkv", s->dtype, RT_SHAPE(3 * local, width));
    kit_tensor(&t[LAYER_W_O], "w_o", s->dtype, RT_SHAPE(width, local));
    return LAYER_INPUTS;
}

int layer_outputs(const struct problem_setting *s, int members, struct problem_tensor *t)
{
    kit_tensor(&t[0], "out", s->dtype, RT_SHAPE(problem_int(s, "B"), ring_shard(s, members), layer_width(s)));
    return 1;
}

void layer_init(const struct problem_setting *s, struct problem_inputs *set, int x_rank, int w_rank)
{
    struct problem_setting of_x = kit_as_rank(s, x_rank), of_w = kit_as_rank(s, w_rank);
    double scale = s->inputs == PROFILE_PKB ? 0.02 : 1 / sqrt((double)layer_width(s));
    kit_fill_normal(&of_x, set, LAYER_X);
    kit_fill_scaled_normal(&of_w, set, LAYER_W_QKV, scale);
    kit_fill_scaled_normal(&of_w, set, LAYER_W_O, scale);
}

/* (3, B, S, heads, D): q, k and v of all positions, one after the other. */
static pkb_tensor *project_qkv(const struct problem_call *c, const pkb_tensor *x)
{
    const pkb_tensor *w = &c->in[LAYER_W_QKV];
    int64_t b = c->in[LAYER_X].shape[0], s = c->in[LAYER_X].shape[1], width = w->shape[1];
    int64_t d = problem_call_int(c, "D"), local = w->shape[0] / 3;
    pkb_tensor *z = rt_new(c->rt, w->dtype, RT_SHAPE(b * s, 3 * local));
    pkb_tensor *qkv = rt_new(c->rt, w->dtype, RT_SHAPE(3, b * s, local));
    rt_matmul(c->rt, z, rt_view(c->rt, x, RT_SHAPE(b * s, width)), false, w, true);
    rt_permute(c->rt, qkv, rt_view(c->rt, z, RT_SHAPE(b * s, 3, local)), (const int[]){1, 0, 2});
    return rt_view(c->rt, qkv, RT_SHAPE(3, b, s, local / d, d));
}

void layer_forward(const struct problem_call *c, const struct rt_group *cp, pkb_tensor *y, const pkb_tensor *x)
{
    const pkb_tensor *w_o = &c->in[LAYER_W_O];
    int64_t rows = c->in[LAYER_X].shape[0] * c->in[LAYER_X].shape[1], width = w_o->shape[0], local = w_o->shape[1];
    pkb_tensor *qkv = project_qkv(c, x), *q = rt_entry(c->rt, qkv, 0), *kv = rt_rows(c->rt, qkv, 1, 2);
    pkb_tensor *context = rt_new_like(c->rt, w_o->dtype, q);
    ring_attention(c->rt, cp, context, q, kv, attention_scale(c, problem_call_int(c, "D")), problem_call_int(c, "causal"));
    rt_matmul(c->rt, rt_view(c->rt, y, RT_SHAPE(rows, width)), rt_view(c->rt, context, RT_SHAPE(rows, local)), false, w_o, true);
}

void layer_check(const struct problem_setting *s, int layers, struct problem_check *check)
{
    attention_check(s, layer_width(s), layers, check);
    check->frobenius = check->row_rms;
    check->row_rms *= 2;
}

void layer_cost(const struct problem_setting *s, int place, int members, int64_t heads, struct problem_cost *cost)
{
    double positions = (double)ring_shard(s, members), rows = problem_real(s, "B") * positions;
    double width = (double)layer_width(s), local = (double)heads * problem_real(s, "D"), size = kit_element(s);
    double others = members - 1;
    bool causal = problem_int(s, "causal");
    double received = causal ? place : others, sent = causal ? others - place : others;
    cost->flops = 8 * rows * width * local + 4 * rows * local * positions * ring_blocks(s, place, members);
    cost->hbm_bytes = size * (2 * rows * width + 4 * width * local + 8 * rows * local + 4 * rows * local * received);
    cost->link_bytes = 2 * size * rows * local * sent;
}
