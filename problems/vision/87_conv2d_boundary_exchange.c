/* SPDX-License-Identifier: Apache-2.0 */
/* 87 conv2d_boundary_exchange: 2-D convolution of an image that is cut into horizontal slabs, one per rank; the rows at the
 * borders come from the neighbours.
 *
 * Parameters   B: batch. C: channels of input and output. H: rows that half of the ranks have together (the published program
 *              runs two images on half of the ranks each); a slab has h = max(k, floor(H / max(1, floor(W / 2)))) rows. w:
 *              columns. padding: zeros around the whole image, and rows that a slab needs of its neighbours; the kernel is k =
 *              2*padding + 1 wide. stride.
 * Inputs       x (B, C, h, w) of T, different on every rank; weight (C, C, k, k), bias (C) of T, the rank's own (a rank uses its
 *              own where they differ).
 * Output       y (B, C, ho, wo) of T, different on every rank; ho = floor((h - 1) / stride) + 1, wo likewise. The slab gets the
 *              last `padding` rows of rank r-1 on top and the first ones of rank r+1 at the bottom, zeros on the first and the
 *              last rank (no wrap-around), and zeros left and right; then
 *                  y[b, o, i, j] = bias[o] + sum over c, e, f of slab[b, c, i*stride + e, j*stride + f] * weight[o, c, e, f],
 *              rounded once to T. The kernel is not flipped.
 * One rank     the usual convolution with zero padding.
 * Arithmetic   f32 accumulation (f64 for T = f64; true f32 for T = f32). A result may round before the bias is added.
 * Check        relative to the root mean square of the reference's whole result, yc: with u the unit roundoff of T and e that of
 *              the accumulation,
 *                  |y - yc| <= (3 * u + 168 * e) * rms + 2 * u * |yc|,     ||y - yc|| <= (1.5 * u + 168 * e) * ||yc||
 *              (168 e is 1e-5 but for f64). The first finds a single wrong border row.
 * Inputs       x is N(0,1), weight N(0, 1/(k^2 C)), bias N(0,1). Weight and bias are the same on all ranks, but for every third
 *              trial. The pkb profile has N(0,1), all of it different on every rank.
 */
#include <math.h>

#include "problems/convolution.h"

static const struct problem_param params[] = {
    {"B", 1, 2, true, "batch"},
    {"C", 1280, 8, true, "channels"},
    {"H", 128, 10, true, "rows that half of the ranks have together"},
    {"w", 128, 7, true, "columns"},
    {"stride", 1, 1, true, "stride"},
    {"padding", 1, 1, true, "zeros, and rows of neighbours"},
};

enum { X, WEIGHT, BIAS };

static int64_t kernel_size(const struct problem_setting *s)
{
    return 2 * problem_int(s, "padding") + 1;
}

static int64_t slab_height(const struct problem_setting *s)
{
    int64_t rows = problem_int(s, "H") / (s->world >= 4 ? s->world / 2 : 1), kernel = kernel_size(s);
    return rows > kernel ? rows : kernel;
}

/* The padding makes the output as large as the input, before the stride. */
static int64_t output_size(const struct problem_setting *s, int64_t size)
{
    return convolution_size(size, kernel_size(s), problem_int(s, "stride"), problem_int(s, "padding"), 1);
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (kit_require_least(s, "stride", 1, err) < 0)
        return -1;
    return kit_require_least(s, "w", 1, err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t channels = problem_int(s, "C"), k = kernel_size(s);
    kit_tensor(&t[X], "x", s->dtype, RT_SHAPE(problem_int(s, "B"), channels, slab_height(s), problem_int(s, "w")));
    kit_tensor(&t[WEIGHT], "weight", s->dtype, RT_SHAPE(channels, channels, k, k));
    kit_tensor(&t[BIAS], "bias", s->dtype, RT_SHAPE(channels));
    return 3;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t rows = output_size(s, slab_height(s)), columns = output_size(s, problem_int(s, "w"));
    kit_tensor(&t[0], "y", s->dtype, RT_SHAPE(problem_int(s, "B"), problem_int(s, "C"), rows, columns));
    return 1;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    struct problem_setting owner = set->trial % 3 == 2 ? *s : kit_as_rank(s, 0);
    kit_fill_normal(s, set, X);
    if (s->inputs == PROFILE_PKB) {
        kit_fill_normal(s, set, WEIGHT);
        kit_fill_normal(s, set, BIAS);
        return;
    }
    kit_fill_scaled_normal(&owner, set, WEIGHT, 1 / ((double)kernel_size(s) * sqrt(problem_real(s, "C"))));
    kit_fill_normal(&owner, set, BIAS);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* Rows of a slab, (B, C, count, w). */
static pkb_tensor *slab_rows(const struct problem_call *c, int64_t first, int64_t count)
{
    const pkb_tensor *x = &c->in[X];
    pkb_tensor *rows = rt_new(c->rt, x->dtype, RT_SHAPE(x->shape[0], x->shape[1], count, x->shape[3]));
    rt_slice(c->rt, rows, x, 2, first);
    return rows;
}

/* The first (0) or last (1) rows of a rank's slab out of those of all ranks; zeros for a rank that does not exist. */
static pkb_tensor *border_of(const struct problem_call *c, const pkb_tensor *borders, int rank, int which, int64_t count)
{
    const pkb_tensor *x = &c->in[X];
    if (rank >= 0 && rank < c->world->size)
        return rt_entry(c->rt, rt_entry(c->rt, borders, rank), which);
    pkb_tensor *zeros = rt_new(c->rt, x->dtype, RT_SHAPE(x->shape[0], x->shape[1], count, x->shape[3]));
    rt_fill(c->rt, zeros, 0);
    return zeros;
}

/* The slab with `count` rows of the neighbours on either side. */
static pkb_tensor *extended_slab(const struct problem_call *c, int64_t count)
{
    const pkb_tensor *x = &c->in[X];
    int64_t batch = x->shape[0], channels = x->shape[1], rows = x->shape[2], columns = x->shape[3];
    pkb_tensor *own = rt_new(c->rt, x->dtype, RT_SHAPE(2, batch, channels, count, columns));
    pkb_tensor *all = rt_new(c->rt, x->dtype, RT_SHAPE(c->world->size, 2, batch, channels, count, columns));
    pkb_tensor *slab = rt_new(c->rt, x->dtype, RT_SHAPE(batch, channels, rows + 2 * count, columns));
    rt_copy(c->rt, rt_entry(c->rt, own, 0), slab_rows(c, 0, count));
    rt_copy(c->rt, rt_entry(c->rt, own, 1), slab_rows(c, rows - count, count));
    rt_all_gather(c->rt, c->world, all, own);
    const pkb_tensor *above = border_of(c, all, c->world->rank - 1, 1, count);
    const pkb_tensor *below = border_of(c, all, c->world->rank + 1, 0, count);
    rt_concat(c->rt, slab, 3, (const pkb_tensor *const[]){above, x, below}, 2);
    return slab;
}

static void reference(const struct problem_call *c)
{
    int64_t padding = problem_call_int(c, "padding"), stride = problem_call_int(c, "stride"), k = 2 * padding + 1;
    struct rt_window window = {.kernel = {k, k}, .stride = {stride, stride}, .pad = {padding, padding}, .dilation = {1, 1}};
    const pkb_tensor *slab = &c->in[X];
    if (c->world->size > 1 && padding > 0) {
        slab = extended_slab(c, padding);
        window.pad[0] = 0;
    }
    pkb_tensor *products = rt_new_like(c->rt, kit_accumulate_dtype(c->setting), &c->out[0]);
    convolution(c, products, slab, &c->in[WEIGHT], &window);
    convolution_add_bias(c, &c->out[0], products, &c->in[BIAS]);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    double u = dtype_roundoff(s->dtype), order = 168 * kit_accumulate_roundoff(s);
    *check = (struct problem_check){
        .kind = CHECK_ROWS,
        .rtol = 2 * u,
        .row_max = 3 * u + order,
        .row_rms = 1.5 * u + order,
    };
}

/* Ranks above and below. */
static int neighbours(const struct problem_setting *s)
{
    return (s->rank > 0) + (s->rank < s->world - 1);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double b = problem_real(s, "B"), channels = problem_real(s, "C"), k = (double)kernel_size(s), size = kit_element(s);
    double h = (double)slab_height(s), w = problem_real(s, "w"), border = b * channels * problem_real(s, "padding") * w;
    double result = b * channels * (double)(output_size(s, slab_height(s)) * output_size(s, problem_int(s, "w")));
    cost->flops = 2 * result * channels * k * k;
    cost->hbm_bytes = size * (b * channels * h * w + channels * channels * k * k + channels + result + 2 * border);
    cost->link_bytes = size * border * neighbours(s);
}

const struct problem problem_87 = {
    .id = 87,
    .name = "87_conv2d_boundary_exchange",
    .family = "vision",
    .origin = "DistriFusion: convolutions of diffusion models on slabs of an image, with an exchange of border rows",
    .summary =
        "2-D convolution of an image cut into horizontal slabs over the ranks, with border rows from the neighbours and zeros "
        "around the whole.",
    .source = "problems/vision/87_conv2d_boundary_exchange.c",
    .worlds = "any",
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
