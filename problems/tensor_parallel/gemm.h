/* SPDX-License-Identifier: Apache-2.0 */
/* What the tensor-parallel products share: sizes M, N, K, inputs A and B, and how products are compared.
 *
 * A result depends on the order of additions and on where it is rounded to T. For bf16 and f16, where K and the number of ranks
 * are small enough for it, the entries of A and B are -1, 0 and 1, so that every sum is an integer that T holds: all
 * correct results agree bit for bit, and a single lost or repeated term shows. Otherwise the entries are N(0,1); each problem
 * has a bound per element, and in addition
 *     ||C - Cc|| <= ((1.5 + sqrt(W)/2) * u + 4 * sqrt(K) * e) * ||Cc||
 * must hold (W = 1 where the ranks' products are not summed after rounding), with u the unit roundoff of T, e that of the
 * accumulation, Cc the reference's result. f32 and f64 always take this way: -1, 0 and 1 would let a product in a narrower
 * type pass.
 */
#ifndef PKB_PROBLEMS_TENSOR_PARALLEL_GEMM_H
#define PKB_PROBLEMS_TENSOR_PARALLEL_GEMM_H

#include "problems/kit.h"

/* A (input 0) and B (input 1), and the check of C, for problems that do not sum products over the ranks: K terms per element, and
 * W = 1 in the norm's limit. The pkb profile is N(0,1). They serve as problem.init and problem.check. */
void gemm_own_init(const struct problem_setting *s, struct problem_inputs *set);
void gemm_own_check(const struct problem_setting *s, int output, struct problem_check *check);

/* The same for problems that sum them: W * K_local terms, limit for W ranks. */
void gemm_summed_init(const struct problem_setting *s, struct problem_inputs *set);
void gemm_summed_check(const struct problem_setting *s, int output, struct problem_check *check);

/* P = A * B in T. */
pkb_tensor *gemm_partial(const struct problem_call *c);

/* |A| * |B| in f32, A transposed where the flag is set. */
pkb_tensor *gemm_magnitude(const struct problem_call *c, const pkb_tensor *a, bool trans_a, const pkb_tensor *b);

/* The bound for a product of `terms` terms per element that is rounded once,
 *     2 * u * |P| + 2 * terms * e * |A| * |B|
 * into tol (f32). `magnitude` is |A| * |B|; it is used up. */
void gemm_product_bound(const struct problem_call *c, pkb_tensor *tol, const pkb_tensor *product, pkb_tensor *magnitude,
                        double terms);

/* This rank's term of the bound for sums of products that were rounded to T,
 *     (W + 2) * u * |P| + 2 * K * e * |A| * |B|
 * in f32; the problem sums it over the ranks as it sums P. */
pkb_tensor *gemm_bound_term(const struct problem_call *c);

#endif
