/* SPDX-License-Identifier: Apache-2.0 */
/* 81 sam3_allgather_iou_suppression: gather the masks and scores of the objects that every rank tracks, and blank those of objects that
 * overlap one that was occluded less recently.
 *
 * Parameters   c0: smallest number of objects of a rank; rank i has c0 + (i + trial) mod 3. Hh, Ww: size of a mask. iou_threshold:
 *              overlap from which on objects exclude each other. reverse: 1: the other one of the two is blanked. trial: 0, 1, ..., the
 *              number of the inputs.
 * Inputs       masks (n_r, Hh, Ww) and scores (n_r) of T, different on every rank; counts (W) of i64, read on the host: n_0, n_1, ...;
 *              last_occ (N) of i64, N the sum of counts: when each object, in the order of ranks, was last occluded, -1: never. The
 *              last two are the same on every rank. The forms have room for the most.
 * Outputs      all the same on every rank: masks_all (n_objects, Hh, Ww) of f32, scores_all (n_objects) of f32, suppressed (n_objects) of
 *              bool; n_objects = N. With b[g, p] = masks[g, p] > 0 of all objects g, area their sums, inter[g, h] those of b[g] b[h]:
 *                  iou[g, h] = inter[g, h] / max(area[g] + area[h] - inter[g, h], 1)        in f32,
 *              objects g != h overlap where iou >= iou_threshold (as f32), and g is suppressed where it overlaps an h with
 *              last_occ[h] > -1 and last_occ[g] > last_occ[h] (reverse: last_occ[g] < last_occ[h]). All are judged at once. masks_all is
 *              the gathered masks, -10 for suppressed objects; scores_all the gathered scores.
 * One rank     the same with its own objects.
 * Arithmetic   exact, but for one rounding of the quotient.
 * Check        exact.
 * Inputs       object g belongs to cluster g mod ceil(N / 2), whose members are a common N(0,1) mask plus sigma N(0,1), sigma = 0.1 in
 *              clusters with an even number (overlap about 0.9) and 0.6 in others (about 0.6); one of 32 elements is exactly 0, and
 *              from 4 objects on the last mask is negative everywhere. last_occ is uniform in -1..3, but 0 and 2 for the two members of
 *              cluster 0. Scores are uniform in (-5, 5). In sets whose number is 3 mod 4 the last of several ranks has no object. pkb
 *              profile: masks N(0,1) + 4 [(y + x + i + r) mod 5 = 0] - 1, each step rounded to T; scores from -5 to 5 evenly;
 *              last_occ = g mod 5 - 1.
 * Ideal cost   for trial 0.
 */
#include <math.h>

#include "problems/rows.h"

enum { PARAM_C0, PARAM_HH, PARAM_WW, PARAM_THRESHOLD, PARAM_REVERSE, PARAM_TRIAL };

static const struct problem_param params[] = {
    [PARAM_C0] = {"c0", 1, 2, true, "smallest number of objects of a rank"},
    [PARAM_HH] = {"Hh", 256, 16, true, "rows of a mask"},
    [PARAM_WW] = {"Ww", 256, 12, true, "columns of a mask"},
    [PARAM_THRESHOLD] = {"iou_threshold", 0.7, 0.7, false, "overlap from which on objects exclude each other"},
    [PARAM_REVERSE] = {"reverse", 0, 0, true, "1: of two objects the other one is blanked"},
    [PARAM_TRIAL] = {"trial", 0, 0, true, "number of the inputs"},
};

enum { MASKS, SCORES, COUNTS, LAST_OCC };
enum { MASKS_ALL, SCORES_ALL, SUPPRESSED, N_OBJECTS };

/* Streams of random numbers apart from the tensors. */
enum { STREAM_BASES = KIT_STREAM, STREAM_ZEROS };

#define BLANK (-10.0)

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    double threshold = problem_real(s, "iou_threshold");
    if (kit_require_least(s, "c0", 1, err) < 0)
        return -1;
    if (!(threshold > 0 && threshold <= 1))
        return pkb_error_set(err, "iou_threshold = %g is not between 0 and 1", threshold);
    if (problem_int(s, "reverse") > 1)
        return pkb_error_set(err, "reverse must be 0 or 1");
    return 0;
}

static int64_t objects(const struct problem_setting *s, uint32_t trial, int rank)
{
    bool none = s->inputs == PROFILE_HARDENED && trial % 4 == 3 && s->world > 1 && rank == s->world - 1;
    return none ? 0 : problem_int(s, "c0") + (rank + (int64_t)trial) % 3;
}

static int64_t most_objects(const struct problem_setting *s)
{
    return problem_int(s, "c0") + 2;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t most = most_objects(s);
    kit_tensor(&t[MASKS], "masks", s->dtype, RT_SHAPE(most, problem_int(s, "Hh"), problem_int(s, "Ww")));
    kit_tensor(&t[SCORES], "scores", s->dtype, RT_SHAPE(most));
    kit_tensor(&t[COUNTS], "counts", PKB_I64, RT_SHAPE(s->world));
    kit_tensor(&t[LAST_OCC], "last_occ", PKB_I64, RT_SHAPE(s->world * most));
    kit_partial_rows(&t[MASKS]);
    kit_partial_rows(&t[SCORES]);
    kit_partial_rows(&t[LAST_OCC]);
    kit_host(&t[COUNTS]);
    return 4;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t most = s->world * most_objects(s);
    kit_tensor(&t[MASKS_ALL], "masks_all", PKB_F32, RT_SHAPE(most, problem_int(s, "Hh"), problem_int(s, "Ww")));
    kit_tensor(&t[SCORES_ALL], "scores_all", PKB_F32, RT_SHAPE(most));
    kit_tensor(&t[SUPPRESSED], "suppressed", PKB_BOOL, RT_SHAPE(most));
    kit_tensor(&t[N_OBJECTS], "n_objects", PKB_I64, RT_SCALAR);
    for (int k = MASKS_ALL; k <= SUPPRESSED; k++)
        kit_counted_rows(&t[k], N_OBJECTS);
    return 4;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

/* The objects of a rank. */
struct tracked {
    struct rng noise, bases, zeros;
    int dtype, rank;
    int64_t first, own, all; /* number of the first one; of how many, of all */
    size_t width, pixels;
};

static int64_t clusters(const struct tracked *t)
{
    return (t->all + 1) / 2;
}

static double clustered_mask(const void *arg, size_t i)
{
    const struct tracked *t = arg;
    int64_t object = t->first + (int64_t)(i / t->pixels), cluster = object % clusters(t);
    double base = rng_normal(&t->bases, (uint64_t)cluster * t->pixels + i % t->pixels);
    double value = base + (cluster % 2 == 0 ? 0.1 : 0.6) * rng_normal(&t->noise, i);
    if (rng_integer(&t->zeros, i, 0, 32) == 0)
        return 0;
    return t->all >= 4 && object == t->all - 1 ? -fabs(value) : value;
}

static double published_mask(const void *arg, size_t i)
{
    const struct tracked *t = arg;
    size_t x = i % t->width, y = i % t->pixels / t->width, place = y + x + i / t->pixels + (size_t)t->rank;
    double value = kit_rounded(t->dtype, rng_normal(&t->noise, i));
    return kit_rounded(t->dtype, value + (place % 5 == 0 ? 4 : 0)) - 1;
}

static double published_score(const void *arg, size_t i)
{
    const struct tracked *t = arg;
    return t->own > 1 ? -5 + 10 * (double)i / (double)(t->own - 1) : -5;
}

static double published_occlusion(const void *arg, size_t i)
{
    (void)arg;
    return (double)(i % 5) - 1;
}

struct occlusions {
    struct rng rng;
    int64_t second; /* the other member of cluster 0 */
};

static double random_occlusion(const void *arg, size_t i)
{
    const struct occlusions *o = arg;
    if (i == 0)
        return 0;
    return (int64_t)i == o->second ? 2 : (double)rng_integer(&o->rng, i, -1, 4);
}

static void fill_published(struct problem_inputs *set, const struct tracked *t)
{
    kit_fill_with(&set->in[MASKS], published_mask, t);
    kit_fill_with(&set->in[SCORES], published_score, t);
    kit_fill_with(&set->in[LAST_OCC], published_occlusion, NULL);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    int64_t *counts = set->in[COUNTS].data;
    struct tracked t = {
        .noise = problem_rng(s, set, MASKS),
        .bases = problem_rng_shared(s, set, STREAM_BASES),
        .zeros = problem_rng(s, set, STREAM_ZEROS),
        .dtype = s->dtype,
        .rank = s->rank,
        .own = objects(s, set->trial, s->rank),
        .width = (size_t)problem_int(s, "Ww"),
        .pixels = (size_t)(problem_int(s, "Hh") * problem_int(s, "Ww")),
    };
    for (int q = 0; q < s->world; q++) {
        counts[q] = objects(s, set->trial, q);
        t.first += q < s->rank ? counts[q] : 0;
        t.all += counts[q];
    }
    set->params[PARAM_TRIAL] = set->trial;
    struct occlusions o = {problem_rng_shared(s, set, LAST_OCC), clusters(&t)};
    if (s->inputs == PROFILE_PKB) {
        fill_published(set, &t);
        return;
    }
    kit_fill_with(&set->in[MASKS], clustered_mask, &t);
    kit_fill_uniform(s, set, SCORES, -5, 5);
    kit_fill_with(&set->in[LAST_OCC], random_occlusion, &o);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* 1 where the masks (N, pixels) of two objects overlap: (N, N). */
static pkb_tensor *overlaps(const struct problem_call *c, const pkb_tensor *masks, int64_t n)
{
    pkb_tensor *binary = rt_new_like(c->rt, PKB_F32, masks);
    pkb_tensor *area = rt_new(c->rt, PKB_F32, RT_SHAPE(n));
    pkb_tensor *inter = rt_new(c->rt, PKB_F32, RT_SHAPE(n, n));
    pkb_tensor *iou = rt_new(c->rt, PKB_F32, RT_SHAPE(n, n));
    rt_binary_scalar(c->rt, RT_GT, binary, masks, 0);
    rt_reduce_axis(c->rt, RT_SUM, area, binary, 1);
    rt_matmul(c->rt, inter, binary, false, binary, true);
    rt_binary(c->rt, RT_ADD, iou, rt_view(c->rt, area, RT_SHAPE(n, 1)), area);
    rt_binary(c->rt, RT_SUB, iou, iou, inter);
    rt_binary_scalar(c->rt, RT_MAX, iou, iou, 1);
    rt_binary(c->rt, RT_DIV, iou, inter, iou);
    rt_binary_scalar(c->rt, RT_GE, iou, iou, problem_call_real(c, "iou_threshold"));
    return iou;
}

/* 1 for objects g that an object h suppresses. An object is not later than itself, so the diagonal does not matter. */
static pkb_tensor *find_suppressed(const struct problem_call *c, const pkb_tensor *masks, int64_t n)
{
    pkb_tensor *last = rt_rows(c->rt, &c->in[LAST_OCC], 0, n), *pairs = overlaps(c, masks, n);
    pkb_tensor *later = rt_new(c->rt, PKB_F32, RT_SHAPE(n, n));
    pkb_tensor *seen = rt_new(c->rt, PKB_F32, RT_SHAPE(n));
    pkb_tensor *any = rt_new(c->rt, PKB_F32, RT_SHAPE(n));
    enum rt_binary order = problem_call_int(c, "reverse") == 1 ? RT_LT : RT_GT;
    rt_binary(c->rt, order, later, rt_view(c->rt, last, RT_SHAPE(n, 1)), last);
    rt_binary_scalar(c->rt, RT_GT, seen, last, -1);
    rt_binary(c->rt, RT_MUL, pairs, pairs, later);
    rt_binary(c->rt, RT_MUL, pairs, pairs, seen);
    rt_reduce_axis(c->rt, RT_AMAX, any, pairs, 1);
    return any;
}

static void reference(const struct problem_call *c)
{
    const int64_t *counts = c->in[COUNTS].data;
    int64_t n = 0, pixels = c->in[MASKS].shape[1] * c->in[MASKS].shape[2];
    for (int q = 0; q < c->world->size; q++)
        n += counts[q];
    pkb_tensor *gathered = rt_rows(c->rt, &c->out[MASKS_ALL], 0, n);
    pkb_tensor *blank = rt_new(c->rt, PKB_F32, RT_SHAPE(1));
    rows_gather(c, gathered, counts, &c->in[MASKS]);
    rows_gather(c, &c->out[SCORES_ALL], counts, &c->in[SCORES]);

    pkb_tensor *masks = rt_view(c->rt, gathered, RT_SHAPE(n, pixels));
    pkb_tensor *suppressed = find_suppressed(c, masks, n);
    rt_fill(c->rt, blank, BLANK);
    rt_where(c->rt, masks, rt_view(c->rt, suppressed, RT_SHAPE(n, 1)), blank, masks);
    rows_put_counted(c, SUPPRESSED, suppressed, N_OBJECTS);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double pixels = problem_real(s, "Hh") * problem_real(s, "Ww"), own = (double)objects(s, 0, s->rank), all = 0;
    for (int q = 0; q < s->world; q++)
        all += (double)objects(s, 0, q);
    cost->flops = all * (all - 1) / 2 * pixels + all * pixels;
    cost->hbm_bytes = kit_element(s) * own * (pixels + 1) + 4 * all * (pixels + 1) + 9 * all;
    cost->link_bytes = (s->world - 1.0) * kit_element(s) * own * (pixels + 1);
}

const struct problem problem_81 = {
    .id = 81,
    .name = "81_sam3_allgather_iou_suppression",
    .family = "vision",
    .origin = "SAM 3: video tracking on several GPUs; overlapping objects are suppressed by how recently they were occluded",
    .summary =
        "Gather a varying number of masks and scores of objects from every rank, compute the overlap of all pairs, and blank the "
        "masks of suppressed objects on every rank.",
    .source = "problems/vision/81_sam3_allgather_iou_suppression.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .check = kit_check_exact,
    .cost = cost,
};
