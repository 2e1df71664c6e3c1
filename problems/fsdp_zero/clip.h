/* SPDX-License-Identifier: Apache-2.0 */
/* Clipping of gradients by their norm over all ranks, in place: with the norm n, in f32 for every T,
 *     every element g becomes g * (max_norm / n), rounded to T, where n > max_norm; else nothing changes.
 * There is no epsilon, and a norm that is not a number clips nothing.
 *
 * Check. The norm: relative 1e-5, which every summation in f32 reaches that is not one long chain. With x the product without
 * the rounding, a clipped element may differ from x by (roundings * u + 1e-5) * |x|: the coefficient may be rounded to T before,
 * and the norm in it may be another correct one, which matters for f32 and f64. f16 has the step of its smallest numbers in
 * addition. There is no absolute tolerance: clipped elements are small. What is not
 * clipped keeps its bits.
 *
 * Inputs. N(0,1) times a factor between 1/8 and 8, log-uniform, for every rank and tensor, so that the norm is no constant of
 * the sizes. In the first of three trials max_norm is the parameter, far below the norm; in the second twice the norm that the
 * factors lead to expect, which clips nothing; in the third a quarter of it. The pkb profile: N(0,1), the parameter.
 */
#ifndef PKB_PROBLEMS_FSDP_ZERO_CLIP_H
#define PKB_PROBLEMS_FSDP_ZERO_CLIP_H

#include "problems/kit.h"

#define CLIP_MAX_NORM                                                                                                            \
    {                                                                                                                            \
        "max_norm", 1, 1, false, "largest norm; in two of three trials one that goes with the inputs"                            \
    }

/* max_norm is positive: 0, or -1 with the reason. */
int clip_supports(const struct problem_setting *s, struct pkb_error *err);

/* Fills the first `count` inputs, (M, N), and sets max_norm, the parameter number `param`. `part` is the part of an input that
 * counts in the norm. */
void clip_init(const struct problem_setting *s, struct problem_inputs *set, int count, int param, const double *part);

/* Sum of squares of a tensor, a scalar f32; squared again from its root, as libraries add norms. */
pkb_tensor *clip_square_sum(const struct problem_call *c, const pkb_tensor *g);

/* max_norm / norm where that is below 1, else 1: a scalar f32. */
pkb_tensor *clip_coefficient(const struct problem_call *c, const pkb_tensor *norm);

/* The bound of a gradient that is `original` before the call and `clipped` after it, and would be original * scale *
 * coefficient. Where nothing is clipped it is kept * |x|, 0 for what keeps its bits. */
struct clip_bound {
    const pkb_tensor *original, *clipped, *norm;
    double scale, roundings, kept;
};
void clip_bound(const struct problem_call *c, const struct clip_bound *b, pkb_tensor *tol);

/* The norm is output 0. Serves as problem.check. */
void clip_check(const struct problem_setting *s, int output, struct problem_check *check);

#endif
