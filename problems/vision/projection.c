/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/vision/projection.h"

/* Standard deviations that a radius covers, as gsplat has it. */
#define EXTENT 3.33

/* How far beyond the image positions are clamped, in half images. */
#define MARGIN 0.3

/* ---- planes of inputs ---------------------------------------------------------------------------------------------- */

/* Column i of (N, n) as (1, N). */
static pkb_tensor *gaussian_plane(const struct problem_call *c, int dtype, const pkb_tensor *t, int i)
{
    pkb_tensor *column = rt_new(c->rt, t->dtype, RT_SHAPE(t->shape[0], 1));
    pkb_tensor *plane = rt_new(c->rt, dtype, RT_SHAPE(1, t->shape[0]));
    rt_slice(c->rt, column, t, 1, i);
    rt_copy(c->rt, plane, column);
    return plane;
}

/* Entry (i, j) of (cameras, n, n) as (cameras, 1). */
static pkb_tensor *camera_plane(const struct problem_call *c, int dtype, const pkb_tensor *t, int i, int j)
{
    int64_t cameras = t->shape[0], n = t->shape[1];
    pkb_tensor *column = rt_new(c->rt, t->dtype, RT_SHAPE(cameras, 1));
    pkb_tensor *plane = rt_new(c->rt, dtype, RT_SHAPE(cameras, 1));
    rt_slice(c->rt, column, rt_view(c->rt, t, RT_SHAPE(cameras, n * n)), 1, i * n + j);
    rt_copy(c->rt, plane, column);
    return plane;
}

static struct plane_matrix camera_matrix(const struct problem_call *c, int dtype, const pkb_tensor *t, int first_column,
                                         int columns)
{
    struct plane_matrix m = {.rows = 3, .columns = columns};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < columns; j++)
            m.at[i][j] = camera_plane(c, dtype, t, i, first_column + j);
    }
    return m;
}

/* ---- covariances --------------------------------------------------------------------------------------------------- */

/* The quaternions (w, x, y, z), normalised. */
static void unit_quaternions(const struct problem_call *c, const struct projection_scene *s, pkb_tensor *q[4])
{
    pkb_tensor *norm = plane_constant(c, s->dtype, 0);
    for (int i = 0; i < 4; i++) {
        q[i] = gaussian_plane(c, s->dtype, s->quats, i);
        norm = plane_multiply_add(c, q[i], q[i], norm);
    }
    norm = plane_number(c, RT_MAX, plane_unary(c, RT_SQRT, norm), 1e-12);
    for (int i = 0; i < 4; i++)
        q[i] = plane_of(c, RT_DIV, q[i], norm);
}

/* 1 - 2 (a^2 + b^2). */
static pkb_tensor *diagonal_entry(const struct problem_call *c, const pkb_tensor *a, const pkb_tensor *b)
{
    pkb_tensor *sum = plane_multiply_add(c, a, a, plane_of(c, RT_MUL, b, b));
    return plane_number(c, RT_ADD, plane_number(c, RT_MUL, sum, -2), 1);
}

/* 2 (a b + sign c d). */
static pkb_tensor *other_entry(const struct problem_call *c, const pkb_tensor *a, const pkb_tensor *b, enum rt_binary sign,
                               const pkb_tensor *first, const pkb_tensor *second)
{
    pkb_tensor *sum = plane_of(c, sign, plane_of(c, RT_MUL, a, b), plane_of(c, RT_MUL, first, second));
    return plane_number(c, RT_MUL, sum, 2);
}

static struct plane_matrix rotation(const struct problem_call *c, pkb_tensor *const q[4])
{
    const pkb_tensor *w = q[0], *x = q[1], *y = q[2], *z = q[3];
    return (struct plane_matrix){
        .rows = 3,
        .columns = 3,
        .at = {{diagonal_entry(c, y, z), other_entry(c, x, y, RT_SUB, w, z), other_entry(c, x, z, RT_ADD, w, y)},
               {other_entry(c, x, y, RT_ADD, w, z), diagonal_entry(c, x, z), other_entry(c, y, z, RT_SUB, w, x)},
               {other_entry(c, x, z, RT_SUB, w, y), other_entry(c, y, z, RT_ADD, w, x), diagonal_entry(c, x, y)}},
    };
}

/* S. */
static struct plane_matrix covariance(const struct problem_call *c, const struct projection_scene *s)
{
    pkb_tensor *q[4];
    unit_quaternions(c, s, q);
    struct plane_matrix a = rotation(c, q);
    for (int j = 0; j < 3; j++) {
        pkb_tensor *scale = gaussian_plane(c, s->dtype, s->scales, j);
        for (int i = 0; i < 3; i++)
            a.at[i][j] = plane_of(c, RT_MUL, a.at[i][j], scale);
    }
    struct plane_matrix transposed = plane_transpose(&a);
    return plane_product(c, &a, &transposed);
}

/* ---- into the image ------------------------------------------------------------------------------------------------ */

/* One axis of the image. */
struct axis {
    const pkb_tensor *focal, *centre, *position, *depth;
    double size;
};

/* tx or ty. */
static pkb_tensor *clamped(const struct problem_call *c, const struct axis *a)
{
    pkb_tensor *inverse = plane_of(c, RT_DIV, plane_constant(c, a->focal->dtype, 1), a->focal);
    pkb_tensor *margin = plane_number(c, RT_MUL, inverse, MARGIN * 0.5 * a->size);
    pkb_tensor *before = plane_of(c, RT_DIV, a->centre, a->focal);
    pkb_tensor *behind = plane_of(c, RT_SUB, plane_number(c, RT_MUL, inverse, a->size), before);
    pkb_tensor *low = plane_number(c, RT_MUL, plane_of(c, RT_ADD, before, margin), -1);
    pkb_tensor *high = plane_of(c, RT_ADD, behind, margin);
    pkb_tensor *ratio = plane_of(c, RT_MAX, plane_of(c, RT_DIV, a->position, a->depth), low);
    return plane_of(c, RT_MUL, a->depth, plane_of(c, RT_MIN, ratio, high));
}

/* The entries of J's row for an axis: that of its own direction, and that of the depth. */
static void jacobian_row(const struct problem_call *c, const struct axis *a, pkb_tensor **own, pkb_tensor **depth)
{
    *own = plane_of(c, RT_DIV, a->focal, a->depth);
    pkb_tensor *slope = plane_of(c, RT_DIV, clamped(c, a), a->depth);
    *depth = plane_number(c, RT_MUL, plane_of(c, RT_MUL, *own, slope), -1);
}

/* C. */
static struct plane_matrix image_covariance(const struct problem_call *c, const struct axis axis[2],
                                            const struct plane_matrix *sc, double eps2d)
{
    pkb_tensor *zero = plane_constant(c, axis[0].focal->dtype, 0);
    struct plane_matrix j = {.rows = 2, .columns = 3, .at = {{NULL, zero, NULL}, {zero, NULL, NULL}}};
    jacobian_row(c, &axis[0], &j.at[0][0], &j.at[0][2]);
    jacobian_row(c, &axis[1], &j.at[1][1], &j.at[1][2]);
    struct plane_matrix v = plane_conjugate(c, &j, sc);
    for (int i = 0; i < 2; i++)
        v.at[i][i] = plane_number(c, RT_ADD, v.at[i][i], eps2d);
    return v;
}

static void invert(const struct problem_call *c, const struct plane_matrix *v, pkb_tensor *conic[3])
{
    pkb_tensor *diagonal = plane_of(c, RT_MUL, v->at[0][0], v->at[1][1]);
    pkb_tensor *det = plane_of(c, RT_SUB, diagonal, plane_of(c, RT_MUL, v->at[0][1], v->at[1][0]));
    pkb_tensor *mixed = plane_number(c, RT_MUL, plane_of(c, RT_ADD, v->at[0][1], v->at[1][0]), -0.5);
    det = plane_number(c, RT_MAX, det, 1e-10);
    conic[0] = plane_of(c, RT_DIV, v->at[1][1], det);
    conic[1] = plane_of(c, RT_DIV, mixed, det);
    conic[2] = plane_of(c, RT_DIV, v->at[0][0], det);
}

/* 1 where mean - radius < size and mean + radius > 0. */
static pkb_tensor *meets_image(const struct problem_call *c, const pkb_tensor *mean, const pkb_tensor *radius, double size)
{
    pkb_tensor *end = plane_number(c, RT_GT, plane_of(c, RT_ADD, mean, radius), 0);
    pkb_tensor *begin = plane_number(c, RT_LT, plane_of(c, RT_SUB, mean, radius), size);
    return plane_of(c, RT_MUL, end, begin);
}

static void find_radii(const struct problem_call *c, const struct projection_scene *s, const struct plane_matrix *v,
                       struct projection *p)
{
    pkb_tensor *visible =
        plane_of(c, RT_MUL, plane_number(c, RT_GT, p->depth, s->near_plane), plane_number(c, RT_LT, p->depth, s->far_plane));
    for (int i = 0; i < 2; i++) {
        pkb_tensor *deviation = plane_unary(c, RT_SQRT, v->at[i][i]);
        p->radius[i] = plane_unary(c, RT_CEIL, plane_number(c, RT_MUL, deviation, EXTENT));
        p->radius[i] = plane_where(c, visible, p->radius[i]);
    }
    pkb_tensor *inside = plane_of(c, RT_MUL, meets_image(c, p->mean[0], p->radius[0], s->width),
                                  meets_image(c, p->mean[1], p->radius[1], s->height));
    for (int i = 0; i < 2; i++)
        p->radius[i] = plane_where(c, inside, p->radius[i]);
}

struct projection projection_of(const struct problem_call *c, const struct projection_scene *s)
{
    struct plane_matrix view = camera_matrix(c, s->dtype, s->viewmats, 0, 3),
                        shift = camera_matrix(c, s->dtype, s->viewmats, 3, 1);
    struct plane_matrix k = camera_matrix(c, s->dtype, s->ks, 0, 3), world = {.rows = 3, .columns = 1};
    struct plane_matrix cov = covariance(c, s);
    for (int i = 0; i < 3; i++)
        world.at[i][0] = gaussian_plane(c, s->dtype, s->means, i);
    struct plane_matrix at = plane_product(c, &view, &world), sc = plane_conjugate(c, &view, &cov);
    for (int i = 0; i < 3; i++)
        at.at[i][0] = plane_of(c, RT_ADD, at.at[i][0], shift.at[i][0]);

    struct projection p = {.depth = at.at[2][0]};
    struct plane_matrix pixel = plane_product(c, &k, &at);
    for (int i = 0; i < 2; i++)
        p.mean[i] = plane_of(c, RT_DIV, pixel.at[i][0], p.depth);
    if (rt_status(c->rt, NULL) < 0)
        return p;
    const struct axis axes[2] = {{k.at[0][0], k.at[0][2], at.at[0][0], p.depth, s->width},
                                 {k.at[1][1], k.at[1][2], at.at[1][0], p.depth, s->height}};
    struct plane_matrix v = image_covariance(c, axes, &sc, s->eps2d);
    invert(c, &v, p.conic);
    find_radii(c, s, &v, &p);
    return p;
}
