/* SPDX-License-Identifier: Apache-2.0 */
/* 21 clip_grad_norm_no_ep: gradients whose shards are spread over the ranks are clipped by their norm, in place.
 *
 * Parameters   M, N: rows and columns of a shard. G: gradients, up to 8. max_norm: problems/fsdp_zero/clip.h.
 * Inputs       g_0 .. g_(G-1) (M, N) of T, different on every rank.
 * Outputs      total_norm, f32 for every T, the same on every rank, the norm before clipping; out_g_0 .. out_g_(G-1), the
 *              gradients after it, in place: their buffers hold the gradients before.
 *                  total_norm = sqrt( sum over the ranks, over i, of the squares of the elements of g_i )
 *                  then problems/fsdp_zero/clip.h.
 * One rank     the norm of its gradients.
 * Arithmetic   squares, sums and the coefficient in f32 for every T, also for f64; the clipped elements are rounded to T.
 * Check, inputs problems/fsdp_zero/clip.h, 2.5 roundings.
 */
#include "problems/fsdp_zero/clip.h"

static const struct problem_param params[] = {
    {"M", 1024, 48, true, "rows of a shard"},
    {"N", 1024, 40, true, "columns of a shard"},
    {"G", 3, 3, true, "gradients of a rank"},
    CLIP_MAX_NORM,
};

enum { PARAM_MAX_NORM = 3 };

#define MOST_GRADIENTS 8

static int count_gradients(const struct problem_setting *s)
{
    int64_t count = problem_int(s, "G");
    return (int)(count < MOST_GRADIENTS ? count : MOST_GRADIENTS);
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (problem_int(s, "G") > MOST_GRADIENTS)
        return pkb_error_set(err, "G = %.0f is more than %d", problem_real(s, "G"), MOST_GRADIENTS);
    if (kit_require_least(s, "G", 1, err) < 0)
        return -1;
    return clip_supports(s, err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    static const char *const names[MOST_GRADIENTS] = {"g_0", "g_1", "g_2", "g_3", "g_4", "g_5", "g_6", "g_7"};
    int count = count_gradients(s);
    for (int i = 0; i < count; i++)
        kit_tensor(&t[i], names[i], s->dtype, RT_SHAPE(problem_int(s, "M"), problem_int(s, "N")));
    return count;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    static const char *const names[MOST_GRADIENTS] = {"out_g_0", "out_g_1", "out_g_2", "out_g_3",
                                                      "out_g_4", "out_g_5", "out_g_6", "out_g_7"};
    int count = inputs(s, &t[1]);
    kit_tensor(&t[0], "total_norm", PKB_F32, RT_SCALAR);
    for (int i = 0; i < count; i++) {
        t[1 + i].name = names[i];
        kit_in_place(&t[1 + i], i);
    }
    return 1 + count;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    static const double whole[MOST_GRADIENTS] = {1, 1, 1, 1, 1, 1, 1, 1};
    clip_init(s, set, count_gradients(s), PARAM_MAX_NORM, whole);
}

static void reference(const struct problem_call *c)
{
    int count = count_gradients(c->setting);
    pkb_tensor *norm = &c->out[0], *g = &c->out[1];
    rt_fill(c->rt, norm, 0);
    for (int i = 0; i < count; i++)
        rt_binary(c->rt, RT_ADD, norm, norm, clip_square_sum(c, &g[i]));
    rt_all_reduce(c->rt, c->world, RT_SUM, norm, norm);
    rt_unary(c->rt, RT_SQRT, norm, norm);
    pkb_tensor *coefficient = clip_coefficient(c, norm);
    for (int i = 0; i < count; i++)
        rt_binary(c->rt, RT_MUL, &g[i], &g[i], coefficient);
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    for (int i = 0; i < count_gradients(c->setting); i++) {
        struct clip_bound b = {
            .original = &c->in[i], .clipped = &c->out[1 + i], .norm = &c->out[0], .scale = 1, .roundings = 2.5};
        clip_bound(c, &b, tol[1 + i]);
    }
}

/* Shards stay in the cache between the two passes. */
static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double elements = problem_real(s, "G") * problem_real(s, "M") * problem_real(s, "N");
    cost->flops = 3 * elements;
    cost->hbm_bytes = 2 * elements * kit_element(s);
    cost->link_bytes = 4.0 * (s->world - 1);
}

const struct problem problem_21 = {
    .id = 21,
    .name = "21_clip_grad_norm_no_ep",
    .family = "fsdp_zero",
    .origin = "gradient clipping of FSDP2 in VeOmni and xorl",
    .summary = "Compute the 2-norm of gradients whose shards are spread over all ranks and, where it exceeds max_norm, scale "
               "every local "
               "shard in place.",
    .source = "problems/fsdp_zero/21_clip_grad_norm_no_ep.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .bound = bound,
    .check = clip_check,
    .cost = cost,
};
