/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of the projection of Gaussians (61): random scenes in which every decision is clear.
 *
 * Hardened: x, y uniform in +-0.75, |z| in 2..4, one of 8 behind the cameras, which turn by up to 0.8 around the vertical, are up
 * to 0.5 from the origin in each direction, and have focal lengths of 0.6 to 1 of the smaller size of the image. pkb profile:
 * nothing behind, all cameras at the origin with a focal length of 0.8 of it. Quaternions N(0,1), scales up to 0.02, opacities in
 * 0.1..0.9, colours in 0..1.
 *
 * A Gaussian is drawn again, up to 64 times, while for some camera of any rank, evaluated in f64 from the stored values, |depth| is
 * below 0.2, or, unless it is behind the camera, 3.33 standard deviations are within 1e-3 of a whole number of pixels, the rectangle
 * of its radius is within 1e-2 of an edge of the image, or its covariance is so elongated that C00 C11 + C01^2 is more than 100
 * times the determinant, where f32 has lost digits.
 */
#ifndef PKB_PROBLEMS_VISION_GAUSSIANS_H
#define PKB_PROBLEMS_VISION_GAUSSIANS_H

#include "problems/kit.h"

/* Places of the inputs among those of the problem. */
enum { GAUSSIAN_MEANS, GAUSSIAN_QUATS, GAUSSIAN_SCALES, GAUSSIAN_OPACITIES, GAUSSIAN_COLORS, GAUSSIAN_VIEWMATS, GAUSSIAN_KS };

/* Fills all of them. */
void gaussians_init(const struct problem_setting *s, struct problem_inputs *set);

#endif
