/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/vision/gaussians.h"

#include <math.h>

#define MOST_DRAWS 64

/* Numbers that a Gaussian is drawn from. */
enum { DRAW_MEAN = 0, DRAW_SCALE = 3, DRAW_BEHIND = 6, DRAWS = 7 };

/* Numbers that a camera is drawn from. */
enum { DRAW_ANGLE, DRAW_SHIFT, DRAW_FOCAL = DRAW_SHIFT + 3, CAMERA_DRAWS };

/* ---- cameras ------------------------------------------------------------------------------------------------------- */

/* Values as stored. */
struct camera {
    double view[4][4], k[3][3];
};

/* Camera `index` of this setting's rank. */
static struct camera make_camera(const struct problem_setting *s, const struct problem_inputs *set, int64_t index)
{
    struct rng rng = problem_rng(s, set, GAUSSIAN_VIEWMATS);
    uint64_t first = (uint64_t)index * CAMERA_DRAWS;
    double width = problem_real(s, "width"), height = problem_real(s, "height"), angle = 0, focal = 0.8, shift[3] = {0, 0, 0};
    if (s->inputs == PROFILE_HARDENED) {
        angle = 0.8 * (2 * rng_uniform(&rng, first + DRAW_ANGLE) - 1);
        focal = 0.6 + 0.4 * rng_uniform(&rng, first + DRAW_FOCAL);
        for (uint64_t i = 0; i < 3; i++)
            shift[i] = rng_uniform(&rng, first + DRAW_SHIFT + i) - 0.5;
    }
    focal *= fmin(width, height);
    struct camera camera = {
        .view = {{cos(angle), 0, sin(angle), shift[0]},
                 {0, 1, 0, shift[1]},
                 {-sin(angle), 0, cos(angle), shift[2]},
                 {0, 0, 0, 1}},
        .k = {{focal, 0, width / 2}, {0, focal, height / 2}, {0, 0, 1}},
    };
    for (int i = 0; i < 16; i++)
        camera.view[i / 4][i % 4] = kit_rounded(s->dtype, camera.view[i / 4][i % 4]);
    for (int i = 0; i < 9; i++)
        camera.k[i / 3][i % 3] = kit_rounded(s->dtype, camera.k[i / 3][i % 3]);
    return camera;
}

static void fill_cameras(const struct problem_setting *s, struct problem_inputs *set)
{
    pkb_tensor *views = &set->in[GAUSSIAN_VIEWMATS], *ks = &set->in[GAUSSIAN_KS];
    size_t size = dtype_size(s->dtype);
    for (int64_t i = 0; i < views->shape[0]; i++) {
        struct camera camera = make_camera(s, set, i);
        dtype_from_f64(s->dtype, (char *)views->data + (size_t)i * 16 * size, camera.view[0], 16);
        dtype_from_f64(s->dtype, (char *)ks->data + (size_t)i * 9 * size, camera.k[0], 9);
    }
}

/* ---- one Gaussian in one camera, in f64 ---------------------------------------------------------------------------- */

/* Values as stored. */
struct gaussian {
    double mean[3], quat[4], scale[3];
};

static void covariance(const struct gaussian *g, double cov[3][3])
{
    double norm = 0, q[4], a[3][3];
    for (int i = 0; i < 4; i++)
        norm += g->quat[i] * g->quat[i];
    for (int i = 0; i < 4; i++)
        q[i] = g->quat[i] / fmax(sqrt(norm), 1e-12);
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double rotation[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                                   {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                                   {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
    for (int i = 0; i < 9; i++)
        a[i / 3][i % 3] = rotation[i / 3][i % 3] * g->scale[i % 3];
    for (int i = 0; i < 9; i++)
        cov[i / 3][i % 3] = a[i / 3][0] * a[i % 3][0] + a[i / 3][1] * a[i % 3][1] + a[i / 3][2] * a[i % 3][2];
}

/* sum over i, j of a[i] cov[i][j] b[j]. */
static double form(const double a[3], const double cov[3][3], const double b[3])
{
    double sum = 0;
    for (int i = 0; i < 9; i++)
        sum += a[i / 3] * cov[i / 3][i % 3] * b[i % 3];
    return sum;
}

/* A row of J times the camera's rotation: the derivative of a pixel's coordinate by the place in the world. */
static void pixel_gradient(const struct camera *camera, const double p[3], int axis, double size, double row[3])
{
    double focal = camera->k[axis][axis], centre = camera->k[axis][2], margin = 0.3 * 0.5 * size / focal;
    double ratio = fmin(fmax(p[axis] / p[2], -(centre / focal + margin)), (size - centre) / focal + margin);
    for (int i = 0; i < 3; i++)
        row[i] = focal / p[2] * (camera->view[axis][i] - ratio * camera->view[2][i]);
}

/* Whether an axis leaves no doubt: `variance` of the pixel's coordinate, the coordinate, the image's size. */
static bool axis_is_clear(double variance, double mean, double size)
{
    double extent = 3.33 * sqrt(variance), radius = ceil(extent);
    return fabs(extent - rint(extent)) >= 1e-3 && fabs(mean + radius) >= 1e-2 && fabs(mean - radius - size) >= 1e-2;
}

static bool camera_is_clear(const struct problem_setting *s, const struct camera *camera, const struct gaussian *g,
                            const double cov[3][3])
{
    double size[2] = {problem_real(s, "width"), problem_real(s, "height")}, eps = problem_real(s, "eps2d");
    double p[3], mean[2], row[2][3];
    for (int i = 0; i < 3; i++) {
        const double *view = camera->view[i];
        p[i] = view[0] * g->mean[0] + view[1] * g->mean[1] + view[2] * g->mean[2] + view[3];
    }
    if (p[2] < 0.2)
        return p[2] <= -0.2;
    for (int i = 0; i < 2; i++) {
        mean[i] = (camera->k[i][0] * p[0] + camera->k[i][1] * p[1]) / p[2] + camera->k[i][2];
        pixel_gradient(camera, p, i, size[i], row[i]);
    }
    double c00 = form(row[0], cov, row[0]) + eps, c11 = form(row[1], cov, row[1]) + eps, c01 = form(row[0], cov, row[1]);
    return axis_is_clear(c00, mean[0], size[0]) && axis_is_clear(c11, mean[1], size[1]) &&
           c00 * c11 + c01 * c01 <= 100 * (c00 * c11 - c01 * c01);
}

static bool is_clear(const struct problem_setting *s, const struct problem_inputs *set, const struct gaussian *g)
{
    double cov[3][3];
    covariance(g, cov);
    for (int q = 0; q < s->world; q++) {
        struct problem_setting owner = kit_as_rank(s, q);
        for (int64_t i = 0; i < problem_int(s, "C"); i++) {
            struct camera camera = make_camera(&owner, set, i);
            if (!camera_is_clear(s, &camera, g, cov))
                return false;
        }
    }
    return true;
}

/* ---- Gaussians ----------------------------------------------------------------------------------------------------- */

/* Gaussian i in its draw number `draw`. */
static struct gaussian draw_gaussian(const struct problem_setting *s, const struct problem_inputs *set, int64_t i, uint64_t draw)
{
    struct rng uniform = problem_rng(s, set, GAUSSIAN_MEANS), normal = problem_rng(s, set, GAUSSIAN_QUATS);
    uint64_t number = (uint64_t)i * MOST_DRAWS + draw, first = number * DRAWS;
    struct gaussian g;
    for (uint64_t j = 0; j < 3; j++) {
        double mean = rng_uniform(&uniform, first + DRAW_MEAN + j);
        g.mean[j] = j < 2 ? 1.5 * (mean - 0.5) : 2 + 2 * mean;
        g.scale[j] = kit_rounded(s->dtype, 0.02 * rng_uniform(&uniform, first + DRAW_SCALE + j));
    }
    if (s->inputs == PROFILE_HARDENED && rng_uniform(&uniform, first + DRAW_BEHIND) < 0.125)
        g.mean[2] = -g.mean[2];
    for (uint64_t j = 0; j < 3; j++)
        g.mean[j] = kit_rounded(s->dtype, g.mean[j]);
    for (uint64_t j = 0; j < 4; j++)
        g.quat[j] = kit_rounded(s->dtype, rng_normal(&normal, 4 * number + j));
    return g;
}

static void fill_gaussians(const struct problem_setting *s, struct problem_inputs *set)
{
    size_t size = dtype_size(s->dtype);
    for (int64_t i = 0; i < set->in[GAUSSIAN_MEANS].shape[0]; i++) {
        struct gaussian g = draw_gaussian(s, set, i, 0);
        for (uint64_t draw = 1; draw < MOST_DRAWS && s->inputs == PROFILE_HARDENED && !is_clear(s, set, &g); draw++)
            g = draw_gaussian(s, set, i, draw);
        dtype_from_f64(s->dtype, (char *)set->in[GAUSSIAN_MEANS].data + (size_t)i * 3 * size, g.mean, 3);
        dtype_from_f64(s->dtype, (char *)set->in[GAUSSIAN_QUATS].data + (size_t)i * 4 * size, g.quat, 4);
        dtype_from_f64(s->dtype, (char *)set->in[GAUSSIAN_SCALES].data + (size_t)i * 3 * size, g.scale, 3);
    }
}

void gaussians_init(const struct problem_setting *s, struct problem_inputs *set)
{
    fill_cameras(s, set);
    fill_gaussians(s, set);
    kit_fill_uniform(s, set, GAUSSIAN_OPACITIES, 0.1, 0.9);
    kit_fill_uniform(s, set, GAUSSIAN_COLORS, 0, 1);
}
