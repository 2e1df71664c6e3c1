/* SPDX-License-Identifier: Apache-2.0 */
/* 76 opensora_conv3d_allreduce: 3-D convolution with the input channels divided over the ranks; the partial results are summed
 * over the ranks, then the bias is added.
 *
 * Parameters   B: batch. O: output channels; also the channels of the whole input, of which each rank has I = floor(O / W) (a
 *              remainder is on no rank). D, Hh, Ww: frames, rows, columns of the input. k: kernel size. stride, padding,
 *              dilation: the same for all three axes. Output sizes Do, Ho, Wo: floor((size + 2*padding - dilation*(k-1) - 1) /
 *              stride) + 1.
 * Inputs       x (B, I, D, Hh, Ww), w (O, I, k, k, k) of T, different on every rank; bias (O) of T, the same on every rank.
 * Output       y (B, O, Do, Ho, Wo) of T, the same on every rank: the partial convolution of the rank (the kernel is not
 *              flipped, zero outside of x), rounded to T; its sum over the ranks, rounded to T; plus bias[o], once, rounded to T.
 * One rank     y = convolution rounded to T, plus bias.
 * Arithmetic   f32 accumulation (f64 for T = f64; true f32 for T = f32). A result may sum the ranks' partial results in any
 *              order, with or without rounding in between.
 * Check        relative to the root mean square of the reference's whole result, yc: with u the unit roundoff of T and e that of
 *              the accumulation,
 *                  |y - yc| <= 12.8 * u * rms + 2 * u * |yc| + 1700 * e * rms     (bf16: 0.05 rms + ..., f32: 1e-4 rms + ...)
 *                  ||y - yc|| <= (2.56 * u + 170 * e) * ||yc||                     (bf16: 0.01, f32: 1e-5)
 * Inputs       x is N(0,1), w N(0, 1/(k^3 O)), so that the sum is N(0,1); bias is N(0,1), so that its loss or repetition shows.
 *              The pkb profile has w of N(0,1) and bias[o] = -0.1 + 0.2 o/(O-1).
 */
#include <math.h>

#include "problems/convolution.h"

static const struct problem_param params[] = {
    {"B", 1, 2, true, "batch"},
    {"O", 512, 16, true, "output channels, and input channels over all ranks"},
    {"D", 19, 4, true, "frames of the input"},
    {"Hh", 66, 6, true, "rows of the input"},
    {"Ww", 66, 5, true, "columns of the input"},
    {"k", 3, 3, true, "kernel size"},
    {"stride", 1, 1, true, "stride"},
    {"padding", 0, 0, true, "zeros on either side"},
    {"dilation", 1, 1, true, "distance between the kernel's taps"},
};

enum { X, WEIGHT, BIAS };

static int64_t output_size(const struct problem_setting *s, const char *input)
{
    return convolution_size(problem_int(s, input), problem_int(s, "k"), problem_int(s, "stride"), problem_int(s, "padding"),
                            problem_int(s, "dilation"));
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (problem_int(s, "O") < s->world)
        return pkb_error_set(err, "O = %lld is less than the %d ranks", (long long)problem_int(s, "O"), s->world);
    if (kit_require_least(s, "k", 1, err) < 0 || kit_require_least(s, "stride", 1, err) < 0)
        return -1;
    return kit_require_least(s, "dilation", 1, err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t o = problem_int(s, "O"), i = o / s->world, k = problem_int(s, "k");
    kit_tensor(&t[X], "x", s->dtype,
               RT_SHAPE(problem_int(s, "B"), i, problem_int(s, "D"), problem_int(s, "Hh"), problem_int(s, "Ww")));
    kit_tensor(&t[WEIGHT], "w", s->dtype, RT_SHAPE(o, i, k, k, k));
    kit_tensor(&t[BIAS], "bias", s->dtype, RT_SHAPE(o));
    return 3;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(
        &t[0], "y", s->dtype,
        RT_SHAPE(problem_int(s, "B"), problem_int(s, "O"), output_size(s, "D"), output_size(s, "Hh"), output_size(s, "Ww")));
    return 1;
}

static double ramp(const void *arg, size_t i)
{
    double channels = *(const double *)arg;
    return channels > 1 ? -0.1 + 0.2 * (double)i / (channels - 1) : -0.1;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    struct problem_setting shared = kit_as_rank(s, 0);
    double channels = problem_real(s, "O");
    kit_fill_normal(s, set, X);
    if (s->inputs == PROFILE_PKB) {
        kit_fill_normal(s, set, WEIGHT);
        kit_fill_with(&set->in[BIAS], ramp, &channels);
        return;
    }
    kit_fill_scaled_normal(s, set, WEIGHT, 1 / sqrt(pow(problem_real(s, "k"), 3) * channels));
    kit_fill_normal(&shared, set, BIAS);
}

static struct rt_window window_of(const struct problem_call *c)
{
    struct rt_window w;
    for (int i = 0; i < 3; i++) {
        w.kernel[i] = problem_call_int(c, "k");
        w.stride[i] = problem_call_int(c, "stride");
        w.pad[i] = problem_call_int(c, "padding");
        w.dilation[i] = problem_call_int(c, "dilation");
    }
    return w;
}

static void reference(const struct problem_call *c)
{
    struct rt_window window = window_of(c);
    pkb_tensor *sum = rt_new_like(c->rt, c->setting->dtype, &c->out[0]);
    convolution(c, sum, &c->in[X], &c->in[WEIGHT], &window);
    rt_all_reduce(c->rt, c->world, RT_SUM, sum, sum);
    convolution_add_bias(c, &c->out[0], sum, &c->in[BIAS]);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    double narrow = kit_is_narrow(s) ? dtype_roundoff(s->dtype) : 0, e = kit_accumulate_roundoff(s);
    *check = (struct problem_check){
        .kind = CHECK_ROWS,
        .rtol = 2 * dtype_roundoff(s->dtype),
        .row_max = 12.8 * narrow + 1700 * e,
        .row_rms = 2.56 * narrow + 170 * e,
    };
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double b = problem_real(s, "B"), o = problem_real(s, "O"), i = (double)(problem_int(s, "O") / s->world);
    double taps = pow(problem_real(s, "k"), 3), others = (s->world - 1.0) / s->world, size = kit_element(s);
    double from = problem_real(s, "D") * problem_real(s, "Hh") * problem_real(s, "Ww");
    double to = (double)(output_size(s, "D") * output_size(s, "Hh") * output_size(s, "Ww"));
    double result = b * o * to;
    cost->flops = 2 * result * i * taps + result;
    cost->hbm_bytes = size * (b * i * from + o * i * taps + o + result) + (s->world > 1 ? 2 * size * result : 0);
    cost->link_bytes = 2 * size * result * others;
}

const struct problem problem_76 = {
    .id = 76,
    .name = "76_opensora_conv3d_allreduce",
    .family = "tensor_parallel",
    .origin = "video autoencoder of Open-Sora 2.0: 3-D convolutions that are parallel over channels",
    .summary =
        "3-D convolution with the input channels divided over the ranks: partial results are summed by an all-reduce, then the "
        "bias is added.",
    .source = "problems/tensor_parallel/76_opensora_conv3d_allreduce.c",
    .worlds = "W <= O",
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
