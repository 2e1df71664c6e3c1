/* SPDX-License-Identifier: Apache-2.0 */
/* 58 openclip_contrastive_loss: each rank scores its images against the texts of all ranks, which travel around a ring in both
 * directions, and returns its own sigmoid contrastive loss.
 *
 * Parameters   M: images (and texts) over all ranks; each rank has B = max(1, floor(M / W)), a remainder is not used.
 *              D: width of a feature. scale, bias: of the logits, the same on all ranks; they change with the inputs.
 * Inputs       image_features, text_features (B, D) of T, different on every rank; call them I_r and X_r.
 * Output       loss, one f32 number (for every T), different on every rank. With the logits of the texts of rank p
 *                  L(p)[i, j] = scale * <I_r[i], X_p[j]> + bias          and          sp(x) = log(1 + exp(x)),
 *                  loss = ( sum over p, i, j of sp(L(p)[i, j]) - sum over i of L(r)[i, i] ) / B:
 *              matching pairs, the diagonal of the own block, are positives, all others negatives.
 * One rank     the own block alone.
 * Ring         floor((W-1)/2) exchanges with both neighbours: a rank passes on to the left what it last got from the right (its own
 *              texts at first) and to the right what it last got from the left. If W is even, one more exchange to the right
 *              brings the texts of the opposite rank. Every block is used once.
 * Arithmetic   T is read; everything is f32, the sums of a block f64.
 * Check        relative error 1e-4, for bf16 and f16 1e-3.
 * Inputs       With independent unit vectors the loss is nearly a constant, so one direction m, common to all ranks, is mixed in: a
 *              row is g + a*sqrt(D)*m, normalised, with a in (-1, 1) drawn per rank and kind; block means then depend on the
 *              pair of ranks, and a missing or repeated block shows. scale is uniform in (5, 15), bias in (-4, 0). The pkb
 *              profile has independent rows, scale 10 and bias -10.
 */
#include <math.h>

#include "problems/kit.h"

static const struct problem_param params[] = {
    {"M", 1024, 64, true, "images over all ranks"},
    {"D", 1024, 32, true, "width of a feature"},
    {"scale", 10, 10, false, "scale of the logits"},
    {"bias", -10, -10, false, "bias of the logits"},
};

enum { PARAM_M, PARAM_D, PARAM_SCALE, PARAM_BIAS };
enum { IMAGES, TEXTS };

/* Streams of random numbers apart from the features. */
enum { STREAM_SCALARS = KIT_STREAM, STREAM_DIRECTION, STREAM_MIX };

static int64_t rows_per_rank(const struct problem_setting *s)
{
    int64_t rows = problem_int(s, "M") / s->world;
    return rows > 1 ? rows : 1;
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (kit_require_least(s, "M", 1, err) < 0)
        return -1;
    return kit_require_least(s, "D", 1, err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t rows = rows_per_rank(s), width = problem_int(s, "D");
    kit_tensor(&t[IMAGES], "image_features", s->dtype, RT_SHAPE(rows, width));
    kit_tensor(&t[TEXTS], "text_features", s->dtype, RT_SHAPE(rows, width));
    return 2;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    (void)s;
    kit_tensor(&t[0], "loss", PKB_F32, RT_SCALAR);
    return 1;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

/* Rows of a feature matrix before they are normalised. */
struct features {
    struct rng own, direction;
    size_t width;
    double mix;  /* of the common direction, which has length about sqrt(D) as drawn */
    double norm; /* of the row `norm_row` */
    size_t norm_row;
};

static double raw_value(const struct features *f, size_t i)
{
    double common = f->mix != 0 ? f->mix * rng_normal(&f->direction, i % f->width) : 0;
    return rng_normal(&f->own, i) + common;
}

static double row_norm(const struct features *f, size_t row)
{
    double sum = 0;
    for (size_t j = 0; j < f->width; j++) {
        double value = raw_value(f, row * f->width + j);
        sum += value * value;
    }
    return fmax(sqrt(sum), 1e-12);
}

/* Elements come in order, so a row's norm is computed once. */
static double feature_value(const void *arg, size_t i)
{
    struct features *f = *(struct features *const *)arg;
    size_t row = i / f->width;
    if (f->norm == 0 || row != f->norm_row) {
        f->norm = row_norm(f, row);
        f->norm_row = row;
    }
    return raw_value(f, i) / f->norm;
}

static void init_features(const struct problem_setting *s, struct problem_inputs *set, int tensor)
{
    struct rng mix = problem_rng(s, set, STREAM_MIX);
    struct features f = {
        .own = problem_rng(s, set, (uint32_t)tensor),
        .direction = problem_rng_shared(s, set, STREAM_DIRECTION),
        .width = (size_t)problem_int(s, "D"),
    };
    if (s->inputs == PROFILE_HARDENED) {
        struct features direction = {.own = f.direction, .width = f.width};
        f.mix = (2 * rng_uniform(&mix, (uint64_t)tensor) - 1) * sqrt((double)f.width) / row_norm(&direction, 0);
    }
    struct features *arg = &f;
    kit_fill_with(&set->in[tensor], feature_value, &arg);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    init_features(s, set, IMAGES);
    init_features(s, set, TEXTS);
    if (s->inputs == PROFILE_HARDENED) {
        struct rng r = problem_rng_shared(s, set, STREAM_SCALARS);
        set->params[PARAM_SCALE] = 5 + 10 * rng_uniform(&r, 0);
        set->params[PARAM_BIAS] = -4 * rng_uniform(&r, 1);
    }
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

static pkb_tensor *logits(const struct problem_call *c, const pkb_tensor *texts)
{
    int64_t rows = c->in[IMAGES].shape[0];
    pkb_tensor *l = rt_new(c->rt, PKB_F32, RT_SHAPE(rows, rows));
    rt_matmul(c->rt, l, &c->in[IMAGES], false, texts, true);
    rt_binary_scalar(c->rt, RT_MUL, l, l, problem_call_real(c, "scale"));
    rt_binary_scalar(c->rt, RT_ADD, l, l, problem_call_real(c, "bias"));
    return l;
}

/* Adds the sum of sp(L) of a block to the loss. */
static void add_negatives(const struct problem_call *c, pkb_tensor *loss, const pkb_tensor *l)
{
    pkb_tensor *terms = rt_new_like(c->rt, PKB_F64, l);
    pkb_tensor *sum = rt_new(c->rt, PKB_F64, RT_SCALAR);
    rt_unary(c->rt, RT_SOFTPLUS, terms, l);
    rt_reduce_axis(c->rt, RT_SUM, sum, terms, RT_ALL_AXES);
    rt_binary(c->rt, RT_ADD, loss, loss, sum);
}

/* The own block: all pairs as negatives, then sp(-x) = sp(x) - x on the diagonal. */
static pkb_tensor *own_block(const struct problem_call *c)
{
    pkb_tensor *l = logits(c, &c->in[TEXTS]);
    int64_t rows = c->in[TEXTS].shape[0];
    pkb_tensor *diagonal = rt_new(c->rt, PKB_F32, RT_SHAPE(rows));
    pkb_tensor *positives = rt_new(c->rt, PKB_F64, RT_SHAPE(rows));
    pkb_tensor *sum = rt_new(c->rt, PKB_F64, RT_SCALAR);
    pkb_tensor *loss = rt_new(c->rt, PKB_F64, RT_SCALAR);
    rt_fill(c->rt, loss, 0);
    add_negatives(c, loss, l);
    rt_diagonal(c->rt, diagonal, l);
    rt_copy(c->rt, positives, diagonal);
    rt_reduce_axis(c->rt, RT_SUM, sum, positives, RT_ALL_AXES);
    rt_binary(c->rt, RT_SUB, loss, loss, sum);
    return loss;
}

/* One exchange with both neighbours: what came from the right goes on to the left, and the other way round. */
static void exchange_both(const struct problem_call *c, const pkb_tensor **from_left, const pkb_tensor **from_right)
{
    const struct rt_group *g = c->world;
    int left = kit_peer(g->rank, -1, g->size), right = kit_peer(g->rank, 1, g->size);
    int dtype = c->in[TEXTS].dtype;
    pkb_tensor *new_left = rt_new_like(c->rt, dtype, *from_left);
    pkb_tensor *new_right = rt_new_like(c->rt, dtype, *from_right);
    rt_p2p_begin(c->rt);
    rt_send(c->rt, g, *from_right, left);
    rt_send(c->rt, g, *from_left, right);
    rt_recv(c->rt, g, new_right, right);
    rt_recv(c->rt, g, new_left, left);
    rt_p2p_end(c->rt);
    *from_left = new_left;
    *from_right = new_right;
}

static void reference(const struct problem_call *c)
{
    int world = c->world->size;
    const pkb_tensor *from_left = &c->in[TEXTS], *from_right = &c->in[TEXTS];
    pkb_tensor *loss = own_block(c);
    for (int k = 1; k <= (world - 1) / 2; k++) {
        exchange_both(c, &from_left, &from_right);
        add_negatives(c, loss, logits(c, from_right));
        add_negatives(c, loss, logits(c, from_left));
    }
    if (world % 2 == 0)
        add_negatives(c, loss, logits(c, kit_pass_right(c->rt, c->world, from_left)));
    rt_binary_scalar(c->rt, RT_DIV, loss, loss, (double)c->in[IMAGES].shape[0]);
    rt_copy(c->rt, &c->out[0], loss);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    *check = (struct problem_check){.kind = CHECK_CLOSE, .rtol = kit_is_narrow(s) ? 1e-3 : 1e-4};
}

/* The result is one number of f32. */
static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double rows = (double)rows_per_rank(s), width = problem_real(s, "D"), size = kit_element(s);
    cost->flops = 2 * rows * rows * width * s->world + 10 * rows * rows * s->world;
    cost->hbm_bytes = 2 * rows * width * size + 4;
    cost->link_bytes = (s->world - 1.0) * rows * width * size;
}

const struct problem problem_58 = {
    .id = 58,
    .name = "58_openclip_contrastive_loss",
    .family = "data_parallel",
    .origin = "OpenCLIP: the pairwise sigmoid loss of SigLIP with a bidirectional exchange of text features between neighbours",
    .summary =
        "Score the own images against the texts of every rank, which travel around a ring in both directions, and return the "
        "own sigmoid contrastive loss.",
    .source = "problems/data_parallel/58_openclip_contrastive_loss.c",
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
