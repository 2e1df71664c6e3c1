/* SPDX-License-Identifier: Apache-2.0 */
/* Projection of three-dimensional Gaussians into pinhole cameras, as gsplat has it.
 *
 * With q = quat / max(|quat|, 1e-12) = (w, x, y, z), R its rotation
 *     [[1 - 2 (yy + zz), 2 (xy - wz), 2 (xz + wy)],
 *      [2 (xy + wz), 1 - 2 (xx + zz), 2 (yz - wx)],
 *      [2 (xz - wy), 2 (yz + wx), 1 - 2 (xx + yy)]],
 * S = (R diag(scale)) (R diag(scale))^T; V, t the rotation and translation of a camera, p = V mean + t, Sc = V S V^T; fx, fy, cx,
 * cy the entries of its K:
 *     mean    = the first two of K p, divided by p_z;    depth = p_z
 *     J       = [[fx / p_z, 0, -fx tx / p_z^2], [0, fy / p_z, -fy ty / p_z^2]], where tx = p_z clamp(p_x / p_z, -(cx / fx + m),
 *               (width - cx) / fx + m), m = 0.3 * 0.5 width / fx; ty likewise with y and the height
 *     C       = J Sc J^T + eps2d I;    det = max(C00 C11 - C01 C10, 1e-10)
 *     conic   = C11 / det, -(C01 + C10) / 2 / det, C00 / det
 *     radius  = ceil(3.33 sqrt(C00)), ceil(3.33 sqrt(C11)), both 0 unless near < depth < far and the rectangle mean +- radius meets
 *               the image: mean + radius > 0 and mean - radius < its size, for columns and rows.
 */
#ifndef PKB_PROBLEMS_VISION_PROJECTION_H
#define PKB_PROBLEMS_VISION_PROJECTION_H

#include "problems/vision/planes.h"

struct projection_scene {
    int dtype;                                /* in which it is computed: f32 or f64 */
    const pkb_tensor *means, *quats, *scales; /* (N, 3), (N, 4) as (w, x, y, z), (N, 3) */
    const pkb_tensor *viewmats, *ks;          /* (cameras, 4, 4) world to camera, (cameras, 3, 3) */
    double width, height, eps2d, near_plane, far_plane;
};

struct projection {
    pkb_tensor *mean[2]; /* pixel */
    pkb_tensor *depth;
    pkb_tensor *conic[3];  /* upper triangle of the inverse of the two-dimensional covariance */
    pkb_tensor *radius[2]; /* whole numbers of pixels; 0 where nothing is visible */
};

/* Planes (planes.h) over cameras and Gaussians. */
struct projection projection_of(const struct problem_call *c, const struct projection_scene *scene);

#endif
