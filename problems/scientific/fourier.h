/* SPDX-License-Identifier: Apache-2.0 */
/* What the distributed Fourier transforms (59, 60) share. A complex number is a last dimension of 2. */
#ifndef PKB_PROBLEMS_SCIENTIFIC_FOURIER_H
#define PKB_PROBLEMS_SCIENTIFIC_FOURIER_H

#include "problems/kit.h"

/* The orthonormal transform along an axis: complex to complex, scaled by 1 / sqrt(its length). A temporary. */
pkb_tensor *fourier_along(const struct problem_call *c, enum rt_fft_kind kind, const pkb_tensor *x, int axis);

/* Differences up to 1e-4 where values are of order 1: transforms that factor the length in other ways agree to about 1e-6. Serves as
 * problem.check. */
void fourier_check(const struct problem_setting *s, int output, struct problem_check *check);

#endif
