/* SPDX-License-Identifier: Apache-2.0 */
/* 22 clip_grad_norm_ep: clipping, in place, of two kinds of gradients by their common norm: experts', which are spread over a
 * grid of ranks, and others'.
 *
 * Parameters   M, N: rows and columns of a gradient. ep_size: degree of expert parallelism, E below; 0: max(1, floor(W/2)).
 *              max_norm: problems/fsdp_zero/clip.h.
 * Inputs       g_ne, not experts', and g_ep, experts', (M, N) of T, different on every rank.
 * Outputs      total_norm, f32 for every T, the same on every rank, the norm before clipping; out_g_ne, out_g_ep, the gradients
 *              after it, in place: their buffers hold the gradients before.
 *     1. if E > 1: g_ep becomes g_ep / E, rounded to T;
 *     2. the squares of g_ne are summed over all ranks; those of g_ep, as it is now, over ranks with the same place among the
 *        experts, r mod E (W/E ranks, E apart), and the result over E neighbours, which hold different experts. Where E is 1 or
 *        does not divide W, over all ranks at once;
 *     3. total_norm = the root of both sums together; then problems/fsdp_zero/clip.h.
 *              One sum of everything over all ranks gives the same.
 * One rank     E = 1: the norm of both gradients.
 * Arithmetic   squares, sums and the coefficient in f32 for every T, also for f64; g_ep is rounded to T after step 1 and when
 *              it is clipped.
 * Check, inputs problems/fsdp_zero/clip.h, 2.5 roundings for g_ne, 3.5 for g_ep, as one multiplication by coefficient / E is
 *              correct too. What is not clipped: g_ne keeps its bits, g_ep those of step 1. Where E is no power of two, step 1
 *              rounds, and a result need not: 2 * u for g_ep that is not clipped, 4 * u / sqrt(M * N * W) more for the norm.
 */
#include <math.h>

#include "problems/fsdp_zero/clip.h"

static const struct problem_param params[] = {
    {"M", 1024, 48, true, "rows of a gradient"},
    {"N", 1024, 40, true, "columns of a gradient"},
    {"ep_size", 0, 0, true, "degree of expert parallelism; 0: half the ranks, at least 1"},
    CLIP_MAX_NORM,
};

enum { PARAM_MAX_NORM = 3 };
enum { OTHERS, EXPERTS, GRADIENTS };

static int ep_size(const struct problem_setting *s)
{
    int given = (int)problem_int(s, "ep_size"), half = s->world / 2;
    if (given > 0)
        return given;
    return half > 1 ? half : 1;
}

/* g_ep / E needs no rounding. */
static bool division_is_exact(const struct problem_setting *s)
{
    int size = ep_size(s);
    return (size & (size - 1)) == 0;
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (problem_int(s, "ep_size") > s->world)
        return pkb_error_set(err, "ep_size = %.0f is more than the %d ranks", problem_real(s, "ep_size"), s->world);
    return clip_supports(s, err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[OTHERS], "g_ne", s->dtype, RT_SHAPE(problem_int(s, "M"), problem_int(s, "N")));
    kit_tensor(&t[EXPERTS], "g_ep", s->dtype, RT_SHAPE(problem_int(s, "M"), problem_int(s, "N")));
    return GRADIENTS;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    (void)inputs(s, &t[1]);
    kit_tensor(&t[0], "total_norm", PKB_F32, RT_SCALAR);
    t[1 + OTHERS].name = "out_g_ne";
    t[1 + EXPERTS].name = "out_g_ep";
    kit_in_place(&t[1 + OTHERS], OTHERS);
    kit_in_place(&t[1 + EXPERTS], EXPERTS);
    return 1 + GRADIENTS;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    const double part[GRADIENTS] = {[OTHERS] = 1, [EXPERTS] = 1.0 / ep_size(s)};
    clip_init(s, set, GRADIENTS, PARAM_MAX_NORM, part);
}

/* The experts' sum of squares: over the ranks that hold the same experts, then over those that hold different ones. */
static void reduce_experts(const struct problem_call *c, pkb_tensor *sum)
{
    int world = c->world->size, rank = c->world->rank, size = ep_size(c->setting);
    if (size == 1 || world % size != 0) {
        rt_all_reduce(c->rt, c->world, RT_SUM, sum, sum);
        return;
    }
    rt_all_reduce(c->rt, kit_stride_group(c, rank % size, size, world / size), RT_SUM, sum, sum);
    rt_all_reduce(c->rt, kit_stride_group(c, rank - rank % size, 1, size), RT_SUM, sum, sum);
}

static void reference(const struct problem_call *c)
{
    pkb_tensor *norm = &c->out[0], *others = &c->out[1 + OTHERS], *experts = &c->out[1 + EXPERTS];
    if (ep_size(c->setting) > 1)
        rt_binary_scalar(c->rt, RT_MUL, experts, experts, 1.0 / ep_size(c->setting));
    pkb_tensor *of_others = clip_square_sum(c, others), *of_experts = clip_square_sum(c, experts);
    rt_all_reduce(c->rt, c->world, RT_SUM, of_others, of_others);
    reduce_experts(c, of_experts);
    rt_binary(c->rt, RT_ADD, norm, of_others, of_experts);
    rt_unary(c->rt, RT_SQRT, norm, norm);
    pkb_tensor *coefficient = clip_coefficient(c, norm);
    rt_binary(c->rt, RT_MUL, others, others, coefficient);
    rt_binary(c->rt, RT_MUL, experts, experts, coefficient);
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    int size = ep_size(c->setting);
    bool exact = division_is_exact(c->setting);
    for (int i = 0; i < GRADIENTS; i++) {
        bool scaled = i == EXPERTS;
        struct clip_bound b = {
            .original = &c->in[i],
            .clipped = &c->out[1 + i],
            .norm = &c->out[0],
            .scale = scaled ? 1.0 / size : 1,
            .roundings = scaled ? 3.5 : 2.5,
            .kept = scaled && !exact ? 2 * dtype_roundoff(c->setting->dtype) : 0,
        };
        clip_bound(c, &b, tol[1 + i]);
    }
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    clip_check(s, output, check);
    if (output == 0 && !division_is_exact(s))
        check->rtol += 4 * dtype_roundoff(s->dtype) / sqrt(problem_real(s, "M") * problem_real(s, "N") * s->world);
}

/* Gradients stay in the cache between the two passes, and both sums travel together. */
static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double elements = problem_real(s, "M") * problem_real(s, "N");
    cost->flops = 7 * elements;
    cost->hbm_bytes = 4 * elements * kit_element(s);
    cost->link_bytes = 8.0 * (s->world - 1);
}

const struct problem problem_22 = {
    .id = 22,
    .name = "22_clip_grad_norm_ep",
    .family = "fsdp_zero",
    .origin = "gradient clipping of FSDP2 with expert parallelism in VeOmni and xorl",
    .summary = "Scale the experts' gradients by 1 / ep_size, compute the 2-norm of all gradients over a grid of ranks and, where "
               "it exceeds "
               "max_norm, scale all of them in place.",
    .source = "problems/fsdp_zero/22_clip_grad_norm_ep.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .bound = bound,
    .check = check,
    .cost = cost,
};
