/* SPDX-License-Identifier: Apache-2.0 */
/* 61 gsplat_3d_gaussian_splatting: project the own Gaussians into the cameras of all ranks and send what is visible to the ranks that
 * own the cameras.
 *
 * Parameters   N: Gaussians per rank. C: cameras per rank; camera g = q*C + c of all is camera c of rank q. Dc: colour channels.
 *              width, height: pixels of an image. eps2d: added to the variances in the image. near, far: limits of the depth.
 * Inputs       all of T: means (N_r, 3); quats (N_r, 4), order (w, x, y, z), not normalised; scales (N_r, 3); opacities (N_r); colors
 *              (N_r, Dc); viewmats (C, 4, 4), world to camera; Ks (C, 3, 3); different on every rank, N_r = N - r (pkb profile: N
 *              Gaussians, the same cameras everywhere).
 * Outputs      n_records records for the own cameras, different on every rank, with room for all pairs: camera_ids and gaussian_ids of
 *              i64, radii (n, 2) of i32; of T: means2d (n, 2), depths (n), conics (n, 3), opacities (n), colors (n, Dc). A pair (camera
 *              g, Gaussian i) has a record if both of its radii are positive (problems/vision/projection.h has the formulas). Records come by
 *              ascending source rank, then camera, then Gaussian. camera_ids is g - r*C for the receiving rank r; gaussian_ids is i, the
 *              number on its source, plus the sum of N_q over the ranks q < r below the RECEIVING rank, as upstream has it: ids of
 *              different sources may be equal.
 * Exchanges    the N_q and the cameras of all ranks; numbers of records per rank; then radii, floats and ids, each by itself.
 * One rank     the same, with itself.
 * Arithmetic   f32 (f64 for f64) from T, in any order; one rounding to T.
 * Check        numbers, ids, radii, opacities, colors exact; others up to 2 u of themselves and what f32 may lose: 1e-5 of means2d and
 *              depths, 4e-6 of the image's size and 2e-6, and 1e-3 of conics and 5e-5. u is the roundoff of T.
 * Inputs       problems/vision/gaussians.h: every decision is clear.
 * Ideal cost   with 6 of 10 pairs visible, the mean over many sets (pkb profile: all of them); links: the smaller of the records and the
 *              raw Gaussians to every rank.
 */
#include <math.h>

#include "problems/rows.h"
#include "problems/vision/gaussians.h"
#include "problems/vision/projection.h"

static const struct problem_param params[] = {
    {"N", 1024, 96, true, "Gaussians per rank"},   {"C", 1, 2, true, "cameras per rank"},
    {"Dc", 3, 3, true, "colour channels"},         {"width", 512, 64, true, "columns of an image"},
    {"height", 512, 64, true, "rows of an image"}, {"eps2d", 0.3, 0.3, false, "added to the variances in the image"},
    {"near", 0.01, 0.01, false, "smallest depth"}, {"far", 1e10, 1e10, false, "largest depth"},
};

enum { CAMERA_IDS, GAUSSIAN_IDS, RADII, MEANS2D, DEPTHS, CONICS, OPACITIES, COLORS, N_RECORDS, OUTPUTS };

/* Of the pairs of a camera and a Gaussian of vision/gaussians.h. */
#define USUALLY_VISIBLE 0.6

/* Columns of the floats of a record before the colour. */
enum { RECORD_MEAN = 0, RECORD_DEPTH = 2, RECORD_CONIC = 3, RECORD_OPACITY = 6, RECORD_COLOR = 7 };

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    static const char *const sizes[] = {"C", "Dc", "width", "height"};
    for (int i = 0; i < KIT_COUNT(sizes); i++) {
        if (kit_require_least(s, sizes[i], 1, err) < 0)
            return -1;
    }
    if (!(problem_real(s, "eps2d") > 0))
        return pkb_error_set(err, "eps2d = %g is not positive", problem_real(s, "eps2d"));
    return kit_require_least(s, "N", s->world, err);
}

static int64_t gaussians(const struct problem_setting *s, int rank)
{
    return problem_int(s, "N") - (s->inputs == PROFILE_HARDENED ? rank : 0);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t n = gaussians(s, s->rank), cameras = problem_int(s, "C");
    kit_tensor(&t[GAUSSIAN_MEANS], "means", s->dtype, RT_SHAPE(n, 3));
    kit_tensor(&t[GAUSSIAN_QUATS], "quats", s->dtype, RT_SHAPE(n, 4));
    kit_tensor(&t[GAUSSIAN_SCALES], "scales", s->dtype, RT_SHAPE(n, 3));
    kit_tensor(&t[GAUSSIAN_OPACITIES], "opacities", s->dtype, RT_SHAPE(n));
    kit_tensor(&t[GAUSSIAN_COLORS], "colors", s->dtype, RT_SHAPE(n, problem_int(s, "Dc")));
    kit_tensor(&t[GAUSSIAN_VIEWMATS], "viewmats", s->dtype, RT_SHAPE(cameras, 4, 4));
    kit_tensor(&t[GAUSSIAN_KS], "Ks", s->dtype, RT_SHAPE(cameras, 3, 3));
    return 7;
}

/* Pairs of a Gaussian of any rank and an own camera. */
static int64_t all_pairs(const struct problem_setting *s)
{
    int64_t pairs = 0;
    for (int q = 0; q < s->world; q++)
        pairs += problem_int(s, "C") * gaussians(s, q);
    return pairs;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t most = all_pairs(s);
    kit_tensor(&t[CAMERA_IDS], "camera_ids", PKB_I64, RT_SHAPE(most));
    kit_tensor(&t[GAUSSIAN_IDS], "gaussian_ids", PKB_I64, RT_SHAPE(most));
    kit_tensor(&t[RADII], "radii", PKB_I32, RT_SHAPE(most, 2));
    kit_tensor(&t[MEANS2D], "means2d", s->dtype, RT_SHAPE(most, 2));
    kit_tensor(&t[DEPTHS], "depths", s->dtype, RT_SHAPE(most));
    kit_tensor(&t[CONICS], "conics", s->dtype, RT_SHAPE(most, 3));
    kit_tensor(&t[OPACITIES], "opacities", s->dtype, RT_SHAPE(most));
    kit_tensor(&t[COLORS], "colors", s->dtype, RT_SHAPE(most, problem_int(s, "Dc")));
    kit_tensor(&t[N_RECORDS], "n_records", PKB_I64, RT_SCALAR);
    for (int k = 0; k < N_RECORDS; k++)
        kit_counted_rows(&t[k], N_RECORDS);
    return OUTPUTS;
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* Of every rank, one behind the other. */
static pkb_tensor *gather(const struct problem_call *c, const pkb_tensor *own)
{
    pkb_tensor *all = rows_like(c, own, c->world->size * own->shape[0]);
    rt_all_gather(c->rt, c->world, all, own);
    return all;
}

/* How many Gaussians the ranks below each rank have, (W) of i64. */
static pkb_tensor *gaussians_below(const struct problem_call *c)
{
    pkb_tensor *own = rt_new(c->rt, PKB_I32, RT_SHAPE(1));
    pkb_tensor *all = rt_new(c->rt, PKB_I32, RT_SHAPE(c->world->size));
    pkb_tensor *counts = rt_new(c->rt, PKB_I64, RT_SHAPE(c->world->size));
    rt_fill(c->rt, own, (double)c->in[GAUSSIAN_MEANS].shape[0]);
    rt_all_gather(c->rt, c->world, all, own);
    rt_copy(c->rt, counts, all);
    return rows_starts(c, counts);
}

static struct projection project(const struct problem_call *c)
{
    const struct projection_scene scene = {
        .dtype = kit_accumulate_dtype(c->setting),
        .means = &c->in[GAUSSIAN_MEANS],
        .quats = &c->in[GAUSSIAN_QUATS],
        .scales = &c->in[GAUSSIAN_SCALES],
        .viewmats = gather(c, &c->in[GAUSSIAN_VIEWMATS]),
        .ks = gather(c, &c->in[GAUSSIAN_KS]),
        .width = problem_call_real(c, "width"),
        .height = problem_call_real(c, "height"),
        .eps2d = problem_call_real(c, "eps2d"),
        .near_plane = problem_call_real(c, "near"),
        .far_plane = problem_call_real(c, "far"),
    };
    if (rt_status(c->rt, NULL) < 0)
        return (struct projection){.depth = NULL};
    return projection_of(c, &scene);
}

/* The pairs that have a record, by camera, then Gaussian. */
struct pairs {
    int64_t n;
    pkb_tensor *index, *camera, *gaussian;
};

static struct pairs visible_pairs(const struct problem_call *c, const struct projection *p)
{
    int64_t own = c->in[GAUSSIAN_MEANS].shape[0], all = own * c->world->size * problem_call_int(c, "C");
    pkb_tensor *both = plane_of(c, RT_MUL, plane_number(c, RT_GT, p->radius[0], 0), plane_number(c, RT_GT, p->radius[1], 0));
    pkb_tensor *flags = rt_new(c->rt, PKB_I64, RT_SHAPE(all));
    rt_copy(c->rt, flags, both);
    struct pairs pairs = {.index = rows_where(c, flags)};
    pairs.n = rows_count(pairs.index);
    pairs.camera = rt_new(c->rt, PKB_I64, RT_SHAPE(pairs.n));
    pairs.gaussian = rt_new(c->rt, PKB_I64, RT_SHAPE(pairs.n));
    rt_binary_scalar(c->rt, RT_FLOORDIV, pairs.camera, pairs.index, (double)own);
    rt_binary_scalar(c->rt, RT_MOD, pairs.gaussian, pairs.index, (double)own);
    return pairs;
}

/* Values of planes for the pairs as columns, (n, count) of a dtype. */
static pkb_tensor *columns(const struct problem_call *c, const struct pairs *pairs, int dtype, int count,
                           pkb_tensor *const *planes)
{
    const pkb_tensor *parts[RECORD_OPACITY];
    pkb_tensor *joined = rt_new(c->rt, kit_accumulate_dtype(c->setting), RT_SHAPE(pairs->n, count));
    pkb_tensor *rounded = rt_new(c->rt, dtype, RT_SHAPE(pairs->n, count));
    for (int i = 0; i < count && planes[i]; i++) {
        pkb_tensor *flat = rt_view(c->rt, planes[i], RT_SHAPE(planes[i]->shape[0] * planes[i]->shape[1]));
        parts[i] = rt_view(c->rt, rows_take(c, flat, pairs->index), RT_SHAPE(pairs->n, 1));
    }
    rt_concat(c->rt, joined, count, parts, 1);
    rt_copy(c->rt, rounded, joined);
    return rounded;
}

/* The floats of the records: position, depth, conic, opacity, colour. */
static pkb_tensor *float_records(const struct problem_call *c, const struct pairs *pairs, const struct projection *p)
{
    int dtype = c->setting->dtype;
    int64_t colours = c->in[GAUSSIAN_COLORS].shape[1];
    pkb_tensor *const planes[RECORD_OPACITY] = {p->mean[0], p->mean[1], p->depth, p->conic[0], p->conic[1], p->conic[2]};
    pkb_tensor *opacities = rows_take(c, &c->in[GAUSSIAN_OPACITIES], pairs->gaussian);
    const pkb_tensor *parts[] = {
        columns(c, pairs, dtype, RECORD_OPACITY, planes),
        rt_view(c->rt, opacities, RT_SHAPE(pairs->n, 1)),
        rows_take(c, &c->in[GAUSSIAN_COLORS], pairs->gaussian),
    };
    pkb_tensor *records = rt_new(c->rt, dtype, RT_SHAPE(pairs->n, RECORD_COLOR + colours));
    rt_concat(c->rt, records, KIT_COUNT(parts), parts, 1);
    return records;
}

/* camera_ids and gaussian_ids as the receivers count, (n, 2). */
static pkb_tensor *id_records(const struct problem_call *c, const struct pairs *pairs, const pkb_tensor *receiver)
{
    pkb_tensor *camera = rt_new_like(c->rt, PKB_I64, pairs->camera);
    pkb_tensor *gaussian = rows_take(c, gaussians_below(c), receiver);
    pkb_tensor *ids = rt_new(c->rt, PKB_I64, RT_SHAPE(pairs->n, 2));
    rt_binary_scalar(c->rt, RT_MOD, camera, pairs->camera, problem_call_real(c, "C"));
    rt_binary(c->rt, RT_ADD, gaussian, gaussian, pairs->gaussian);
    const pkb_tensor *parts[] = {rt_view(c->rt, camera, RT_SHAPE(pairs->n, 1)), rt_view(c->rt, gaussian, RT_SHAPE(pairs->n, 1))};
    rt_concat(c->rt, ids, KIT_COUNT(parts), parts, 1);
    return ids;
}

/* Columns of received records to the front of an output. */
static void put_columns(const struct problem_call *c, int output, const pkb_tensor *records, int first)
{
    int64_t n = rows_count(records), width = c->out[output].ndim > 1 ? c->out[output].shape[1] : 1;
    pkb_tensor *front = rt_rows(c->rt, &c->out[output], 0, n);
    rt_slice(c->rt, rt_view(c->rt, front, RT_SHAPE(n, width)), records, 1, first);
}

static void put_floats(const struct problem_call *c, const pkb_tensor *records)
{
    put_columns(c, MEANS2D, records, RECORD_MEAN);
    put_columns(c, DEPTHS, records, RECORD_DEPTH);
    put_columns(c, CONICS, records, RECORD_CONIC);
    put_columns(c, OPACITIES, records, RECORD_OPACITY);
    put_columns(c, COLORS, records, RECORD_COLOR);
}

static void reference(const struct problem_call *c)
{
    struct rows_exchange x;
    struct projection p = project(c);
    struct pairs pairs = visible_pairs(c, &p);
    pkb_tensor *receiver = rt_new_like(c->rt, PKB_I64, pairs.camera);
    pkb_tensor *counts = rt_new(c->rt, PKB_I64, RT_SHAPE(c->world->size));
    rt_binary_scalar(c->rt, RT_FLOORDIV, receiver, pairs.camera, problem_call_real(c, "C"));
    rt_bincount(c->rt, counts, receiver);
    rows_agree(c, &x, counts);

    rows_put_counted(c, RADII, rows_send(c, &x, columns(c, &pairs, PKB_I32, 2, p.radius)), N_RECORDS);
    put_floats(c, rows_send(c, &x, float_records(c, &pairs, &p)));
    pkb_tensor *ids = rows_send(c, &x, id_records(c, &pairs, receiver));
    put_columns(c, CAMERA_IDS, ids, 0);
    put_columns(c, GAUSSIAN_IDS, ids, 1);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    double u = dtype_roundoff(s->dtype), image = fmax(problem_real(s, "width"), problem_real(s, "height"));
    *check = (struct problem_check){.kind = CHECK_CLOSE, .rtol = 2 * u + 1e-5};
    if (output == MEANS2D)
        check->atol = 4e-6 * image;
    else if (output == DEPTHS)
        check->atol = 2e-6;
    else if (output == CONICS)
        *check = (struct problem_check){.kind = CHECK_CLOSE, .rtol = 2 * u + 1e-3, .atol = 5e-5};
    else
        kit_check_exact(s, output, check);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double n = (double)gaussians(s, s->rank), cameras = problem_real(s, "C"), colours = problem_real(s, "Dc");
    double size = kit_element(s), record = 24 + (7 + colours) * size, raw = (11 + colours) * n * size;
    double visible = s->inputs == PROFILE_HARDENED ? USUALLY_VISIBLE : 1;
    double sent = visible * cameras * n * record + 25 * cameras * size + 8;
    cost->flops = 100 * n + 250 * n * cameras * s->world;
    cost->hbm_bytes = raw + visible * (double)all_pairs(s) * record;
    cost->link_bytes = (s->world - 1.0) * fmin(sent, raw);
}

const struct problem problem_61 = {
    .id = 61,
    .name = "61_gsplat_3d_gaussian_splatting",
    .family = "vision",
    .origin = "gsplat (nerfstudio): the front end of distributed rasterisation, after Grendel-GS",
    .summary = "Project the own three-dimensional Gaussians into the cameras of all ranks, drop the invisible ones, and send a "
               "record of "
               "each other one to the rank that owns the camera.",
    .source = "problems/vision/61_gsplat_3d_gaussian_splatting.c",
    .worlds = "W <= N",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = gaussians_init,
    .reference = reference,
    .check = check,
    .cost = cost,
};
