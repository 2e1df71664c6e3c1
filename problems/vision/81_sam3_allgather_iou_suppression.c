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
 * Inputs       object g is member m = floor(g / K) of cluster g mod K, K = ceil(N / 3). Every cluster takes the pixels in an order of
 *              its own, p = 0..1 along it. Member m's mask is positive for p from 0.06 m to 0.06 m + 0.5 in clusters with an even
 *              number: it overlaps the member before it by 0.79, the one before that by 0.61. In odd ones it is positive from 0.08 m
 *              to 0.08 m + 0.3, overlaps of 0.58 at most, and exactly 0 for p >= 0.5, where an overlap of what is not negative would
 *              be 0.82. Magnitudes are those of N(0,1). From 3 clusters on the first mask of the last one is negative everywhere.
 *              last_occ is uniform in -1..3, but 0, 2, 3 for the members of cluster 0 in even sets, 2, 0, -1 in odd ones: some are
 *              suppressed, one of them by another one that is suppressed, and -1 suppresses nobody. Scores are uniform in (-5, 5).
 *              In sets whose number is 3 mod 4 the last of several ranks has no object. pkb profile: masks N(0,1) + 4 [(y + x + i +
 *              r) mod 5 = 0] - 1, each step rounded to T; scores from -5 to 5 evenly; last_occ = g mod 5 - 1.
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
enum { STREAM_ORDERS = KIT_STREAM };

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

/* Members of a cluster, as a rule. */
#define MEMBERS 3

/* The objects of a rank. */
struct tracked {
    struct rng noise, orders;
    int dtype, rank;
    int64_t first, own, all; /* number of the first one; of how many, of all */
    size_t width, pixels;
};

static int64_t clusters(const struct tracked *t)
{
    return (t->all + MEMBERS - 1) / MEMBERS;
}

/* One object's mask. */
struct mask {
    struct rng noise;
    uint64_t number;            /* of its first pixel in the stream */
    int64_t pixels, step, turn; /* pixel i is at place (turn + i * step) mod pixels of the cluster's order */
    double begin, end, zero;    /* parts of the order: from where to where it is positive, from where 0 */
};

static double mask_value(const void *arg, size_t i)
{
    const struct mask *m = arg;
    double size = fabs(rng_normal(&m->noise, m->number + i));
    double place = (double)((m->turn + (int64_t)i * m->step) % m->pixels) / (double)m->pixels;
    if (place >= m->zero)
        return 0;
    return place >= m->begin && place < m->end ? size : -size;
}

static struct mask mask_of(const struct tracked *t, int64_t i)
{
    int64_t n = clusters(t), cluster = (t->first + i) % n, pixels = (int64_t)t->pixels;
    double member = (double)((t->first + i) / n);
    struct mask m = {.noise = t->noise, .number = (uint64_t)(i * pixels), .pixels = pixels};
    m.step = kit_random_step(&t->orders, 2 * (uint64_t)cluster, pixels);
    m.turn = rng_integer(&t->orders, 2 * (uint64_t)cluster + 1, 0, pixels);
    m.zero = cluster % 2 == 0 ? 1 : 0.5;
    m.begin = (cluster % 2 == 0 ? 0.06 : 0.08) * member;
    m.end = m.begin + (cluster % 2 == 0 ? 0.5 : 0.3);
    if (n >= 3 && t->first + i == n - 1)
        m = (struct mask){m.noise, m.number, pixels, 1, 0, 2, 2, 2};
    return m;
}

static void fill_masks(pkb_tensor *masks, const struct tracked *t)
{
    for (int64_t i = 0; i < t->own; i++) {
        struct mask m = mask_of(t, i);
        pkb_tensor one = *masks;
        one.shape[0] = 1;
        one.data = (char *)masks->data + (size_t)i * t->pixels * dtype_size(masks->dtype);
        kit_fill_with(&one, mask_value, &m);
    }
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
    int64_t clusters;
    bool odd; /* the number of the set */
};

static double random_occlusion(const void *arg, size_t i)
{
    static const double first_cluster[2][MEMBERS] = {{0, 2, 3}, {2, 0, -1}};
    const struct occlusions *o = arg;
    int64_t member = (int64_t)i / o->clusters;
    if ((int64_t)i % o->clusters == 0 && member < MEMBERS)
        return first_cluster[o->odd][member];
    return (double)rng_integer(&o->rng, i, -1, 4);
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
        .orders = problem_rng_shared(s, set, STREAM_ORDERS),
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
    struct occlusions o = {problem_rng_shared(s, set, LAST_OCC), clusters(&t), set->trial % 2 == 1};
    if (s->inputs == PROFILE_PKB) {
        fill_published(set, &t);
        return;
    }
    kit_fill_normal(s, set, MASKS);
    fill_masks(&set->in[MASKS], &t);
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
