/* SPDX-License-Identifier: Apache-2.0 */
/* Forward and backward pass of the network that the training steps train: two layers, ReLU between them, mean square error, on
 * the rows of one rank. With rnd() the rounding to T, products and column sums accumulated in f32 (f64 for T = f64):
 *     Z = rnd( X W1^T + b1 ),   H = max(Z, 0),   O = rnd( H W2^T + b2 )
 *     dO = rnd( c * rnd(O - y) ),   c = rnd( 2 / (rows * d_out) )
 *     dW2 = rnd( dO^T H ),   db2 = rnd( column sums of dO )
 *     dZ = rnd( dO W2 ) where Z > 0, else 0
 *     dW1 = rnd( dZ^T X ),   db1 = rnd( column sums of dZ ).
 * Parameters and gradients travel as flat vectors of P elements: W1 (d_hid, d_in), b1 (d_hid), W2 (d_out, d_hid), b2 (d_out),
 * row by row.
 *
 * Check. Another correct evaluation may differ in the gradient's mean over all ranks by dg, the sum of
 *     K * RMS of the part (W1, b1, ...) that the element is in, for what is rounded on the way (K = 24 u for bf16 and f16; 1e-4
 *         for f32 and in proportion to u for f64, for the order of sums),
 *     (W + 1) * u * mean over the ranks of |g_q|, for the sum over the ranks,
 *     the mean of |dZ|^T |X| (|dZ| for b1) over elements of Z that are closer to 0 than the accumulation is exact, 4 *
 *         sqrt(d_in) * e * (|X| |W1|^T + |b1|): there ReLU may open in one evaluation and not in the other,
 * with u the unit roundoff of T and e that of the accumulation.
 *
 * Inputs, where parameters are N(0,1) (41, 42, 47). X is N(0,1). y is N(0,1) times the size of the network's outputs, the root
 * of d_hid * (d_in + 1) / 2, as it would be lost in the rounding of O - y otherwise. pkb profile: y is N(0,1).
 */
#ifndef PKB_PROBLEMS_FSDP_ZERO_MLP_H
#define PKB_PROBLEMS_FSDP_ZERO_MLP_H

#include "problems/kit.h"

/* Parts of a flat vector. */
enum mlp_part { MLP_W1, MLP_B1, MLP_W2, MLP_B2, MLP_PARTS };

struct mlp {
    int64_t rows; /* of one rank */
    int64_t d_in, d_hid, d_out;
};

/* Four parameters in a row, named as the problem names them. `first` below is the number of the first of them. */
#define MLP_PARAMS(rows, tiny_rows, in, tiny_in, hid, tiny_hid, out, tiny_out)                                                   \
    {rows, 1024, tiny_rows, true, "rows of the batch over all ranks, rounded up to a multiple of W"},                            \
        {in, 256, tiny_in, true, "input features"}, {hid, 512, tiny_hid, true, "hidden features"},                               \
    {                                                                                                                            \
        out, 256, tiny_out, true, "output features"                                                                              \
    }

/* The sizes of a setting. */
struct mlp mlp_of(const struct problem_setting *s, int first);

/* The same with as few more hidden features as it takes for P to be a multiple of W; 0 of them when 1024 numbers do not help.
 * */
struct mlp mlp_divisible(const struct problem_setting *s, int first);

/* All sizes are positive, and with `divisible` there is such a number. 0, or -1 with the reason. */
int mlp_supports(const struct problem_setting *s, int first, bool divisible, struct pkb_error *err);

/* Fills the inputs X and y, numbers x and x + 1, where parameters are N(0,1). */
void mlp_fill_batch(const struct problem_setting *s, struct problem_inputs *set, int x, const struct mlp *n);

/* P, and the form of a part. */
int64_t mlp_count(const struct mlp *n);
pkb_tensor mlp_form(const struct mlp *n, enum mlp_part part, int dtype);

/* Describes four tensors of these forms. */
void mlp_describe(struct problem_tensor *t, const struct mlp *n, const char *const names[MLP_PARTS], int dtype);

/* The parts of a flat vector: views of its storage. */
struct mlp_parts {
    pkb_tensor *part[MLP_PARTS];
};
struct mlp_parts mlp_split(const struct problem_call *c, const struct mlp *n, const pkb_tensor *flat);

/* A flat vector of copies of four tensors that follow each other in an array, a temporary of T. */
pkb_tensor *mlp_join(const struct problem_call *c, const struct mlp *n, const pkb_tensor *parts);

/* Copies the parts of a flat vector into four tensors of its dtype. */
void mlp_unjoin(const struct problem_call *c, const struct mlp *n, const pkb_tensor *flat, pkb_tensor *const *parts);

/* What a pass keeps for the gradients: Z and H (rows, d_hid), dO (rows, d_out), dO W2 (rows, d_hid). Temporaries of T. */
struct mlp_pass {
    pkb_tensor *z, *h, *d_o, *d_h;
};
struct mlp_pass mlp_run(const struct problem_call *c, const struct mlp *n, const pkb_tensor *x, const pkb_tensor *y,
                        const struct mlp_parts *w);

/* d where the relation of a and b holds, else 0: a temporary like d. */
pkb_tensor *mlp_where(const struct problem_call *c, enum rt_binary relation, const pkb_tensor *a, const pkb_tensor *b,
                      const pkb_tensor *d);

/* The flat gradient on X (rows, d_in) and y (rows, d_out) at flat parameters, a temporary of T. */
pkb_tensor *mlp_gradient(const struct problem_call *c, const struct mlp *n, const pkb_tensor *x, const pkb_tensor *y,
                         const pkb_tensor *flat);

/* Its mean over all ranks: summed in T, then divided, rounded both times. Collective. */
pkb_tensor *mlp_mean_gradient(const struct problem_call *c, const struct mlp *n, const pkb_tensor *x, const pkb_tensor *y,
                              const pkb_tensor *flat);

/* dg, f32, flat; `mean` is the flat mean itself. Collective. */
pkb_tensor *mlp_uncertainty(const struct problem_call *c, const struct mlp *n, const pkb_tensor *x, const pkb_tensor *y,
                            const pkb_tensor *flat, const pkb_tensor *mean);

/* Cost of both passes, 2 * rows * (2 * d_in * d_hid + 3 * d_hid * d_out). */
double mlp_flops(const struct mlp *n);

#endif
