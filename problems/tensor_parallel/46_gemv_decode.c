/* SPDX-License-Identifier: Apache-2.0 */
/* 46 gemv_decode: logits of a few tokens; the vocabulary is divided over the ranks, the logits are gathered along it.
 *
 * Parameters   tokens: rows. hidden: inner dimension. v_loc: vocabulary entries per rank; the vocabulary has W*v_loc.
 * Inputs       h (tokens, hidden) of T, the same on every rank; Wl (v_loc, hidden), bl (v_loc) of T, rows r*v_loc to
 *              (r+1)*v_loc - 1 of weights and bias.
 * Output       logits (tokens, W*v_loc) of T, the same on every rank:
 *                  z[t, j] = sum over k of h[t, k] * Wl[j, k], rounded to T; plus bl[j], rounded to T,
 *                  logits[t, q*v_loc + j] = z of rank q [t, j].
 *              With more than one token the gathered buffer (W, tokens, v_loc) is not the result.
 * One rank     logits = z.
 * Arithmetic   f32 accumulation (f64 for T = f64; true f32 for T = f32). A result may round product and bias once, together.
 * Check        Two correct results may fall to different sides of both roundings, and |product| <= |logit| + |bias|. With u the
 *              unit roundoff of T and e that of the accumulation, y within
 *                  |y - yc| <= 4 * u * |yc| + 2 * u * |bias| + 16 * hidden * e
 *              (the last term is far above the error of any order of additions of N(0,1) products, and far below that of narrower
 *              operands), and as a whole ||y - yc|| <= (2 * u + 4 * sqrt(hidden) * e) * ||yc||.
 * Inputs       N(0,1).
 */
#include <math.h>

#include "problems/axes.h"

static const struct problem_param params[] = {
    {"tokens", 1, 3, true, "rows"},
    {"hidden", 1024, 64, true, "inner dimension"},
    {"v_loc", 1024, 40, true, "vocabulary entries per rank"},
};

enum { HIDDEN, WEIGHT, BIAS };

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    return kit_require_least(s, "hidden", 1, err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t hidden = problem_int(s, "hidden"), v_loc = problem_int(s, "v_loc");
    kit_tensor(&t[HIDDEN], "h", s->dtype, RT_SHAPE(problem_int(s, "tokens"), hidden));
    kit_tensor(&t[WEIGHT], "Wl", s->dtype, RT_SHAPE(v_loc, hidden));
    kit_tensor(&t[BIAS], "bl", s->dtype, RT_SHAPE(v_loc));
    return 3;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "logits", s->dtype, RT_SHAPE(problem_int(s, "tokens"), s->world * problem_int(s, "v_loc")));
    return 1;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    struct problem_setting shared = kit_as_rank(s, 0);
    kit_fill_normal(&shared, set, HIDDEN);
    kit_fill_normal(s, set, WEIGHT);
    kit_fill_normal(s, set, BIAS);
}

static void reference(const struct problem_call *c)
{
    pkb_tensor *z = rt_new(c->rt, c->setting->dtype, RT_SHAPE(c->in[HIDDEN].shape[0], c->in[WEIGHT].shape[0]));
    rt_matmul(c->rt, z, &c->in[HIDDEN], false, &c->in[WEIGHT], true);
    rt_binary(c->rt, RT_ADD, z, z, &c->in[BIAS]);
    axes_all_gather(c->rt, c->world, &c->out[0], z, 1);
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    const struct problem_setting *s = c->setting;
    double roundoff = dtype_roundoff(s->dtype);
    pkb_tensor *bias = rt_new(c->rt, s->dtype, RT_SHAPE(c->out[0].shape[1]));
    rt_all_gather(c->rt, c->world, bias, &c->in[BIAS]);
    rt_unary(c->rt, RT_ABS, bias, bias);
    rt_unary(c->rt, RT_ABS, tol[0], &c->out[0]);
    rt_binary_scalar(c->rt, RT_MUL, tol[0], tol[0], 2);
    rt_binary(c->rt, RT_ADD, tol[0], tol[0], bias);
    rt_binary_scalar(c->rt, RT_MUL, tol[0], tol[0], 2 * roundoff);
    rt_binary_scalar(c->rt, RT_ADD, tol[0], tol[0], 16 * problem_real(s, "hidden") * kit_accumulate_roundoff(s));
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    *check = (struct problem_check){.kind = CHECK_BOUND};
    check->frobenius = 2 * dtype_roundoff(s->dtype) + 4 * sqrt(problem_real(s, "hidden")) * kit_accumulate_roundoff(s);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double tokens = problem_real(s, "tokens"), hidden = problem_real(s, "hidden"), v_loc = problem_real(s, "v_loc");
    double size = kit_element(s);
    cost->flops = 2 * tokens * hidden * v_loc + tokens * v_loc;
    cost->hbm_bytes = size * (v_loc * hidden + tokens * hidden + v_loc + tokens * v_loc * s->world);
    cost->link_bytes = size * tokens * v_loc * (s->world - 1.0);
}

const struct problem problem_46 = {
    .id = 46,
    .name = "46_gemv_decode",
    .family = "tensor_parallel",
    .origin = "vocabulary-parallel output layer when decoding, as in vLLM, TensorRT-LLM and Megatron-LM",
    .summary =
        "Multiply the hidden states of a few tokens by the local slice of the vocabulary's weights, add the bias and gather the "
        "logits along the vocabulary on every rank.",
    .source = "problems/tensor_parallel/46_gemv_decode.c",
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
