/* SPDX-License-Identifier: Apache-2.0 */
/* What the ZeRO training steps 41 and 42 share. P is the number of parameters, part = P / W; rank r owns elements r*part to
 * (r+1)*part - 1 of the flat vector (problems/fsdp_zero/mlp.h), a range that may begin and end inside a matrix.
 *
 * Parameters   n_total, d_in, d_hid, d_out: problems/fsdp_zero/mlp.h, with the least d_hid for which W divides P; lr, beta1,
 *              beta2, eps, step: problems/fsdp_zero/adam.h.
 * Inputs       X (rows, d_in) and y (rows, d_out), this rank's part of the batch; W1, b1, W2, b2, which count on rank 0 alone;
 *              m and v (part), the moments of the own part. All of T.
 * Outputs      W1_new, b1_new, W2_new, b2_new, the same on every rank; m_new, v_new (part), the own part's.
 * Check        problems/fsdp_zero/adam.h, with dg of problems/fsdp_zero/mlp.h.
 * Inputs       X and the parameters N(0,1) on every rank, so that gradients are of order 1 to 10; parameters of ranks other than
 *              0 are to be ignored. y is as large as the outputs (mlp.h). Moments as in problems/fsdp_zero/adam.h. In
 *              the pkb profile the other ranks' parameters are 0.
 */
#ifndef PKB_PROBLEMS_FSDP_ZERO_ZERO_H
#define PKB_PROBLEMS_FSDP_ZERO_ZERO_H

#include "problems/fsdp_zero/adam.h"
#include "problems/fsdp_zero/mlp.h"

#define ZERO_PARAMS MLP_PARAMS("n_total", 32, "d_in", 16, "d_hid", 32, "d_out", 8), ADAM_PARAMS(0.1, "beta1", "beta2")

/* They serve as the members of struct problem with these names. */
int zero_supports(const struct problem_setting *s, struct pkb_error *err);
int zero_inputs(const struct problem_setting *s, struct problem_tensor *t);
int zero_outputs(const struct problem_setting *s, struct problem_tensor *t);
void zero_init(const struct problem_setting *s, struct problem_inputs *set);
void zero_bound(const struct problem_call *c, pkb_tensor *const *tol);
void zero_cost(const struct problem_setting *s, struct problem_cost *cost);

/* The steps of the references, in their order. Flat vectors have P elements, parts P / W. */
pkb_tensor *zero_broadcast_parameters(const struct problem_call *c);
pkb_tensor *zero_gradient(const struct problem_call *c, const pkb_tensor *flat); /* on the own rows */
pkb_tensor *zero_own_part(const struct problem_call *c, const pkb_tensor *flat); /* a view */
pkb_tensor *zero_update(const struct problem_call *c, const pkb_tensor *part, const pkb_tensor *gradient);
void zero_gather_parameters(const struct problem_call *c, const pkb_tensor *part); /* into the first four outputs */

#endif
